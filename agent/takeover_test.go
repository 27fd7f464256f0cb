package agent

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"logstow/blobnaming"
	"logstow/buffer"
	"logstow/buffer/spool"
	"logstow/internal/test/await"
	"logstow/internal/test/storetest"
	"logstow/record"
	"logstow/store"
	"logstow/upload"
)

// leave makes a buffer with one record and one position that its shipper left.
func leave(t *testing.T, dir, instance, service string) {
	t.Helper()
	b, err := buffer.Open(t.Context(), buffer.Options{Dir: dir, Instance: instance})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Append(t.Context(), buffer.Chunk{
		Service: service, Records: []record.Record{{Time: time.Now().UnixNano(), Message: []byte("left by " + instance)}},
		Positions: []buffer.Position{{Input: "file:1:1", Value: []byte("here")}},
	}); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := (Note{Service: service}).write(dir); err != nil {
		t.Fatal(err)
	}
}

// newTakeover is that of instance "own" of service x below dir.
func newTakeover(t *testing.T, dir string, st store.Store) *takeover {
	t.Helper()
	own, err := buffer.Open(t.Context(), buffer.Options{Dir: filepath.Join(dir, "own"), Instance: "own"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := own.Close(); err != nil {
			t.Error(err)
		}
	})
	log := slog.New(slog.DiscardHandler)
	return &takeover{
		dir: filepath.Join(dir, "own"), service: "x", instance: "own", log: log,
		uploader: upload.New(upload.Options{Buffer: own, Store: st, Log: log}),
	}
}

func TestTakeover(t *testing.T) {
	t.Parallel()
	st := storetest.OpenLocal(t)
	dir := t.TempDir()
	take := newTakeover(t, dir, st)
	leave(t, filepath.Join(dir, "gone"), "gone", "x")
	leave(t, filepath.Join(dir, "other"), "other", "y")
	leave(t, filepath.Join(dir, "copy"), "own", "x")
	leave(t, filepath.Join(dir, "used"), "used", "x")
	used, err := buffer.Open(t.Context(), buffer.Options{Dir: filepath.Join(dir, "used"), Instance: "used"})
	if err != nil {
		t.Fatal(err)
	}
	defer used.Close()
	if err := os.Mkdir(filepath.Join(dir, "no buffer"), 0o755); err != nil {
		t.Fatal(err)
	}
	scan := func(records int) {
		t.Helper()
		logged := make(map[string]string)
		take.scan(t.Context(), logged)
		if len(logged) > 0 {
			t.Errorf("logged %q", logged)
		}
		text, err := storetest.Text(t.Context(), st.Blobs())
		if got := strings.Count(string(text), "left by"); err != nil || got != records || strings.Contains(string(text), "left by other") {
			t.Errorf("%d records, want %d, %v: %q", got, records, err, text)
		}
	}
	scan(1)
	scan(1) // nothing again
	for page, err := range st.Blobs().List(t.Context(), "x/") {
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range page {
			if meta, err := blobnaming.ParseMetadata(b.Metadata); err != nil || meta.Instance != "gone" {
				t.Errorf("shipped as %q, %v", meta.Instance, err)
			}
		}
	}
	gone := filepath.Join(dir, "gone")
	if s, err := spool.Inspect(t.Context(), gone); err != nil || s.Positions != 1 || s.Sealed != 0 {
		t.Errorf("%+v, %v", s, err)
	}

	// Its shipper comes back, and goes again.
	leave(t, gone, "gone", "x")
	scan(2)

	// Empty for a week.
	if err := (Note{Service: "x", Drained: true, Time: time.Now().Add(-7*24*time.Hour - time.Minute)}).write(gone); err != nil {
		t.Fatal(err)
	}
	quarantined := filepath.Join(gone, "quarantine", "1.seg")
	if err := os.WriteFile(quarantined, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	scan(2)
	if err := os.Remove(quarantined); err != nil { // a buffer with files in quarantine stays
		t.Fatal(err)
	}
	scan(2)
	if _, err := os.Stat(gone); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory is there: %v", err)
	}
	for _, name := range []string{"other", "copy", "used", "no buffer", "own"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}

// The note of a buffer that was taken over has the number of its damaged files, found by either shipper.
func TestTakeoverOfDamagedBuffer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for instance, noted := range map[string]uint64{"found": 0, "noted": 2} {
		path := filepath.Join(dir, instance)
		leave(t, path, instance, "x")
		if noted == 0 {
			damageLogs(t, path)
		}
		if err := (Note{Service: "x", Damaged: noted}).write(path); err != nil {
			t.Fatal(err)
		}
	}
	newTakeover(t, dir, storetest.OpenLocal(t)).scan(t.Context(), make(map[string]string))
	for instance, want := range map[string]uint64{"found": 1, "noted": 2} {
		if n, ok := ReadNote(filepath.Join(dir, instance)); !ok || n.Damaged != want || !n.Drained {
			t.Errorf("%s: %+v", instance, n)
		}
	}
}

