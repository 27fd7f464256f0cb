package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"logstow/buffer"
	"logstow/buffer/spool"
	"logstow/internal/retry"
	"logstow/internal/units"
	"logstow/upload"
)

const (
	// takeoverInterval is the interval between searches for abandoned buffers.
	takeoverInterval = time.Minute
	// keepEmpty is how long an abandoned empty buffer is kept for its positions. Its instance may
	// start again and resume its files.
	keepEmpty = 7 * 24 * time.Hour
	// takeoverMemory is the memory limit of a buffer that is only drained.
	takeoverMemory = 16 << 20

	// wantedFile is created in a buffer's directory by its own shipper to get it back from the
	// instance that took it over. It is valid for wantedFor; both poll at wantedInterval.
	wantedFile     = "wanted"
	wantedFor      = time.Minute
	wantedInterval = 200 * time.Millisecond
)

// takeover drains abandoned buffers of other instances of the service in the same directory, for
// example of replaced pods on a shared volume.
type takeover struct {
	dir, service string
	instance     string
	uploader     *upload.Uploader
	log          *slog.Logger
}

// run looks for abandoned buffers at once and then every minute until ctx ends.
func (t *takeover) run(ctx context.Context) {
	logged := make(map[string]string)
	retry.Every(ctx, takeoverInterval, func() { t.scan(ctx, logged) })
}

// scan tries every directory once. logged holds the last error that was logged for each directory.
func (t *takeover) scan(ctx context.Context, logged map[string]string) {
	entries, err := os.ReadDir(filepath.Dir(t.dir))
	if err != nil {
		t.log.Debug("cannot list other buffers", "error", err)
		return
	}
	for _, e := range entries {
		if t.uploader.CurrentError() != nil { // nothing can be uploaded: leave the buffer to its own shipper
			return
		}
		dir := filepath.Join(filepath.Dir(t.dir), e.Name())
		if ctx.Err() != nil {
			return
		}
		if !e.IsDir() || dir == t.dir {
			continue
		}
		err := t.try(ctx, dir)
		if err == nil || ctx.Err() != nil {
			delete(logged, dir)
			continue
		}
		if logged[dir] != err.Error() {
			logged[dir] = err.Error()
			t.log.Error("cannot take over a buffer; retrying", "dir", dir, "error", err)
		}
	}
}

// try drains or removes the buffer in a directory if it is abandoned.
func (t *takeover) try(ctx context.Context, dir string) error {
	status, err := spool.Inspect(ctx, dir)
	switch {
	case errors.Is(err, fs.ErrNotExist): // no buffer
		return nil
	case err != nil:
		return err
	case status.Holder != "" || status.Instance == t.instance:
		return nil
	}
	if wanted(dir) {
		return nil
	}
	n, noted := ReadNote(dir)
	if !noted { // assume the directories of DefaultBufferDir
		n.Service = filepath.Base(filepath.Dir(dir))
	}
	if n.Service != t.service || n.Relay { // senders rely on the state of a relay's buffer
		return nil
	}
	if !noted || !n.Drained || status.Sealed+status.Unindexed > 0 {
		return t.drain(ctx, dir, status, n.Damaged)
	}
	if status.Quarantined > 0 || status.Positions > 0 && time.Since(n.Time) < keepEmpty {
		return nil
	}
	t.log.Info("removing an abandoned empty buffer", "dir", dir, "instance", status.Instance)
	if err := spool.Remove(ctx, dir); !errors.Is(err, buffer.ErrLocked) {
		return err
	}
	return nil // its shipper runs again
}

// drain uploads everything in a buffer under the buffer's own instance ID. The buffer keeps its
// positions. damaged is the number of damaged files in its note, which drain keeps unless it finds
// more.
func (t *takeover) drain(ctx context.Context, dir string, status spool.Status, damaged uint64) (err error) {
	instance := status.Instance
	b, err := buffer.Open(ctx, buffer.Options{
		Dir:         dir,
		Instance:    instance,
		TakenOverBy: t.instance,
		Memory:      takeoverMemory,
		Log:         t.log.With("taken_over", instance),
	})
	if errors.Is(err, buffer.ErrLocked) { // its shipper runs again
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	note := Note{Service: t.service, Damaged: max(damaged, b.Stats().Damaged), Time: time.Now().UTC()}
	if err := note.write(dir); err != nil {
		return err
	}
	if status.Sealed+status.Unindexed+len(status.Services) > 0 {
		t.log.Info("taking over an abandoned buffer",
			"dir", dir, "instance", instance, "batches", status.Sealed, "unindexed", status.Unindexed, "log_bytes", status.LogBytes)
	}
	ctx, cancel := context.WithCancel(ctx)
	var tasks sync.WaitGroup
	defer tasks.Wait()
	defer cancel()
	tasks.Go(func() { b.Drain(ctx) }) // concurrently: on a full disk it waits for uploads
	tasks.Go(func() {
		awaitWanted(ctx, dir)
		cancel()
	})
	if err := t.uploader.RunOther(ctx, b); err != nil {
		if wanted(dir) {
			return nil // its own shipper uploads the rest
		}
		return err
	}
	if left := b.Stats().Undelivered(); left > 0 {
		return fmt.Errorf("%s not stored or not indexed", units.Count(left, "batch"))
	}
	note.Drained = true
	note.Damaged, note.Time = max(damaged, b.Stats().Damaged), time.Now().UTC()
	return note.write(dir)
}

// wanted reports whether a buffer's own shipper requests it back.
func wanted(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, wantedFile))
	return err == nil && time.Since(info.ModTime()) < wantedFor
}

// awaitWanted waits until a buffer's own shipper requests it back, or ctx ends.
func awaitWanted(ctx context.Context, dir string) {
	for !wanted(dir) && retry.Sleep(ctx, wantedInterval) == nil {
	}
}

// takenOver reports whether a locked buffer is being drained by another instance. That instance notes
// this in the lock file shortly after it has locked it, so takenOver waits for up to two seconds.
func takenOver(ctx context.Context, dir string) bool {
	for range 40 {
		if s, err := spool.Inspect(ctx, dir); err == nil && s.TakenOverBy != "" {
			return true
		}
		if retry.Sleep(ctx, wantedInterval/4) != nil {
			return false
		}
	}
	return false
}

// openOwn opens a shipper's own buffer. If another instance has taken it over, it requests the buffer
// back and waits for it. A shipper that was killed may have it open for a moment longer than it seems to run.
func openOwn(ctx context.Context, opts buffer.Options) (*buffer.Buffer, error) {
	b, err := buffer.Open(ctx, opts)
	if !errors.Is(err, buffer.ErrLocked) {
		return b, err
	}
	if !takenOver(ctx, opts.Dir) {
		return buffer.Open(ctx, opts)
	}
	path := filepath.Join(opts.Dir, wantedFile)
	if err := os.WriteFile(path, nil, 0o600); err != nil { //nolint:forbidigo // an empty file needs no atomic write
		return nil, err
	}
	defer func() { _ = os.Remove(path) }() // a file that remains expires
	for deadline := time.Now().Add(wantedFor / 2); errors.Is(err, buffer.ErrLocked) && time.Now().Before(deadline); {
		if err := retry.Sleep(ctx, wantedInterval); err != nil {
			return nil, err
		}
		b, err = buffer.Open(ctx, opts)
	}
	return b, err
}
