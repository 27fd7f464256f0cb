package storage_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"logstow/internal/test/testrand"
	"logstow/logql/engine"
	"logstow/logql/storage"
	"logstow/record"
	"logstow/store"
)

// tailing is a Tail whose polls a test makes one by one.
type tailing struct {
	t       testing.TB
	polled  chan error // the end of a poll, or of all
	next    chan struct{}
	mu      sync.Mutex
	lines   []string
	running sync.WaitGroup
}

// tail begins to follow the records from a time on, and makes the first poll.
func tail(w *world, query string, from time.Time, limit int) *tailing {
	w.t.Helper()
	return tailView(w, w.view(storage.Access{}), query, from, limit)
}

func tailView(w *world, view *storage.View, query string, from time.Time, limit int) *tailing {
	w.t.Helper()
	f := &tailing{t: w.t, polled: make(chan error), next: make(chan struct{})}
	ctx, cancel := context.WithCancel(w.t.Context())
	log := parse(w.t, query)
	f.running.Go(func() {
		err := view.Tail(ctx, log, from.UnixNano(), limit, time.Millisecond, func(e *engine.Entry) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.lines = append(f.lines, string(e.Line))
			return nil
		}, func() error {
			select {
			case f.polled <- nil:
			case <-ctx.Done():
			}
			select {
			case <-f.next:
			case <-ctx.Done():
			}
			return nil
		})
		select {
		case f.polled <- err:
		case <-ctx.Done():
		}
	})
	w.t.Cleanup(func() {
		cancel()
		f.running.Wait()
	})
	f.wait()
	return f
}

// wait waits for the end of a poll.
func (f *tailing) wait() {
	f.t.Helper()
	select {
	case err := <-f.polled:
		if err != nil {
			f.t.Fatal(err)
		}
	case <-time.After(time.Minute):
		f.t.Fatal("a poll does not end")
	}
}

// found are the lines emitted since the last call.
func (f *tailing) found() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	found := f.lines
	f.lines = nil
	return found
}

// poll makes a poll, and returns the lines that it emitted.
func (f *tailing) poll() []string {
	f.t.Helper()
	select {
	case f.next <- struct{}{}:
	case err := <-f.polled:
		f.t.Fatalf("it ended: %v", err)
	}
	f.wait()
	return f.found()
}

func (f *tailing) want(got []string, want ...string) {
	f.t.Helper()
	if !slices.Equal(got, want) {
		f.t.Errorf("emitted %q\nwant %q", got, want)
	}
}

// newTailWorld is a world at half past the first hour.
func newTailWorld(t *testing.T) *world {
	w := newWorld(t, testrand.New(t))
	w.now = origin().Add(30 * time.Minute)
	return w
}

func TestTail(t *testing.T) {
	t.Parallel()
	w := newTailWorld(t)
	f := tail(w, `{service_name="api"} != "no"`, origin(), 3)
	f.want(f.found()) // there is no service yet
	w.ship("api", "a-0", minuteRecords(1, 5, "one")...)
	f.want(f.poll(), "one 0", "one 1", "one 2", "one 3", "one 4")
	w.ship("api", "a-1", minuteRecords(2, 2, "two")...)
	w.ship("api", "b", minuteRecords(0, 1, "late")...)
	w.ship("web", "b", minuteRecords(3, 1, "other")...)
	f.want(f.poll(), "late 0", "two 0", "two 1")
	w.compact() // what was read is in an output now
	f.want(f.poll())
	w.ship("api", "a-1", minuteRecords(4, 2, "three")...)
	w.compact() // and this was never seen as a segment
	f.want(f.poll(), "three 0", "three 1")
	w.now = origin().Add(61 * time.Minute) // the next hour
	w.ship("api", "a-1", minuteRecords(59, 1, "old")...)
	w.ship("api", "a-1", minuteRecords(60, 1, "new")...)
	f.want(f.poll(), "old 0", "new 0")
	w.now = origin().Add(4 * time.Hour)
	f.want(f.poll())
}

// The first poll emits the newest records only, in the order of time, and none of the older ones later.
func TestTailBeginsWithNewest(t *testing.T) {
	t.Parallel()
	w := newTailWorld(t)
	w.ship("api", "a-0", minuteRecords(1, 5, "one")...)
	w.ship("api", "a-1", minuteRecords(2, 5, "no")...)
	for limit, want := range map[int][]string{0: nil, 1: {"one 4"}, 3: {"one 2", "one 3", "one 4"}} {
		f := tail(w, `{service_name="api"} != "no"`, origin(), limit)
		f.want(f.found(), want...)
		f.want(f.poll())
	}
}

