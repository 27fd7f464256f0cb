package sealed

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"logstow/buffer/internal/disk"
	"logstow/internal/crashpoint"
	"logstow/segment"
)

// reasonSuffix follows a file's whole name in quarantine.
const reasonSuffix = ".reason"

// Quarantine moves a batch to the quarantine, with what was tried and the reason
// beside it. A reason for which the disk has no space is left out.
func (d *Dir) Quarantine(seq int64, reason string) error {
	if err := d.writeReason(seq, reason); err != nil && !disk.Full(err) {
		return err
	}
	crashpoint.Here("quarantine.before-rename")
	// The state goes last: on its own in the directory of batches, List removes it.
	for _, suffix := range []string{suffix, stateSuffix} {
		err := d.fs.Rename(d.file(seq, suffix), filepath.Join(d.quarantine, filepath.Base(d.file(seq, suffix))))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return errors.Join(d.fs.SyncDir(d.quarantine), d.fs.SyncDir(d.path))
}

func (d *Dir) writeReason(seq int64, reason string) error {
	path := filepath.Join(d.quarantine, filepath.Base(d.file(seq, suffix))+reasonSuffix)
	file, err := d.fs.Create(path)
	if errors.Is(err, fs.ErrExist) { // it was requeued since
		if err = d.fs.Remove(path); err == nil {
			file, err = d.fs.Create(path)
		}
	}
	if err != nil {
		return err
	}
	_, err = file.WriteAt([]byte(reason+"\n"), 0)
	return errors.Join(err, file.Sync(), file.Close())
}

// Quarantined is a file in quarantine.
type Quarantined struct {
	// File is its name there.
	File string
	// Reason is why it was quarantined, "" if that is not known.
	Reason string
	// Head and State are those of a batch. Err says why there are none: the file is
	// damaged, or a copy of a damaged log file.
	Head  Head
	State State
	Err   error
}

// The Err of files that are no sealed batches.
var (
	errNoBatch = errors.New("not a sealed batch")
	errLogFile = errors.New("a damaged log file, whose intact entries were used")
)

// IsCompanion reports whether a file in quarantine belongs to another one there.
func IsCompanion(file string) bool {
	return strings.HasSuffix(file, reasonSuffix) || strings.HasSuffix(file, stateSuffix)
}

// Quarantined reads one file in quarantine.
func (d *Dir) Quarantined(file string) Quarantined {
	q := Quarantined{File: file, Reason: d.reason(file)}
	seq, err := quarantinedSeq(file)
	if err != nil {
		q.Err = err
		return q
	}
	from := &Dir{fs: d.fs, path: d.quarantine}
	if q.Head, q.Err = from.head(seq); q.Err != nil {
		return q
	}
	if q.State, q.Err = from.State(seq); Corrupt(q.Err) {
		q.Err = nil // the batch is whole, and the last state that is whole counts
	}
	return q
}

func quarantinedSeq(file string) (int64, error) {
	if filepath.Ext(file) == ".log" {
		return 0, errLogFile
	}
	stem, ok := strings.CutSuffix(file, suffix)
	seq, err := strconv.ParseInt(stem, 16, 64)
	if !ok || err != nil {
		return 0, errNoBatch
	}
	return seq, nil
}

// reason is what stands beside a file in quarantine.
func (d *Dir) reason(file string) string {
	const most = 64 << 10
	f, err := d.fs.Open(filepath.Join(d.quarantine, file+reasonSuffix))
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // Nothing was written.
	data := make([]byte, most)
	n, _ := f.ReadAt(data, 0)
	return strings.TrimSpace(string(data[:n]))
}

// Requeue brings a batch back from quarantine, with what was tried and its id, if
// every byte of it is as it was sealed: else the error is [ErrDamaged].
func (d *Dir) Requeue(ctx context.Context, file string) error {
	seq, err := quarantinedSeq(file)
	if err != nil {
		return err
	}
	from := &Dir{fs: d.fs, path: d.quarantine}
	h, err := from.head(seq)
	if err == nil {
		err = from.verify(ctx, &h)
	}
	if err != nil {
		return err
	}
	// The state goes last: on its own in the directory of batches, List removes it.
	for _, suffix := range []string{suffix, stateSuffix} {
		err := d.fs.Rename(from.file(seq, suffix), d.file(seq, suffix))
		if err != nil && (suffix != stateSuffix || !errors.Is(err, fs.ErrNotExist)) {
			return err
		}
	}
	if err := errors.Join(d.fs.SyncDir(d.path), d.fs.SyncDir(d.quarantine)); err != nil {
		return err
	}
	return d.removeQuarantined(file + reasonSuffix)
}

// verify checks a batch's segment as a shipper does before it sends it.
func (d *Dir) verify(ctx context.Context, h *Head) error {
	read := func(_ context.Context, off, n int64) ([]byte, error) { return d.Read(h, off, n) }
	footer, err := segment.VerifyStored(ctx, read, h.Size)
	if err == nil {
		err = footer.Check(h.Meta)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return nil
}

// Discard removes a file from quarantine, and what belongs to it.
func (d *Dir) Discard(file string) error {
	if err := d.fs.Remove(filepath.Join(d.quarantine, file)); err != nil {
		return err
	}
	if err := d.removeQuarantined(file + reasonSuffix); err != nil {
		return err
	}
	return d.removeQuarantined(strings.TrimSuffix(file, suffix) + stateSuffix)
}

func (d *Dir) removeQuarantined(name string) error {
	if err := d.fs.Remove(filepath.Join(d.quarantine, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
