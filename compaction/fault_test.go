package compaction_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"logstow/blobnaming"
	"logstow/catalog"
	"logstow/columns"
	"logstow/compaction"
	"logstow/internal/test/testrand"
	"logstow/store"
)

// faulty is a store whose requests a test changes: a function that is set is called in place
// of the store's, with what makes the request.
type faulty struct {
	store.Store
	create func(name string, do func() (string, error)) (string, error)
	read   func(name string, do func() ([]byte, error)) ([]byte, error)
	list   func(prefix string) error
	delete func(refs []store.BlobRef, do func() error) error
	upsert func(do func() error) error
	remove func(do func() error) error
}

func (f *faulty) Blobs() store.Blobs     { return faultyBlobs{f.Store.Blobs(), f} }
func (f *faulty) Compacted() store.Blobs { return faultyBlobs{f.Store.Compacted(), f} }
func (f *faulty) Tables() store.Tables   { return faultyTables{f.Store.Tables(), f} }

// tables is store.Tables under a name that is none of its methods.
type tables = store.Tables

type faultyTables struct {
	tables
	f *faulty
}

func (t faultyTables) Upsert(ctx context.Context, table string, entities []store.Entity) error {
	do := func() error { return t.tables.Upsert(ctx, table, entities) }
	if t.f.upsert == nil {
		return do()
	}
	return t.f.upsert(do)
}

func (t faultyTables) Remove(ctx context.Context, table string, keys []store.Key) error {
	do := func() error { return t.tables.Remove(ctx, table, keys) }
	if t.f.remove == nil {
		return do()
	}
	return t.f.remove(do)
}

type faultyBlobs struct {
	store.Blobs
	f *faulty
}

func (b faultyBlobs) Create(ctx context.Context, name string, body []byte, opts store.CreateOptions) (string, error) {
	do := func() (string, error) { return b.Blobs.Create(ctx, name, body, opts) }
	if b.f.create == nil {
		return do()
	}
	return b.f.create(name, do)
}

func (b faultyBlobs) Read(ctx context.Context, ref store.BlobRef, off, n int64) ([]byte, error) {
	do := func() ([]byte, error) { return b.Blobs.Read(ctx, ref, off, n) }
	if b.f.read == nil {
		return do()
	}
	return b.f.read(ref.Name, do)
}

func (b faultyBlobs) List(ctx context.Context, prefix string) iter.Seq2[[]store.Blob, error] {
	return func(yield func([]store.Blob, error) bool) {
		if b.f.list != nil {
			if err := b.f.list(prefix); err != nil {
				yield(nil, err)
				return
			}
		}
		for page, err := range b.Blobs.List(ctx, prefix) {
			if !yield(page, err) {
				return
			}
		}
	}
}

func (b faultyBlobs) Delete(ctx context.Context, refs []store.BlobRef) error {
	do := func() error { return b.Blobs.Delete(ctx, refs) }
	if b.f.delete == nil {
		return do()
	}
	return b.f.delete(refs, do)
}

func failure(class error) error {
	return &store.Error{Op: "try", Object: "it", Class: class, RetryAfter: 0}
}

// wants fails the test unless a store reads as before.
func wants(t *testing.T, s store.Store, want []string) {
	t.Helper()
	if diff := gocmp.Diff(want, readAll(t, s)); diff != "" {
		t.Fatalf("(-before +after):\n%s", diff)
	}
}

func TestLostResponse(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	newFleet(t, s, testrand.New(t), "web").fill(hour(), 3, 30)
	want := readAll(t, s)
	creates := 0
	f := &faulty{Store: s, create: func(_ string, do func() (string, error)) (string, error) {
		etag, err := do()
		if creates++; creates == 1 && err == nil {
			return "", failure(store.ErrUnavailable)
		}
		return etag, err
	}}
	if r := run(t, f, options(t)); r.Outputs != 1 || r.Conflicts != 0 || r.Removed != 30 || creates != 2 {
		t.Errorf("%d creates, %+v", creates, r)
	}
	wants(t, s, want)
}

