package sealed

import (
	"errors"
	"strconv"
	"strings"

	"logstow/buffer/internal/disk"
)

// Corrupt reports whether an error means that a file's content is damaged or torn, and not that
// the file cannot be read.
func Corrupt(err error) bool { return errors.Is(err, ErrDamaged) || errors.Is(err, ErrTorn) }

// Known returns the Seqs of all batches with any file: a waiting one, one in quarantine, one that
// Remove kept the name of, or, from earlier versions, a state that it is stored. It must be called
// before List, which removes the last two.
func (d *Dir) Known() (map[int64]bool, error) { return Known(d.fs, d.path, d.quarantine) }

// Known is [Dir.Known] without opening the directories.
func Known(fsys disk.FS, path, quarantine string) (map[int64]bool, error) {
	d := &Dir{fs: fsys, path: path, quarantine: quarantine}
	known := map[int64]bool{}
	for _, dir := range []string{d.path, d.quarantine} {
		files, err := d.fs.List(dir)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			stem, state := strings.CutSuffix(f.Name, stateSuffix)
			seq, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSuffix(stem, tempSuffix), suffix), 16, 64)
			if err != nil {
				continue // not a file of a batch
			}
			if state {
				s, err := d.State(seq)
				if err != nil && !Corrupt(err) {
					return nil, err
				}
				if !s.Stored {
					continue
				}
			}
			known[seq] = true
		}
	}
	return known, nil
}
