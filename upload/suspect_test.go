package upload_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"logstow/buffer"
	"logstow/buffer/spool"
	"logstow/internal/test/await"
	"logstow/store"
	"logstow/store/local"
	"logstow/upload"
)

// refusing always rejects the nth batches that are sent, each of which keeps its name.
func refusing(s store.Store, nth ...int) *faulty {
	var names []string
	f := &faulty{Store: s}
	f.create = func(_ int, name string, call func() (string, error)) (string, error) {
		f.mu.Lock()
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		refused := slices.Contains(nth, slices.Index(names, name)+1)
		f.mu.Unlock()
		if refused {
			return "", failure(store.ErrInvalid)
		}
		return call()
	}
	return f
}

// A batch that storage rejects again while it accepts others is quarantined; the others are delivered.
func TestQuarantine(t *testing.T) {
	t.Parallel()
	s, b := openStore(t), openBuffer(t)
	fillMany(t, b, 4)
	stats, err := run(t.Context(), upload.Options{Buffer: b, Store: refusing(s, 2)})
	if err != nil {
		t.Fatal(err)
	}
	if st := b.Stats(); stats.Quarantined != 1 || st.Quarantined != 1 || stats.Segments != 3 {
		t.Errorf("%+v; buffer %+v", stats, st)
	}
	exactlyOnce(t, s, 3)
}

// Rejected batches do not keep the senders from the others, however few these are.
func TestQuarantineOfMany(t *testing.T) {
	t.Parallel()
	s, b := openStore(t), openBuffer(t)
	first := make([]int, 20)
	for i := range first {
		first[i] = i + 1
	}
	stats, err := run(t.Context(), upload.Options{Buffer: filled(t, b, 23), Store: refusing(s, first...), Backoff: upload.Backoff{Min: time.Second, Max: time.Second}})
	if err != nil || stats.Quarantined != 20 {
		t.Errorf("%+v, %v", stats, err)
	}
	exactlyOnce(t, s, 3)
}

func filled(t *testing.T, b *buffer.Buffer, n int) *buffer.Buffer {
	t.Helper()
	fillMany(t, b, n)
	return b
}

// If storage rejects everything, the batches are not the cause: none is quarantined.
func TestEverythingRefused(t *testing.T) {
	t.Parallel()
	for _, workers := range []int{1, 4} {
		s, b := openStore(t), openBuffer(t)
		faults := &faulty{Store: s}
		faults.create = func(n int, _ string, call func() (string, error)) (string, error) {
			if n <= 500 {
				return "", failure(store.ErrInvalid)
			}
			return call()
		}
		faults.upsert = func(n int, _ string, call func() error) error {
			if n <= 50 {
				return failure(store.ErrInvalid)
			}
			return call()
		}
		fillMany(t, b, 60)
		stats, err := run(t.Context(), upload.Options{Buffer: b, Store: faults, Workers: workers})
		if err != nil || stats.Quarantined != 0 || stats.Unindexed != 0 {
			t.Errorf("%d workers: %+v, %v", workers, stats, err)
		}
		exactlyOnce(t, s, 60)
	}
}

// A rejected batch stays in the buffer if there is no other batch to compare it with.
func TestRefusedAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := openBuffer(t)
		fillMany(t, b, 1)
		faults := &faulty{Store: nowhere{}, create: func(int, string, func() (string, error)) (string, error) {
			return "", failure(store.ErrInvalid)
		}}
		_, err := run(t.Context(), upload.Options{Buffer: b, Store: faults, RetryFor: 30 * time.Second, Backoff: upload.Backoff{Min: time.Second}})
		if !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), "gave up after 30s") {
			t.Errorf("error %v", err)
		}
		if st := b.Stats(); st.Waiting != 1 || st.Quarantined != 0 {
			t.Errorf("buffer %+v", st)
		}
	})
}

