package main

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
	"logstow/upload"
)

const (
	// lookEvery is how often buffers whose shipper is gone are looked for.
	lookEvery = time.Minute
	// keepEmpty is how long an empty buffer that nobody uses is kept for the
	// positions in it: its instance may come back and go on reading its files.
	keepEmpty = 7 * 24 * time.Hour
	// takeoverMemory is the memory of a buffer that is only emptied.
	takeoverMemory = 16 << 20

	// wantedFile is made in a buffer's directory by its own shipper, to have it
	// back from one that took it over; it says so for wantedFor.
	wantedFile  = "wanted"
	wantedFor   = time.Minute
	wantedEvery = 200 * time.Millisecond
)

// takeover ships what other instances of the service left behind in buffers
// beside this one's: those of replaced pods on a shared volume.
type takeover struct {
	dir, service string
	instance     string
	shipper      *upload.Uploader
	log          *slog.Logger
}

// run looks for such buffers at once and then every minute until ctx ends.
func (t *takeover) run(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	said := make(map[string]string)
	for {
		t.look(ctx, said)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// look goes once through the directories. What is wrong with one is said once.
func (t *takeover) look(ctx context.Context, said map[string]string) {
	entries, err := os.ReadDir(filepath.Dir(t.dir))
	if err != nil {
		t.log.Debug("can not look for other buffers", "error", err)
		return
	}
	for _, e := range entries {
		if t.shipper.CurrentError() != nil { // nothing could be shipped; why keep it from its own shipper
			return
		}
		dir := filepath.Join(filepath.Dir(t.dir), e.Name())
		if ctx.Err() != nil {
			return
		}
		if !e.IsDir() || dir == t.dir {
			continue
		}
		err := t.one(ctx, dir)
		if err == nil || ctx.Err() != nil {
			delete(said, dir)
			continue
		}
		if said[dir] != err.Error() {
			said[dir] = err.Error()
			t.log.Error("cannot take over a buffer for now; it is kept", "dir", dir, "error", err)
		}
	}
}

// one looks at one directory and does what is to be done with it.
func (t *takeover) one(ctx context.Context, dir string) error {
	status, err := buffer.Inspect(dir)
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
	n, noted := readNote(dir)
	if !noted { // as in the default place
		n.Service = filepath.Base(filepath.Dir(dir))
	}
	if n.Service != t.service {
		return nil
	}
	if !noted || !n.Drained || status.Sealed > 0 {
		return t.empty(ctx, dir, status)
	}
	if status.Quarantined > 0 || status.Positions > 0 && time.Since(n.Time) < keepEmpty {
		return nil
	}
	t.log.Info("removing an empty buffer that nobody uses", "dir", dir, "instance", status.Instance)
	if err := buffer.Remove(dir); !errors.Is(err, buffer.ErrLocked) {
		return err
	}
	return nil // its shipper is back
}

// empty ships all that a buffer holds, under its own instance. The positions stay.
func (t *takeover) empty(ctx context.Context, dir string, status buffer.Status) (err error) {
	instance := status.Instance
	b, err := buffer.Open(ctx, buffer.Options{Dir: dir, Instance: instance, Memory: takeoverMemory, Log: t.log.With("taken_over", instance)})
	if errors.Is(err, buffer.ErrLocked) { // its shipper is back
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	if err := (note{Service: t.service, TakenOverBy: t.instance, Time: time.Now().UTC()}).write(dir); err != nil {
		return err
	}
	if status.Sealed+len(status.Services) > 0 {
		t.log.Info("taking over what another instance left", "dir", dir, "instance", instance, "batches", status.Sealed, "log_bytes", status.LogBytes)
	}
	ctx, cancel := context.WithCancel(ctx)
	var watch sync.WaitGroup
	defer watch.Wait()
	defer cancel()
	watch.Go(func() { b.Drain(ctx) }) // on a full disk it waits for delivery
	watch.Go(func() {
		awaitWanted(ctx, dir)
		cancel()
	})
	if err := t.shipper.RunOther(ctx, b); err != nil {
		if wanted(dir) {
			return nil // the rest is its own shipper's
		}
		return err
	}
	if held := b.Stats(); held.Waiting+held.Sending > 0 || held.Unsealed > 0 || held.Failed > 0 {
		return fmt.Errorf("%d batches are left", held.Waiting+held.Sending+int(held.Unsealed+held.Failed))
	}
	return note{Service: t.service, Drained: true, Time: time.Now().UTC()}.write(dir)
}

// wanted reports whether a buffer's own shipper asks for it.
func wanted(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, wantedFile))
	return err == nil && time.Since(info.ModTime()) < wantedFor
}

// awaitWanted waits until a buffer's own shipper asks for it, or ctx ends.
func awaitWanted(ctx context.Context, dir string) {
	ticker := time.NewTicker(wantedEvery)
	defer ticker.Stop()
	for !wanted(dir) {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// takenOver reports whether a buffer that somebody has open is being emptied by
// another shipper, which says so a moment after it opened it.
func takenOver(ctx context.Context, dir string) bool {
	for range 5 {
		if n, _ := readNote(dir); n.TakenOverBy != "" {
			return true
		}
		select {
		case <-time.After(wantedEvery / 4):
		case <-ctx.Done():
			return false
		}
	}
	return false
}

// openOwn opens a shipper's own buffer. From one who took it over, it asks for it.
func openOwn(ctx context.Context, opts buffer.Options) (*buffer.Buffer, error) {
	b, err := buffer.Open(ctx, opts)
	if !errors.Is(err, buffer.ErrLocked) || !takenOver(ctx, opts.Dir) {
		return b, err
	}
	path := filepath.Join(opts.Dir, wantedFile)
	if err := os.WriteFile(path, nil, 0o600); err != nil { //nolint:forbidigo // it holds nothing
		return nil, err
	}
	defer func() { _ = os.Remove(path) }() // it counts for a while only
	for deadline := time.Now().Add(wantedFor / 2); errors.Is(err, buffer.ErrLocked) && time.Now().Before(deadline); {
		select {
		case <-time.After(wantedEvery):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		b, err = buffer.Open(ctx, opts)
	}
	return b, err
}
