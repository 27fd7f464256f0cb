package unindexed_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logstow/blobnaming"
	"logstow/buffer/internal/wait"
	"logstow/buffer/unindexed"
	"logstow/internal/test/disktest"
	"logstow/record"
)

// entity is the nth entity.
func entity(n int) unindexed.Entity {
	const minute = int64(29_400_000)
	meta := blobnaming.Metadata{
		Start: minute * 60e9, End: minute*60e9 + 5, Records: uint64(n) + 2, RawBytes: 100 * (uint64(n) + 2), Levels: record.Counts{3: uint64(n) + 2},
		Batch: blobnaming.Batch{15: byte(n), 14: byte(n >> 8)}, Instance: "pod-1", Seq: int64(n), Class: "audit", Parse: "auto/1", Footer: 50,
	}
	return unindexed.Entity{
		Name: fmt.Sprintf("web/2025/11/24/1000/%06d.log", n), ETag: "e", Size: 100, Meta: meta,
		Minutes: []record.Minute{{Start: minute * 60, Levels: record.Counts{0: 1}}, {Start: minute*60 + 60, Levels: record.Counts{6: uint64(n) + 1}}},
	}
}

// world is entities on a disk.
type world struct {
	fs    *disktest.FS
	limit int
	bytes int64
	log   bytes.Buffer
}

func (w *world) open(t *testing.T) *unindexed.Entities {
	t.Helper()
	opts := unindexed.Options{
		Limit: w.limit, MaxBytes: w.bytes, Reserve: func(write func() error) error { return write() },
		Log: slog.New(slog.NewTextHandler(&w.log, nil)), Failure: wait.NewFailure(),
	}
	if w.fs != nil {
		opts.Dir, opts.FS = "dir", w.fs
	}
	e, err := unindexed.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// add adds entities from one number to another, one by one.
func add(t *testing.T, e *unindexed.Entities, store string, from, to int) {
	t.Helper()
	for n := from; n < to; n++ {
		if err := e.Add(store, entity(n)); err != nil {
			t.Fatal(err)
		}
	}
}

// takeAll removes all entities of a store and returns them.
func takeAll(t *testing.T, e *unindexed.Entities, store string) (all []unindexed.Entity) {
	t.Helper()
	for {
		g, entities, err := e.Take(store)
		if err != nil {
			t.Fatal(err)
		}
		if g == nil {
			return all
		}
		all = append(all, entities...)
		if err := e.Remove(g); err != nil {
			t.Fatal(err)
		}
	}
}

func numbers(from, to int) (all []unindexed.Entity) {
	for n := from; n < to; n++ {
		all = append(all, entity(n))
	}
	return all
}

// Entities come back in order, by store, in memory, on disk, and in the next process.
func TestOrder(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"memory", "disk", "reopened"} {
		w := &world{limit: 100}
		if name != "memory" {
			w.fs = disktest.New()
		}
		e := w.open(t)
		add(t, e, "a", 0, 25)
		if err := e.Add("b", numbers(0, 15)...); err != nil {
			t.Fatal(err)
		}
		add(t, e, "a", 25, 30)
		if name == "reopened" {
			w.fs = w.fs.Crash(rand.New(rand.NewPCG(1, 1)), true) // all of it is durable
			e = w.open(t)
		}
		if n, _ := e.Stats(); n != 45 || e.Waiting("a") != 30 || strings.Join(e.Stores(), " ") != "a b" || (e.Bytes() > 0) != (w.fs != nil) {
			t.Errorf("%s: %d wait, %d of a, of %v, %d bytes", name, n, e.Waiting("a"), e.Stores(), e.Bytes())
		}
		if diff := cmp.Diff(numbers(0, 30), takeAll(t, e, "a")); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff(numbers(0, 15), takeAll(t, e, "b")); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if n, dropped := e.Stats(); n != 0 || dropped != 0 || e.Bytes() != 0 || len(e.Stores()) != 0 {
			t.Errorf("%s: %d wait, %d dropped, %d bytes", name, n, dropped, e.Bytes())
		}
		if w.fs != nil && len(w.fs.Paths("dir/")) != 0 {
			t.Errorf("%s: files %v", name, w.fs.Paths("dir/"))
		}
	}
}

