package sealed

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"logstow/buffer/disk"
	"logstow/internal/crashpoint"
	"logstow/segment"
)

// reasonSuffix is appended to a file's full name in quarantine.
const reasonSuffix = ".reason"

// Quarantine moves a batch and its state to the quarantine and writes a file with the reason.
// On a full disk the reason is left out.
func (d *Dir) Quarantine(seq int64, reason string) error {
	if err := d.writeReason(seq, reason); err != nil && !disk.Full(err) {
		return err
	}
	crashpoint.Here("quarantine.before-rename")
	// The state is moved last: List removes a state without a batch.
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
	if errors.Is(err, fs.ErrExist) { // left by an earlier quarantine of the batch
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
	// File is its name in quarantine.
	File string
	// Reason is why it was quarantined, "" if unknown.
	Reason string
	// Head and State are those of an intact batch. Err is set if the file is a damaged batch or
	// a log file.
	Head  Head
	State State
	Err   error
}

// The Err of files that are not sealed batches.
var (
	errNoBatch = errors.New("not a sealed batch")
	errLogFile = errors.New("a damaged log file, whose intact entries were used")
)

// IsCompanion reports whether a file in quarantine is the reason or the state of another one.
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
		q.Err = nil // the batch is intact, and the last intact state counts
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

// reason reads the reason of a file in quarantine.
func (d *Dir) reason(file string) string {
	const maxReason = 64 << 10
	data, _ := disk.ReadFile(d.fs, filepath.Join(d.quarantine, file+reasonSuffix), maxReason) // there may be none
	return strings.TrimSpace(string(data))
}

// Requeue verifies every byte of a batch in quarantine and moves it back with its state. The
// error of a damaged batch is [ErrDamaged].
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
	// The state is moved last: List removes a state without a batch.
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

// verify verifies a batch's segment as a shipper does before it uploads it.
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

// Discard removes a file and its companions from quarantine.
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