// What cannot be read for now is emitted by a later poll, and nothing is emitted twice.
func TestTailAfterFailures(t *testing.T) {
	t.Parallel()
	w := newTailWorld(t)
	blobs := w.reading.Blobs
	var fail func(op, object string) error
	failNow := func(op, object string) error {
		if fail != nil {
			return fail(op, object)
		}
		return nil
	}
	w.reading.Blobs, w.reading.Compacted = faulty{BlobReader: blobs, fail: failNow}, faulty{BlobReader: w.reading.Compacted, fail: failNow}
	w.ship("api", "a-0", minuteRecords(1, 2, "one")...)
	two := w.ship("api", "a-0", minuteRecords(2, 2, "two")...)

	fail = failing("list", "", store.ErrUnavailable) // services, too
	f := tail(w, `{service_name=~"a.*"}`, origin(), 10)
	f.want(f.found())
	fail = failing("read", two.Name, store.ErrUnavailable)
	f.want(f.poll(), "one 0", "one 1")
	fail = nil
	f.want(f.poll(), "two 0", "two 1")

	w.ship("api", "a-1", minuteRecords(3, 2, "three")...)
	fail = failing("list", "", store.ErrThrottled)
	f.want(f.poll())
	fail = nil
	f.want(f.poll(), "three 0", "three 1")

	four := w.ship("api", "a-1", minuteRecords(4, 2, "four")...)
	fail = failing("read", "", store.ErrUnavailable)
	f.want(f.poll())
	w.compact()
	if _, err := blobs.Read(t.Context(), store.BlobRef{Name: four.Name}, 0, 1); !errors.Is(err, store.ErrNotFound) {
		t.Fatal("nothing was compacted:", err)
	}
	f.want(f.poll())
	fail = nil
	f.want(f.poll(), "four 0", "four 1")

	fail = failing("list", "", store.ErrAccessDenied) // which no later poll changes
	f.next <- struct{}{}
	if err := <-f.polled; !errors.Is(err, storage.ErrIncomplete) || !errors.Is(err, store.ErrAccessDenied) {
		t.Error(err)
	}
}

// The newest records are emitted where others cannot be read.
func TestTailBeginsIncomplete(t *testing.T) {
	t.Parallel()
	w := newTailWorld(t)
	w.ship("api", "a-0", minuteRecords(1, 2, "one")...)
	bad := w.ship("api", "a-0", minuteRecords(2, 2, "two")...)
	w.reading.Blobs = faulty{BlobReader: w.reading.Blobs, fail: failing("read", bad.Name, store.ErrAccessDenied)}
	f := tail(w, `{service_name="api"}`, origin(), 3)
	f.want(f.found(), "one 0", "one 1")
	f.want(f.poll())
}

// A listing that lacks a segment for a time, as an older shared one does, repeats nothing.
func TestTailWithOlderListings(t *testing.T) {
	t.Parallel()
	w := newTailWorld(t)
	one := w.ship("api", "a-0", minuteRecords(1, 2, "one")...)
	hidden := ""
	w.reading.Blobs = hiding{w.reading.Blobs, &hidden}
	f := tail(w, `{service_name="api"}`, origin(), 10)
	f.want(f.found(), "one 0", "one 1")
	hidden = one.Name
	w.ship("api", "a-0", minuteRecords(2, 1, "two")...)
	f.want(f.poll(), "two 0")
	hidden = ""
	f.want(f.poll())
}

// hiding is blobs without one in listings.
type hiding struct {
	store.BlobReader
	name *string
}

func (h hiding) List(ctx context.Context, prefix string) iter.Seq2[[]store.Blob, error] {
	return func(yield func([]store.Blob, error) bool) {
		for page, err := range h.BlobReader.List(ctx, prefix) {
			if !yield(slices.DeleteFunc(slices.Clone(page), func(b store.Blob) bool { return b.Name == *h.name }), err) {
				return
			}
		}
	}
}

// watching notes what is watched.
type watching struct {
	services [][]string
	interval time.Duration
	normal   []time.Duration
}

func (w *watching) Watch(services []string) { w.services = append(w.services, slices.Clone(services)) }