// While one compaction is about to create its output, another does everything.
func TestConflict(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change             func(o *compaction.Options)
		outputs, conflicts int64
	}{
		"the same output":       {func(*compaction.Options) {}, 1, 0},
		"another output":        {func(o *compaction.Options) { o.Columns = &columns.Options{Share: 10} }, 0, 1},
		"other inputs":          {func(o *compaction.Options) { o.Limits.Inputs = 10 }, 0, 1},
		"inputs that are there": {func(o *compaction.Options) { o.Limits.Inputs = 10; o.KeepInputs = true }, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openStore(t)
			newFleet(t, s, testrand.New(t), "web").fill(hour(), 3, 30)
			want := readAll(t, s)
			other := options(t)
			c.change(&other)
			first := true
			f := &faulty{Store: s, create: func(_ string, do func() (string, error)) (string, error) {
				if first {
					first = false
					run(t, s, other)
					wants(t, s, want)
				}
				return do()
			}}
			if r := run(t, f, options(t)); r.Outputs != c.outputs || r.Conflicts != c.conflicts {
				t.Errorf("%+v", r)
			}
			wants(t, s, want)
			for _, name := range names(t, s) {
				if _, err := blobnaming.Parse(name); err == nil {
					t.Errorf("%s remains", name)
				}
			}
		})
	}
}

// If another compaction takes the name for other segments, the finished output becomes the next generation.
func TestDisjointConflict(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	web := newFleet(t, s, testrand.New(t), "web")
	web.fill(hour(), 3, 30)
	until := func(end time.Time) compaction.Options {
		o := options(t)
		o.To, o.Limits.Pending = end, 1
		return o
	}
	var want []string
	f := &faulty{Store: s, create: func(_ string, do func() (string, error)) (string, error) {
		if want == nil {
			web.fill(hour().Add(-2*time.Hour), 3, 10)
			want = readAll(t, s)
			if r := run(t, s, until(hour())); r.Outputs != 1 || r.Inputs != 10 {
				t.Errorf("%+v", r)
			}
		}
		return do()
	}}
	if r := run(t, f, until(hour().Add(time.Hour))); r.Outputs != 1 || r.Inputs != 30 || r.Conflicts != 0 || r.Removed != 30 {
		t.Errorf("%+v", r)
	}
	wants(t, s, want)
	if all := names(t, s); len(all) != 2 {
		t.Errorf("%q remain", all)
	}
}

// What another compaction, or retention, deletes while it is merged or read back is no problem.
func TestVanishingInputs(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	newFleet(t, s, testrand.New(t), "web").fill(hour(), 3, 30)
	var reads atomic.Int64
	f := &faulty{Store: s, read: func(name string, do func() ([]byte, error)) ([]byte, error) {
		if n := reads.Add(1); n%10 == 9 && n < 40 {
			if err := deleteAll(t.Context(), s, name); err != nil {
				t.Error(err)
			}
		}
		return do()
	}}
	if r := run(t, f, options(t)); r.Outputs != 1 || r.Inputs >= 30 || r.Inputs < 25 || r.Removed != r.Inputs {
		t.Errorf("%+v", r)
	}
	if all := names(t, s); len(all) != 1 {
		t.Errorf("%q remain", all)
	}
}

// An hour of which retention deletes the outputs is left.
func TestGapIsLeft(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	f := newFleet(t, s, testrand.New(t), "web")
	f.fill(hour(), 3, 30)
	o := options(t)
	o.Limits.Inputs = 10
	if r := run(t, s, o); r.Outputs != 3 {
		t.Fatalf("%+v", r)
	}
	f.fill(hour(), 3, 30)
	if err := deleteAll(t.Context(), s, blobnaming.OutputName("web", hour(), "", 1).String()); err != nil {
		t.Fatal(err)
	}
	if r := run(t, s, o); r.Left != 1 || r.Outputs+r.Removed != 0 || len(names(t, s)) != 32 {
		t.Errorf("%+v", r)
	}
}