// damageLogs flips a bit in the middle of each log file of a buffer.
func damageLogs(t *testing.T, dir string) (logs []string) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(dir, "wal", "*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatal(logs, err)
	}
	for _, path := range logs {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		data[len(data)/2] ^= 1
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return logs
}

// down is a store that does not answer.
type down struct{ store.Store }

func (d down) Blobs() store.Blobs     { return downBlobs{d.Store.Blobs()} }
func (d down) Compacted() store.Blobs { return downBlobs{d.Store.Compacted()} }

type downBlobs struct{ store.Blobs }

func (downBlobs) Create(context.Context, string, []byte, store.CreateOptions) (string, error) {
	return "", &store.Error{Op: "create blob", Object: "x", Class: store.ErrUnavailable}
}

// A shipper that comes back gets its buffer from the instance that took it over.
func TestTakeoverIsGivenBack(t *testing.T) {
	t.Parallel()
	st := storetest.OpenLocal(t)
	dir := t.TempDir()
	gone := filepath.Join(dir, "gone")
	take := newTakeover(t, dir, down{st})
	leave(t, gone, "gone", "x")
	done := make(chan error, 1)
	go func() { done <- take.try(t.Context(), gone) }()
	await.Until(t, patience, "the store does not answer", func() bool { return take.uploader.CurrentError() != nil })
	b, err := openOwn(t.Context(), buffer.Options{Dir: gone, Instance: "gone"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if s := b.Stats(); s.Waiting != 1 {
		t.Errorf("%+v", s)
	}
	if _, err := os.Stat(filepath.Join(gone, wantedFile)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("still wanted: %v", err)
	}
}

// It gets it also from one that is still reading it.
func TestTakeoverIsGivenBackOnceOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	leave(t, dir, "gone", "x")
	b, err := buffer.Open(t.Context(), buffer.Options{Dir: dir, Instance: "gone", TakenOverBy: "other"})
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	go func() {
		awaitWanted(t.Context(), dir)
		closed <- b.Close()
	}()
	own, err := openOwn(t.Context(), buffer.Options{Dir: dir, Instance: "gone"})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := spool.Inspect(t.Context(), dir); err != nil || s.TakenOverBy != "" || s.Holder == "" {
		t.Errorf("%+v, %v", s, err)
	}
	if err := errors.Join(<-closed, own.Close()); err != nil {
		t.Error(err)
	}
}

// One that is simply running keeps it.
func TestOwnBufferInUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	leave(t, dir, "i", "x")
	b, err := buffer.Open(t.Context(), buffer.Options{Dir: dir, Instance: "i"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	began := time.Now()
	if _, err := openOwn(t.Context(), buffer.Options{Dir: dir, Instance: "i"}); !errors.Is(err, buffer.ErrLocked) || time.Since(began) > wantedFor/2 { // which it would wait for its return
		t.Errorf("after %v: %v", time.Since(began), err)
	}
}

// The buffer of a relay is left to it: its senders rely on the state that it has.
func TestRelayIsNotTakenOver(t *testing.T) {
	dir := t.TempDir()
	st := storetest.OpenLocal(t)
	leave(t, filepath.Join(dir, "relay-0"), "relay-0", "x")
	if err := (Note{Service: "x", Relay: true}).write(filepath.Join(dir, "relay-0")); err != nil {
		t.Fatal(err)
	}
	if err := newTakeover(t, dir, st).try(t.Context(), filepath.Join(dir, "relay-0")); err != nil {
		t.Fatal(err)
	}
	if s, err := spool.Inspect(t.Context(), filepath.Join(dir, "relay-0")); err != nil || s.LogBytes == 0 || s.Positions != 1 {
		t.Errorf("%+v, %v", s, err)
	}
}

// A shipper starts although the process before it, which was killed, has its buffer open for a moment longer.
func TestOpenOwnAfterKill(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		opts := buffer.Options{Dir: filepath.Join(t.TempDir(), "b"), Instance: "i"}
		before, err := buffer.Open(t.Context(), opts)
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, func() {
			if err := before.Close(); err != nil {
				t.Error(err)
			}
		})
		b, err := openOwn(t.Context(), opts)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
}
