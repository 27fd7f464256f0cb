package upload_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"logstow/audit"
	"logstow/buffer"
	"logstow/store"
	"logstow/upload"
)

func TestUpload(t *testing.T) {
	t.Parallel()
	s, b := openStore(t), openBuffer(t)
	fillMany(t, b, 20)
	var counter store.Counter
	stats, err := run(t.Context(), upload.Options{Buffer: b, Store: counter.Store(s), Workers: 4, IndexWait: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	exactlyOnce(t, s, 20)
	if stats.Segments != 20 || stats.Records != 60 || stats.Creates != 20 || stats.Conflicts != 0 || stats.StoredBytes == 0 || stats.RawBytes == 0 {
		t.Errorf("%+v", stats)
	}
	if st := b.Stats(); st.Done != 20 || st.Waiting+st.Sending != 0 {
		t.Errorf("buffer: %+v", st)
	}
	// One transaction, and what it takes to make the table.
	if r := counter.Requests(); r.Create != 20 || r.List+r.Get != 0 || r.Table > 3 {
		t.Errorf("requests: %+v", r)
	}
	for page, err := range s.Blobs().List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		for i, blob := range page {
			if want := fmt.Sprintf("x/2026/11/20/1500/%06d.log", i+1); blob.Name != want {
				t.Errorf("blob %s, want %s", blob.Name, want)
			}
		}
	}
}

// Each record is stored once, whatever responses are lost and whatever requests fail for a while.
func TestUploadThroughFaults(t *testing.T) {
	t.Parallel()
	unavailable, throttled := failure(store.ErrUnavailable), failure(store.ErrThrottled)
	for name, f := range map[string]*faulty{
		"create not applied": {create: func(n int, _ string, call func() (string, error)) (string, error) {
			if n%2 == 1 {
				return "", unavailable
			}
			return call()
		}},
		"answer lost after create": {create: func(n int, _ string, call func() (string, error)) (string, error) {
			etag, err := call()
			if n%3 == 1 && err == nil {
				return "", unavailable
			}
			return etag, err
		}},
		"answer lost twice": {create: func(n int, _ string, call func() (string, error)) (string, error) {
			etag, err := call()
			if n%4 < 2 {
				return "", unavailable
			}
			return etag, err
		}},
		"an unknown error": {create: func(n int, _ string, call func() (string, error)) (string, error) {
			if n%2 == 1 {
				return "", errors.New("surprise")
			}
			return call()
		}},
		"throttled": {create: func(n int, _ string, call func() (string, error)) (string, error) {
			if n%3 != 0 {
				return "", throttled
			}
			return call()
		}},
		"refused for a while": {create: func(n int, _ string, call func() (string, error)) (string, error) {
			if n < 4 {
				return "", failure(store.ErrAccessDenied)
			}
			return call()
		}},
		"lost answer and failing list": {
			create: func(n int, _ string, call func() (string, error)) (string, error) {
				etag, err := call()
				if n%3 == 1 && err == nil {
					return "", unavailable
				}
				return etag, err
			},
			list: func(n int, _ string) error {
				if n%2 == 1 {
					return unavailable
				}
				return nil
			},
		},
		"index not written": {upsert: func(n int, _ string, call func() error) error {
			if n < 4 {
				return throttled
			}
			return call()
		}},
		"index answer lost": {upsert: func(n int, _ string, call func() error) error {
			err := call()
			if n < 4 && err == nil {
				return unavailable
			}
			return err
		}},
		"table being deleted": {upsert: func(n int, _ string, call func() error) error {
			if n < 4 {
				return failure(store.ErrTableBusy)
			}
			return call()
		}},
	} {
		for _, workers := range []int{1, 4} {
			t.Run(fmt.Sprintf("%s, %d workers", name, workers), func(t *testing.T) {
				t.Parallel()
				s, b := openStore(t), openBuffer(t)
				faults := &faulty{Store: s, create: f.create, list: f.list, upsert: f.upsert}
				fillMany(t, b, 8)
				stats, err := run(t.Context(), upload.Options{Buffer: b, Store: faults, Workers: workers})
				if err != nil {
					t.Fatal(err)
				}
				exactlyOnce(t, s, 8)
				if stats.Segments != 8 || stats.Quarantined+stats.Unindexed != 0 {
					t.Errorf("%+v", stats)
				}
			})
		}
	}
}

// A name that another batch has is skipped, also after a lost response.
func TestUploadConflict(t *testing.T) {
	t.Parallel()
	for _, lost := range []bool{false, true} {
		s, b := openStore(t), openBuffer(t)
		const theirs = "x/2026/11/20/1500/000001.log"
		if _, err := s.Blobs().Create(t.Context(), theirs, []byte("theirs"), store.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		faults := &faulty{Store: s, create: func(n int, _ string, call func() (string, error)) (string, error) {
			if n == 1 && lost {
				return "", failure(store.ErrUnavailable)
			}
			return call()
		}}
		fillMany(t, b, 3)
		stats, err := run(t.Context(), upload.Options{Buffer: b, Store: faults})
		if err != nil {
			t.Fatal(err)
		}
		if stats.Conflicts != 1 || stats.Segments != 3 {
			t.Errorf("%+v", stats)
		}
		if got, err := s.Blobs().Read(t.Context(), store.BlobRef{Name: theirs}, 0, 6); err != nil || string(got) != "theirs" {
			t.Errorf("the other's blob: %q, %v", got, err)
		}
		if err := s.Blobs().Delete(t.Context(), store.AnyVersion(theirs)); err != nil {
			t.Fatal(err)
		}
		exactlyOnce(t, s, 3)
	}
}

// After a lost response, a blob that claims to be the batch and is not is another one.
func TestUploadTwin(t *testing.T) {
	t.Parallel()
	for what, forge := range map[string]func(meta map[string]string, body []byte) []byte{
		"bytes":    func(_ map[string]string, body []byte) []byte { body[len(body)/2] ^= 1; return body },
		"size":     func(_ map[string]string, body []byte) []byte { return body[1:] },
		"metadata": func(meta map[string]string, body []byte) []byte { meta["Instance"] = "other"; return body },
	} {
		s, b := openStore(t), openBuffer(t)
		twin := ""
		faults := &faulty{Store: s, create: func(n int, name string, call func() (string, error)) (string, error) {
			etag, err := call()
			if n != 1 {
				return etag, err
			}
			twin = name
			for page, err := range s.Blobs().List(t.Context(), name) {
				if err != nil {
					t.Error(err)
				}
				for _, own := range page {
					body, err := s.Blobs().Read(t.Context(), own.Ref(), 0, own.Size)
					err = errors.Join(err, s.Blobs().Delete(t.Context(), []store.BlobRef{own.Ref()}))
					_, created := s.Blobs().Create(t.Context(), name, forge(own.Metadata, body), store.CreateOptions{Metadata: own.Metadata})
					if err = errors.Join(err, created); err != nil {
						t.Error(err)
					}
				}
			}
			return "", failure(store.ErrUnavailable)
		}}
		fillMany(t, b, 1)
		stats, err := run(t.Context(), upload.Options{Buffer: b, Store: faults})
		if err != nil || stats.Conflicts != 1 || stats.Segments != 1 {
			t.Errorf("%s: %v, %+v", what, err, stats)
		}
		if err := s.Blobs().Delete(t.Context(), store.AnyVersion(twin)); err != nil {
			t.Fatal(err)
		}
		exactlyOnce(t, s, 1)
	}
}

// Without permission to list, a batch's own blob is not recognized: the next number is used.
func TestUploadLostResponseWriteOnly(t *testing.T) {
	t.Parallel()
	s, b := openStore(t), openBuffer(t)
	faults := &faulty{
		Store: s,
		create: func(n int, _ string, call func() (string, error)) (string, error) {
			etag, err := call()
			if n == 1 {
				return "", failure(store.ErrUnavailable)
			}
			return etag, err
		},
		list: func(int, string) error { return failure(store.ErrAccessDenied) },
	}
	fillMany(t, b, 1)
	if _, err := run(t.Context(), upload.Options{Buffer: b, Store: faults}); err != nil {
		t.Fatal(err)
	}
	for message, times := range stored(t, s) {
		if times != 2 { // two copies of one Batch, of which readers use one
			t.Errorf("%q is stored %d times", message, times)
		}
	}
}

// The name is kept for as long as its create may have been applied.
func TestUploadKeepsTheName(t *testing.T) {
	t.Parallel()
	s, b := openStore(t), openBuffer(t)
	faults := &faulty{Store: s, create: func(n int, _ string, call func() (string, error)) (string, error) {
		if n < 5 {
			return "", failure(store.ErrUnavailable)
		}
		return call()
	}}
	fillMany(t, b, 1)
	if _, err := run(t.Context(), upload.Options{Buffer: b, Store: faults}); err != nil {
		t.Fatal(err)
	}
	if names := slices.Compact(faults.tried()); len(names) != 1 {
		t.Errorf("names tried: %q", names)
	}
}

// A run that ends and starts again uploads each batch once.
func TestUploadInterrupted(t *testing.T) {
	t.Parallel()
	s, b := openStore(t), openBuffer(t)
	ctx, cancel := context.WithCancel(t.Context())
	faults := &faulty{Store: s, create: func(n int, _ string, call func() (string, error)) (string, error) {
		etag, err := call()
		if n == 3 {
			cancel()
			return "", failure(store.ErrUnavailable) // applied, but the response is lost
		}
		return etag, err
	}}
	fillMany(t, b, 6)
	_, err := run(ctx, upload.Options{Buffer: b, Store: faults})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	if st := b.Stats(); st.Sending != 0 {
		t.Errorf("batches without an owner: %+v", st)
	}
	if _, err := run(t.Context(), upload.Options{Buffer: b, Store: faults}); err != nil {
		t.Fatal(err)
	}
	exactlyOnce(t, s, 6)
}

// A damaged batch is never uploaded.
func TestUploadVerifies(t *testing.T) {
	t.Parallel()
	s, b := openStore(t), openBuffer(t)
	fill(t, b, "batch 0")
	batch, err := b.Next(t.Context())
	if err == nil {
		err = batch.Load(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	body, err := batch.Body()
	if err != nil {
		t.Fatal(err)
	}
	body[len(body)/3] ^= 1
	batch.Return()
	b.Drain(t.Context())
	stats, err := run(t.Context(), upload.Options{Buffer: b, Store: s})
	if err != nil || stats.Quarantined != 1 || stats.Creates != 0 {
		t.Errorf("%+v, %v", stats, err)
	}
}

// With RetryFor, a permission error ends the run at once, and nothing is acknowledged.
func TestUploadGivesUpWhenAccessDenied(t *testing.T) {
	t.Parallel()
	for _, class := range []error{store.ErrAccessDenied, store.ErrNoContainer} {
		s, b := openStore(t), openBuffer(t)
		faults := &faulty{Store: s, create: func(int, string, func() (string, error)) (string, error) { return "", failure(class) }}
		fillMany(t, b, 3)
		_, err := run(t.Context(), upload.Options{Buffer: b, Store: faults, RetryFor: 1 << 40, Workers: 2})
		if !errors.Is(err, class) {
			t.Errorf("error %v", err)
		}
		if st := b.Stats(); st.Done != 0 || st.Waiting != 3 {
			t.Errorf("buffer: %+v", st)
		}
	}
}

func TestUploadGivesUpWithoutIndex(t *testing.T) {
	t.Parallel()
	s, b := openStore(t), openBuffer(t)
	faults := &faulty{Store: s, upsert: func(int, string, func() error) error { return failure(store.ErrAccessDenied) }}
	fillMany(t, b, 3)
	_, err := run(t.Context(), upload.Options{Buffer: b, Store: faults, RetryFor: 1 << 40, IndexWait: time.Hour})
	if !errors.Is(err, store.ErrAccessDenied) || !strings.Contains(err.Error(), "cannot index the stored segments") {
		t.Errorf("error %v", err)
	}
	if st := b.Stats(); st.Done != 3 || st.Unindexed != 3 {
		t.Errorf("buffer: %+v", st)
	}
	// The next run has only the index to write.
	faults.upsert = nil
	creates := faults.creates
	if _, err := run(t.Context(), upload.Options{Buffer: b, Store: faults}); err != nil {
		t.Fatal(err)
	}
	exactlyOnce(t, s, 3)
	if faults.creates != creates {
		t.Error("blobs were created again")
	}
}

// While the index fails, blobs are uploaded; the number of entities that wait for it is bounded. The oldest are dropped and
// counted, and a reindex adds them.
func TestUploadDropsIndexBacklog(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]buffer.Options{"memory": {}, "disk": {Dir: t.TempDir(), Sync: buffer.SyncNever}} {
		opts.MaxUnindexed = 5
		s, b := openStore(t), openBufferWith(t, opts)
		failing := true
		faults := &faulty{Store: s}
		faults.create = func(n int, _ string, call func() (string, error)) (string, error) {
			if n == 20 {
				faults.mu.Lock()
				failing = false
				faults.mu.Unlock()
			}
			return call()
		}
		faults.upsert = func(_ int, _ string, call func() error) error {
			faults.mu.Lock()
			defer faults.mu.Unlock()
			if failing {
				return failure(store.ErrUnavailable)
			}
			return call()
		}
		fillMany(t, b, 20)
		if _, err := run(t.Context(), upload.Options{Buffer: b, Store: faults, IndexGroup: 1}); err != nil {
			t.Fatal(err)
		}
		if len(stored(t, s)) != 60 {
			t.Errorf("%s: not all records are stored", name)
		}
		entities, dropped := indexed(t, s), b.Stats().EntitiesDropped
		if dropped < 10 || uint64(entities)+dropped != 20 {
			t.Errorf("%s: %d entities, %d dropped", name, entities, dropped)
		}
		report, err := audit.Reindex(t.Context(), s, audit.Options{})
		if err := errors.Join(err, report.Err()); err != nil || uint64(report.Written) != dropped {
			t.Errorf("%s: reindex wrote %d, %v", name, report.Written, err)
		}
		exactlyOnce(t, s, 20)
	}
}

// An entity that the index always rejects does not block the others.
func TestUploadInvalidEntity(t *testing.T) {
	t.Parallel()
	s, b := openStore(t), openBuffer(t)
	faults := &faulty{Store: s, upsert: func(n int, _ string, call func() error) error {
		if n == 1 || n == 4 { // the group, then its second entity: the first one made the table
			return failure(store.ErrInvalid)
		}
		return call()
	}}
	fillMany(t, b, 4)
	stats, err := run(t.Context(), upload.Options{Buffer: b, Store: faults, IndexWait: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if entities := indexed(t, s); stats.Unindexed != 1 || entities != 3 {
		t.Errorf("%d entities, %d without", entities, stats.Unindexed)
	}
}

// Concurrent shippers of one service use different numbers and rarely try the same one.
func TestShipTogether(t *testing.T) {
	t.Parallel()
	const shippers, batches = 8, 20
	const seed = 1
	s := openStore(t)
	var all sync.WaitGroup
	var mu sync.Mutex
	var total upload.Stats
	for i := range shippers {
		b := openBuffer(t)
		for j := range batches {
			fill(t, b, fmt.Sprintf("shipper %d batch %d", i, j))
		}
		b.Drain(t.Context())
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		var lock sync.Mutex
		all.Go(func() {
			stats, err := run(t.Context(), upload.Options{Buffer: b, Store: s, Workers: 4, Random: func(n uint64) uint64 {
				lock.Lock()
				defer lock.Unlock()
				return random.Uint64N(n)
			}})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			total.Creates += stats.Creates
			total.Conflicts += stats.Conflicts
		})
	}
	all.Wait()
	exactlyOnce(t, s, shippers*batches)
	if total.Conflicts*20 > total.Creates {
		t.Errorf("%d of %d creates ended in conflict", total.Conflicts, total.Creates)
	}
}

// Services are counted separately, up to a number of them.
func TestUploadServices(t *testing.T) {
	t.Parallel()
	b := openBuffer(t)
	fillMany(t, b, 3)
	s := upload.New(upload.Options{Buffer: b, Store: openStore(t)})
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	stats, services := s.Stats(), s.Services()
	if stats.Segments != 3 || len(services) != 1 || services["x"] != stats.Delivered {
		t.Errorf("%+v, %+v", stats, services)
	}
}
