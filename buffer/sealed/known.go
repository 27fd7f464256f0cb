package sealed

import (
	"errors"
	"strconv"
	"strings"

	"logstow/buffer/internal/disk"
)

// Unreadable reports whether an error is one of what a file holds, and not of reading it.
func Corrupt(err error) bool { return errors.Is(err, ErrDamaged) || errors.Is(err, ErrTorn) }

// Known are the Seqs of all batches of which there is a trace: a file that waits, a file
// in quarantine, or the note that it is stored. It is to be asked before List.
func (d *Dir) Known() (map[int64]bool, error) { return Known(d.fs, d.path, d.quarantine) }

// Known is [Dir.Known] of directories that nobody has to have opened.
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
			seq, err := strconv.ParseInt(strings.TrimSuffix(stem, suffix), 16, 64)
			if err != nil {
				continue // not ours
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