func (w *watching) Interval(normal time.Duration) time.Duration {
	w.normal = append(w.normal, normal)
	return w.interval
}

// The services that each poll reads are watched: those that the selector selects and the request may read.
func TestTailWatches(t *testing.T) {
	t.Parallel()
	w := newTailWorld(t)
	w.ship("api", "a-0", minuteRecords(1, 1, "one")...)
	w.ship("web", "a-0", minuteRecords(1, 1, "two")...)
	for _, c := range [][]string{
		{`{service_name=~".+"}`, "api", "db-1"},
		{`{service_name=~".+"} | service_name != "api"`, "db-1"},
		{`{service="db-1", level="error"}`, "db-1"},
		{`{service_name=~"later|web"}`, "later"}, // it need not exist yet
		{`{service_name="web"}`},
		{`{service_name="../x"}`},
	} {
		query, want := c[0], c[1:]
		v := w.view(storage.Access{Services: []string{"a*", "d*", "later", "../*"}})
		var got watching
		v.Watch(&got)
		f := tailView(w, v, query, origin(), 10)
		if query == `{service_name=~".+"}` {
			if want := [][]string{{"api"}}; !slices.EqualFunc(got.services, want, slices.Equal) {
				t.Errorf("%s: watched %q at first", query, got.services)
			}
			w.ship("db-1", "a-0", minuteRecords(1, 1, "three")...)
		}
		f.poll()
		var last []string
		if len(got.services) > 0 {
			last = got.services[len(got.services)-1]
		}
		if !slices.Equal(last, want) {
			t.Errorf("%s: watched %q, want %q", query, got.services, want)
		}
		if len(got.normal) == 0 || got.normal[0] != time.Millisecond {
			t.Errorf("%s: asked for the interval by %v", query, got.normal)
		}
	}
}

// Random segments, compaction, failures and clocks: each record is emitted once.
func TestTailRandom(t *testing.T) {
	t.Parallel()
	w := newTailWorld(t)
	var fail func(op, object string) error
	w.reading.Blobs = faulty{BlobReader: w.reading.Blobs, fail: func(op, object string) error {
		if fail != nil {
			return fail(op, object)
		}
		return nil
	}}
	w.ship("api", "a-0", minuteRecords(1, 1, "first")...)
	f := tail(w, `{service_name=~".+"}`, origin(), 10)
	got := f.found()
	failures := 0
	for range 60 {
		fail = nil
		switch w.rnd.IntN(6) {
		case 0:
			w.compact()
		case 1:
			w.now = w.now.Add(time.Duration(w.rnd.IntN(10)) * time.Minute)
		case 2:
			if failures++; failures < 6 && len(w.parts) > 0 {
				object := pick(w.rnd, []string{"api/", "90", pick(w.rnd, w.parts).Name})
				fail = failing(pick(w.rnd, []string{"read", "read", "list"}), object, pick(w.rnd, []error{store.ErrUnavailable, store.ErrThrottled}))
			}
		default:
			minute := int(w.now.Sub(origin())/time.Minute) - w.rnd.IntN(20)
			text := strings.Repeat("x", w.rnd.IntN(100)) + string(rune('a'+len(w.parts)%26)) + string(rune('a'+len(w.parts)/26))
			records := minuteRecords(minute, 1+w.rnd.IntN(30), text)
			w.ship(pick(w.rnd, services()), pick(w.rnd, instances()), records...)
		}
		got = append(got, f.poll()...)
	}
	fail = nil
	got = append(got, f.poll()...)
	var want []string
	for _, r := range w.all {
		want = append(want, string(r.Message))
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%d records emitted, %d shipped", len(got), len(want))
	}
}

// Conditions on labels of streams apply, before a parser and behind one.
func TestTailFiltersStreams(t *testing.T) {
	t.Parallel()
	for _, stages := range []string{`| level="error"`, `| json | level="error"`, `| drop x | level="error"`} {
		w := newTailWorld(t)
		at := w.now.Add(-time.Minute).UnixNano()
		w.ship("api", "a-0", record.Record{Time: at, Level: record.Error, Message: []byte("one")}, record.Record{Time: at + 1, Level: record.Info, Message: []byte("two")})
		f := tail(w, `{service_name="api"} `+stages, origin(), 3)
		f.want(append(f.found(), f.poll()...), "one")
	}
}
