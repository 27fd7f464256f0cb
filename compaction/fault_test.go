package compaction_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"logstow/blobnaming"
	"logstow/catalog"
	"logstow/columns"
	"logstow/compaction"
	"logstow/internal/test/catalogtest"
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

// flip changes a bit of a stored blob.
func flip(t *testing.T, s store.Store, name string, bit func(size int64) int64) {
	t.Helper()
	for page, err := range catalogtest.Container(s, name).List(t.Context(), name) {
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range page {
			body, err := catalogtest.Container(s, name).Read(t.Context(), b.Ref(), 0, b.Size)
			if err != nil {
				t.Fatal(err)
			}
			at := bit(b.Size)
			body[at/8] ^= 1 << (at % 8)
			if err := catalogtest.Container(s, name).Delete(t.Context(), []store.BlobRef{b.Ref()}); err != nil {
				t.Fatal(err)
			}
			if _, err := catalogtest.Container(s, name).Create(t.Context(), b.Name, body, store.CreateOptions{Metadata: b.Metadata}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// The damage is in a block, which is in the first half of a segment: that of a token filter behind it does not
// matter, as the output gets another.
func TestDamagedInputIsLeftAndNamed(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	s := openStore(t)
	newFleet(t, s, rnd, "web").fill(hour(), 3, 30)
	segments, _ := list(t, s)
	damaged := segments[7].Name.String()
	// Anywhere in the blocks: the token filter of an input is not read.
	flip(t, s, damaged, func(int64) int64 { return rnd.Int64N((segments[7].Meta.Filter.Offset - 8) * 8) })
	report, err := compaction.Run(t.Context(), s, options(t))
	if err != nil || report.Err() != nil {
		t.Errorf("error %v, problems %v", err, report.Err())
	}
	if report.Outputs != 1 || report.Inputs != 29 || report.Removed != 29 || !slices.Equal(report.Damaged, []string{damaged}) {
		t.Errorf("%+v", report)
	}
	if all := names(t, s); len(all) != 2 || !slices.Contains(all, damaged) {
		t.Errorf("%q remain", all)
	}
}

// Whatever bit of an output is wrong, nothing is removed; rejected, it is made anew.
func TestDamagedOutputHalts(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	for name, region := range map[string]func(m blobnaming.Metadata, size int64) (from, to int64){
		"blocks": func(m blobnaming.Metadata, _ int64) (from, to int64) { return 0, m.Filter.Offset - 8 },
		"filter": func(m blobnaming.Metadata, _ int64) (from, to int64) {
			return m.Filter.Offset - 8, m.Filter.Offset + 100
		},
		"pages":   func(m blobnaming.Metadata, _ int64) (from, to int64) { return m.Origins - 20, m.Origins },
		"list":    func(m blobnaming.Metadata, _ int64) (from, to int64) { return m.Origins, m.Footer },
		"footer":  func(m blobnaming.Metadata, size int64) (from, to int64) { return m.Footer, size - 16 },
		"trailer": func(_ blobnaming.Metadata, size int64) (from, to int64) { return size - 16, size },
	} {
		from := rnd.Float64()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openStore(t)
			rnd := testrand.New(t)
			f := newFleet(t, s, rnd, "web")
			f.fill(hour(), 3, 30)
			newFleet(t, s, rnd, "other").fill(hour(), 3, 5)
			want := readAll(t, s)
			o := options(t)
			o.KeepInputs = true
			run(t, s, o)
			segments, _ := list(t, s)
			i := slices.IndexFunc(segments, func(s catalog.Segment) bool { return s.Meta.IsOutput() && s.Name.Service == "web" })
			output := segments[i]
			first, last := region(output.Meta, output.Size)
			flip(t, s, output.Name.String(), func(int64) int64 { return first*8 + int64(from*float64((last-first)*8)) })

			report, err := compaction.Run(t.Context(), s, options(t))
			if err != nil || !errors.Is(report.Err(), compaction.ErrDamaged) || len(report.Halted) != 1 || !strings.HasPrefix(report.Halted[0], "web/") {
				t.Fatalf("error %v, problems %v, %+v", err, report.Err(), report)
			}
			if report.Outputs != 0 || report.Removed != 5 {
				t.Errorf("%+v", report)
			}
			if err := compaction.Reject(t.Context(), s, output.Name.String()); err != nil {
				t.Fatal(err)
			}
			again := run(t, s, options(t))
			if again.Outputs != 1 || again.Inputs != 30 || again.Removed != 30 {
				t.Errorf("%+v", again)
			}
			if all := names(t, s); len(all) != 4 { // other's output, web's second, the rejected one and its marker
				t.Errorf("%q remain", all)
			}
			if err := deleteAll(t.Context(), s, output.Name.String()); err != nil { // it cannot be read
				t.Fatal(err)
			}
			wants(t, s, want)
		})
	}
}

func TestReject(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	newFleet(t, s, testrand.New(t), "web").fill(hour(), 3, 30)
	want := readAll(t, s)
	o := options(t)
	o.KeepInputs = true
	run(t, s, o)
	output := blobnaming.OutputName("web", hour(), "", 1)
	for range 2 { // again is no error
		if err := compaction.Reject(t.Context(), s, output.String()); err != nil {
			t.Fatal(err)
		}
	}
	wants(t, s, want)
	if r := run(t, s, options(t)); r.Outputs != 1 || r.Removed != 30 {
		t.Errorf("%+v", r)
	}
	wants(t, s, want)

	second := blobnaming.OutputName("web", hour(), "", 2)
	for name, wrong := range map[string]error{
		second.String(): compaction.ErrInputsGone,
		blobnaming.OutputName("web", hour(), "", 3).String():                               store.ErrNotFound,
		blobnaming.Name{Service: "web", Bucket: hour().Add(time.Hour), Number: 1}.String(): nil,
		"x": nil,
	} {
		err := compaction.Reject(t.Context(), s, name)
		if err == nil || wrong != nil && !errors.Is(err, wrong) {
			t.Errorf("%s: %v", name, err)
		}
	}
	wants(t, s, want)
	// An input that is removed just before the marker is there.
	third := openStore(t)
	newFleet(t, third, testrand.New(t), "web").fill(hour(), 3, 30)
	run(t, third, o)
	f := &faulty{Store: third, create: func(_ string, do func() (string, error)) (string, error) {
		run(t, third, options(t))
		return do()
	}}
	if err := compaction.Reject(t.Context(), f, output.String()); !errors.Is(err, compaction.ErrInputsGone) {
		t.Errorf("error %v", err)
	}
	if all := names(t, third); len(all) != 1 {
		t.Errorf("%q remain", all)
	}
}

// What is under an output's name and no output of the class halts it.
func TestNameInTheWay(t *testing.T) {
	t.Parallel()
	name := blobnaming.OutputName("web", hour(), "", 1)
	for what, metadata := range map[string]func(m map[string]string){
		"a plain segment": func(m map[string]string) { m["LogVersion"] = blobnaming.Version },
		"another class":   func(m map[string]string) { m["Class"] = "audit" },
		"no metadata":     func(m map[string]string) { clear(m) },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := openStore(t)
			f := newFleet(t, s, testrand.New(t), "web")
			f.fill(hour(), 3, 30)
			p := f.segment("pod-1", hour(), time.Hour, 5)
			p.meta.Origins = 1
			m := p.meta.Encode()
			metadata(m)
			if _, err := catalogtest.Container(s, name.String()).Create(t.Context(), name.String(), p.body, store.CreateOptions{Metadata: m}); err != nil {
				t.Fatal(err)
			}
			report, err := compaction.Run(t.Context(), s, options(t))
			if err != nil || report.Err() == nil || len(report.Halted) != 1 || report.Outputs+report.Removed != 0 {
				t.Errorf("error %v, problems %v, %+v", err, report.Err(), report)
			}
			if len(names(t, s)) != 31 {
				t.Error("something is gone")
			}
		})
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