// At the limits of number and bytes the oldest are dropped and counted; taken ones are not.
func TestLimits(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]*world{
		"memory": {limit: 100}, "disk": {limit: 100, fs: disktest.New()}, "bytes": {limit: 1000, bytes: 30_000, fs: disktest.New()},
	} {
		e := w.open(t)
		add(t, e, "a", 0, 5)
		g, _, err := e.Take("a")
		if err != nil || g == nil {
			t.Fatal(err)
		}
		add(t, e, "a", 5, 335)
		e.Return(g)
		n, dropped := e.Stats()
		if n+int(dropped) != 335 || n > 100 || n < 40 || w.bytes > 0 && e.Bytes() > w.bytes {
			t.Errorf("%s: %d wait, %d bytes, %d dropped", name, n, e.Bytes(), dropped)
		}
		want := append(numbers(0, 5), numbers(335-(n-5), 335)...)
		if diff := cmp.Diff(want, takeAll(t, e, "a")); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if got := strings.Count(w.log.String(), "index entities are dropped"); got != 1 {
			t.Errorf("%s: logged %d times", name, got)
		}
	}
}

// On a full disk the oldest are dropped; what does not fit at all is dropped and counted, and is no error.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	w := &world{limit: 1000, fs: disktest.New()}
	w.fs.Limit(16 << 10)
	e := w.open(t)
	add(t, e, "a", 0, 200)
	n, dropped := e.Stats()
	if n == 0 || dropped == 0 || n+int(dropped) != 200 {
		t.Errorf("%d wait, %d dropped", n, dropped)
	}
	if diff := cmp.Diff(numbers(200-n, 200), takeAll(t, e, "a")); diff != "" {
		t.Error(diff)
	}
	w.fs.Occupy(0)
	add(t, e, "a", 0, 3)
	if n, now := e.Stats(); n != 0 || now != dropped+3 {
		t.Errorf("%d wait, %d dropped, want 3 more than %d", n, now, dropped)
	}
}

// After any failed write or crash an entity whose Add returned is there, and others not twice.
func TestCrash(t *testing.T) {
	t.Parallel()
	for _, fault := range []disktest.Fault{disktest.Die, disktest.Tear} {
		for step := 1; ; step++ {
			w := &world{limit: 1000, fs: disktest.New()}
			e := w.open(t)
			w.fs.Arm(step, fault)
			added := 0
			var err error
			for ; added < 5 && err == nil; added++ {
				err = e.Add("a", entity(added))
			}
			if err == nil {
				break
			}
			added--
			w.fs = w.fs.Crash(rand.New(rand.NewPCG(1, uint64(step))), true)
			got := takeAll(t, w.open(t), "a")
			if len(got) < added || len(got) > added+1 || cmp.Diff(numbers(0, len(got)), got) != "" {
				t.Errorf("step %d: %d were added, got %v", step, added, got)
			}
			if w.log.Len() > 0 {
				t.Errorf("step %d: logged %s", step, &w.log)
			}
		}
	}
}

// A damaged file loses what follows the damage, which is logged once. A file that cannot be opened ends Open.
func TestDamage(t *testing.T) {
	t.Parallel()
	w := &world{limit: 1000, fs: disktest.New()}
	add(t, w.open(t), "a", 0, 4)
	path := w.fs.Paths("dir/")[0]
	var size int
	w.fs.Change(path, func(data []byte) []byte { size = len(data); return data })
	w.fs.Change(path, func(data []byte) []byte { data[size*5/8] ^= 1; return data })
	for range 2 {
		e := w.open(t)
		if n, _ := e.Stats(); n != 2 {
			t.Errorf("%d intact, want 2", n)
		}
	}
	if got := strings.Count(w.log.String(), "damaged"); got != 1 {
		t.Errorf("logged %d times: %s", got, &w.log)
	}
	if n, err := unindexed.Count(w.fs, "dir"); n != 2 || err != nil {
		t.Errorf("count %d, %v", n, err)
	}
	w.fs.FailOpen(path, syscall.EIO)
	_, err := unindexed.Open(t.Context(), unindexed.Options{Dir: "dir", FS: w.fs, Limit: 10, Log: slog.New(slog.DiscardHandler)})
	if !errors.Is(err, syscall.EIO) {
		t.Errorf("error %v", err)
	}
}