// A wrong path is a fault of the store: all batches wait, and are stored once it is repaired.
func TestWrongPath(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "sub"), filepath.Join(file, "sub", "store")} {
		s, err := local.Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		b := openBuffer(t)
		fillMany(t, b, 60)
		var log bytes.Buffer
		shipper := upload.New(upload.Options{
			Buffer: b, Store: s, Backoff: upload.Backoff{Min: time.Microsecond, Max: time.Millisecond},
			Log: slog.New(slog.NewTextHandler(&log, nil)),
		})
		done := make(chan error, 1)
		go func() { done <- shipper.Run(t.Context()) }()
		await.Until(t, time.Minute, "200 attempts", func() bool { return shipper.Stats().Creates >= 200 })
		if err := shipper.CurrentError(); !errors.Is(err, store.ErrUnusable) || !strings.Contains(err.Error(), "not a directory") {
			t.Errorf("%s: %v", dir, err)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		if stats := shipper.Stats(); stats.Quarantined != 0 || stats.Segments != 60 {
			t.Errorf("%s: %+v", dir, stats)
		}
		if lines := strings.Count(log.String(), "level=ERROR"); lines != 1 {
			t.Errorf("%s: %d errors logged, want one for the outage: %s", dir, lines, log.String())
		}
		exactlyOnce(t, s, 60)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := os.RemoveAll(file); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// With RetryFor a wrong path ends the run at once, with everything in the buffer.
func TestWrongPathOnce(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := local.Open(t.Context(), filepath.Join(file, "store"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b := openBuffer(t)
	fillMany(t, b, 60)
	_, err = run(t.Context(), upload.Options{Buffer: b, Store: s, RetryFor: time.Hour, Workers: 4})
	if !errors.Is(err, store.ErrUnusable) {
		t.Errorf("error %v", err)
	}
	if st := b.Stats(); st.Waiting != 60 || st.Quarantined != 0 {
		t.Errorf("buffer %+v", st)
	}
}

// durable opens a buffer on disk with n sealed batches.
func durable(t *testing.T, n int) (b *buffer.Buffer, files []string) {
	t.Helper()
	dir := t.TempDir()
	b, err := buffer.Open(t.Context(), buffer.Options{Dir: dir, Instance: "pod-1", Once: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	fillMany(t, b, n)
	files, err = filepath.Glob(filepath.Join(dir, "sealed", "*.seg"))
	if err != nil || len(files) != n {
		t.Fatal(files, err)
	}
	return b, files
}

// block replaces a file by a directory, so that it cannot be read.
func block(t *testing.T, path string) (unblock func()) {
	t.Helper()
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := errors.Join(os.Remove(path), os.Rename(path+".away", path)); err != nil {
			t.Error(err)
		}
	}
}

// A batch that cannot be read for a while is delivered once it can; the others are delivered first.
func TestUnreadableForAWhile(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	b, files := durable(t, 6)
	unblock := block(t, files[2])
	var once sync.Once
	shipper := upload.New(upload.Options{
		Buffer: b, Store: s, Workers: 1, Backoff: upload.Backoff{Min: 50 * time.Millisecond, Max: time.Minute},
		Random: func(uint64) uint64 { once.Do(unblock); return 0 }, // called before the first retry
	})
	if err := shipper.Run(t.Context()); err != nil {
		t.Error(err)
	}
	if stats := shipper.Stats(); stats.Quarantined != 0 || stats.Segments != 6 {
		t.Errorf("%+v", stats)
	}
	exactlyOnce(t, s, 6)
}

// A batch that can never be read is quarantined with the reason, after the others were delivered.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	b, files := durable(t, 6)
	block(t, files[2])
	stats, err := run(t.Context(), upload.Options{Buffer: b, Store: s, Workers: 2})
	if err != nil || stats.Quarantined != 1 || stats.Segments != 5 {
		t.Errorf("%+v, %v", stats, err)
	}
	reason, err := os.ReadFile(filepath.Join(filepath.Dir(files[2]), "..", "quarantine", filepath.Base(files[2])+".reason"))
	if err != nil || !strings.Contains(string(reason), "is a directory") {
		t.Errorf("reason %q, %v", reason, err)
	}
	exactlyOnce(t, s, 5)
}

// While no batch can be read, none is quarantined.
func TestAllUnreadable(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	b, files := durable(t, 4)
	var unblock []func()
	for _, f := range files {
		unblock = append(unblock, block(t, f))
	}
	ctx, cancel := context.WithCancel(t.Context())
	var waits atomic.Int64
	shipper := upload.New(upload.Options{
		Buffer: b, Store: s, Workers: 2, Backoff: upload.Backoff{Min: time.Microsecond, Max: time.Microsecond},
		Random: func(uint64) uint64 { // called before each retry
			if waits.Add(1) == 200 {
				cancel()
			}
			return 0
		},
	})
	done := make(chan error, 1)
	go func() { done <- shipper.Run(ctx) }()
	// A sender that is canceled while it reads reports that it cannot.
	if err := <-done; !errors.Is(err, context.Canceled) && (err == nil || !strings.Contains(err.Error(), "is a directory")) {
		t.Error(err)
	}
	if st := b.Stats(); st.Waiting != 4 || st.Quarantined != 0 {
		t.Errorf("buffer %+v", st)
	}
	for _, f := range unblock {
		f()
	}
	if _, err := run(t.Context(), upload.Options{Buffer: b, Store: s}); err != nil {
		t.Error(err)
	}
	exactlyOnce(t, s, 4)
}

// A batch that may have been stored before it was quarantined is found in storage after it was
// requeued: it is stored once, and keeps its id.
func TestRequeuedIsStoredOnce(t *testing.T) {
	t.Parallel()
	for _, applied := range []bool{true, false} {
		t.Run(fmt.Sprintf("applied %t", applied), func(t *testing.T) {
			t.Parallel()
			s := openStore(t)
			b, files := durable(t, 4)
			var poison atomic.Pointer[string]
			faults := &faulty{Store: s, create: func(n int, name string, call func() (string, error)) (string, error) {
				if n == 1 {
					poison.Store(&name)
					if applied {
						if _, err := call(); err != nil {
							t.Error(err)
						}
					}
				}
				if p := poison.Load(); p != nil && *p == name {
					return "", failure(store.ErrInvalid)
				}
				return call()
			}}
			stats, err := run(t.Context(), upload.Options{Buffer: b, Store: faults})
			if err != nil || stats.Quarantined != 1 {
				t.Fatalf("%+v, %v", stats, err)
			}
			dir := filepath.Dir(filepath.Dir(files[0]))
			all, err := spool.ListQuarantine(dir)
			if err != nil || len(all) != 1 || all[0].Name != *poison.Load() || all[0].Records != 3 || all[0].Service != "x" || !strings.Contains(all[0].Reason, "invalid") {
				t.Fatalf("quarantine %+v, %v", all, err)
			}
			if err := spool.Requeue(t.Context(), dir, all); !errors.Is(err, buffer.ErrLocked) {
				t.Errorf("requeue while it is open: %v", err)
			}
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			if err := spool.Requeue(t.Context(), dir, all); err != nil {
				t.Fatal(err)
			}
			if left, err := os.ReadDir(filepath.Join(dir, "quarantine")); err != nil || len(left) > 0 {
				t.Errorf("left in quarantine: %v, %v", left, err)
			}
			again, err := buffer.Open(t.Context(), buffer.Options{Dir: dir, Instance: "pod-1", Once: true})
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			again.Drain(t.Context())
			if stats, err := run(t.Context(), upload.Options{Buffer: again, Store: s}); err != nil || stats.Segments != 1 {
				t.Errorf("%+v, %v", stats, err)
			}
			exactlyOnce(t, s, 4)
			ids := map[string]bool{}
			for page, err := range s.Blobs().List(t.Context(), "") {
				if err != nil {
					t.Fatal(err)
				}
				for _, blob := range page {
					ids[blob.Metadata["Batch"]] = true
				}
			}
			if !ids[all[0].Batch] || len(ids) != 4 {
				t.Errorf("batches %v, want %s among them", ids, all[0].Batch)
			}
		})
	}
}