// A blob with the Batch of an input that is otherwise another is neither hidden nor removed.
func TestDifferentBlobOfABatch(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	f := newFleet(t, s, testrand.New(t), "web")
	f.fill(hour(), 3, 20)
	one := f.segment("pod-1", hour(), time.Hour, 50)
	f.store(one)
	run(t, s, options(t))
	other := f.segment("pod-1", hour(), time.Hour, 50)
	other.meta.Batch = one.meta.Batch
	f.store(other)
	report := run(t, s, options(t))
	if report.Outputs+report.Removed != 0 || !slices.Equal(report.Different, []string{other.name.String()}) {
		t.Errorf("%+v", report)
	}
	segments, _ := list(t, s)
	if !slices.ContainsFunc(segments, func(s catalog.Segment) bool { return s.Name == other.name }) {
		t.Error("it is gone")
	}
}

// What took the name of an input since it was listed is not removed for it.
func TestRemovalIsOfWhatWasListed(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	f := newFleet(t, s, testrand.New(t), "web")
	f.fill(hour(), 3, 30)
	other := f.segment("pod-7", hour(), time.Hour, 9)
	fs := &faulty{Store: s, delete: func(refs []store.BlobRef, do func() error) error {
		name, err := blobnaming.Parse(refs[3].Name)
		if err != nil {
			t.Error(err)
		}
		other.name = name
		if err := deleteAll(t.Context(), s, refs[3].Name); err != nil {
			t.Error(err)
		}
		f.store(other)
		return do()
	}}
	run(t, fs, options(t))
	if all := names(t, s); len(all) != 2 || !slices.Contains(all, other.name.String()) {
		t.Errorf("%q remain", all)
	}
}

func TestHeldInputsStay(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	newFleet(t, s, testrand.New(t), "web").fill(hour(), 3, 30)
	want := readAll(t, s)
	f := &faulty{Store: s, delete: func(refs []store.BlobRef, _ func() error) error {
		return &store.Error{Op: "delete", Object: refs[0].Name, Class: store.ErrHeld, Count: len(refs)}
	}}
	if r := run(t, f, options(t)); r.Outputs != 1 || r.Removed != 0 || r.Held != 30 || len(names(t, s)) != 31 {
		t.Errorf("%+v", r)
	}
	f.delete = func(refs []store.BlobRef, _ func() error) error {
		held := &store.Error{Op: "delete", Object: refs[0].Name, Class: store.ErrHeld, Count: 2}
		return errors.Join(held, s.Blobs().Delete(t.Context(), refs[2:]))
	}
	if r := run(t, f, options(t)); r.Outputs != 0 || r.Removed != 28 || r.Held != 2 || len(names(t, s)) != 3 {
		t.Errorf("%+v", r)
	}
	wants(t, s, want)
}

// Nothing is removed unless its output is in the index.
func TestNoIndexNoRemoval(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	newFleet(t, s, testrand.New(t), "web").fill(hour(), 3, 30)
	want := readAll(t, s)
	f := &faulty{Store: s, upsert: func(func() error) error { return failure(store.ErrAccessDenied) }}
	report, err := compaction.Run(t.Context(), f, options(t))
	if !errors.Is(err, store.ErrAccessDenied) || report.Outputs != 1 || report.Removed != 0 || len(names(t, s)) != 31 {
		t.Errorf("error %v, %+v", err, report)
	}
	wants(t, s, want)
}

// A store that forgets outputs is not filled with them.
func TestForgottenOutputEndsTheDay(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	newFleet(t, s, testrand.New(t), "web").fill(hour(), 3, 30)
	f := &faulty{Store: s, create: func(name string, do func() (string, error)) (string, error) {
		etag, err := do()
		return etag, errors.Join(err, deleteAll(t.Context(), s, name))
	}}
	report, err := compaction.Run(t.Context(), f, options(t))
	if err != nil || report.Err() == nil || report.Outputs != 1 || report.Removed != 0 || len(names(t, s)) != 30 {
		t.Errorf("error %v, problems %v, %+v", err, report.Err(), report)
	}
}
