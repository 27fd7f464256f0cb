package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"logstow/buffer"
	shipping "logstow/ship"
)

const (
	// lookEvery is how often buffers whose shipper is gone are looked for.
	lookEvery = time.Minute
	// keepEmpty is how long an empty buffer that nobody uses is kept for the
	// positions in it: its instance may come back and go on reading its files.
	keepEmpty = 7 * 24 * time.Hour
	// takeoverMemory is the memory of a buffer that is only emptied.
	takeoverMemory = 16 << 20
)

// takeover ships what other instances of the service left behind in buffers
// beside this one's: those of replaced pods on a shared volume.
type takeover struct {
	dir, service string
	instance     string
	shipper      *shipping.Shipper
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
			t.log.Error("can not take over a buffer for now; it is kept", "directory", dir, "error", err)
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
	n, noted := readNote(dir)
	if !noted { // as in the default place
		n.Service = filepath.Base(filepath.Dir(dir))
	}
	if n.Service != t.service {
		return nil
	}
	if !noted || !n.Drained || status.Sealed > 0 {
		return t.empty(ctx, dir, status.Instance)
	}
	if status.Quarantined > 0 || status.Positions > 0 && time.Since(n.Time) < keepEmpty {
		return nil
	}
	t.log.Info("removing an empty buffer that nobody uses", "directory", dir, "instance", status.Instance)
	return os.RemoveAll(dir)
}

// empty ships all that a buffer holds, under its own instance. The positions stay.
func (t *takeover) empty(ctx context.Context, dir, instance string) (err error) {
	b, err := buffer.Open(buffer.Options{Dir: dir, Instance: instance, Memory: takeoverMemory, Log: t.log.With("taken_over", instance)})
	if errors.Is(err, buffer.ErrLocked) { // its shipper is back
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	b.Drain()
	if held := b.Stats(); held.Waiting > 0 {
		t.log.Info("taking over what another instance left", "directory", dir, "instance", instance, "batches", held.Waiting)
	}
	if err := t.shipper.RunOther(ctx, b); err != nil {
		return err
	}
	if held := b.Stats(); held.Waiting+held.Sending > 0 || held.Unsealed > 0 || held.Failed > 0 {
		return fmt.Errorf("%d batches are left", held.Waiting+held.Sending+int(held.Unsealed+held.Failed))
	}
	return note{Service: t.service, Drained: true, Time: time.Now().UTC()}.write(dir)
}
