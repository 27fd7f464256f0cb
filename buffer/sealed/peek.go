package sealed

import (
	"errors"
	"io/fs"
	"strconv"
	"strings"
)

// Peek reads the heads of the waiting batches, and whether their states are intact, and changes nothing. Batches
// that are removed meanwhile or damaged are left out; damaged has the names of damaged files.
func (d *Dir) Peek() (heads []Head, damaged []string, err error) {
	files, err := d.fs.List(d.path)
	if err != nil {
		return nil, nil, err
	}
	for _, f := range files {
		stem, ours := strings.CutSuffix(f.Name, suffix)
		seq, err := strconv.ParseInt(stem, 16, 64)
		if !ours || err != nil {
			continue
		}
		h, err := d.head(seq)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if errors.Is(err, ErrDamaged) {
			damaged = append(damaged, f.Name)
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		_, err = d.State(seq)
		if errors.Is(err, ErrDamaged) {
			damaged = append(damaged, stem+stateSuffix)
		}
		if Corrupt(err) {
			err = nil
		}
		if err != nil {
			return nil, nil, err
		}
		heads = append(heads, h)
	}
	return heads, damaged, nil
}
