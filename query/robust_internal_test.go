package query

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"logstow/internal/test/effort"
	"logstow/internal/test/heap"

	"github.com/google/go-cmp/cmp"

	"logstow/blobnaming"
	"logstow/record"
	"logstow/store"
	"logstow/tableindex"
)

// A prefix that cannot be listed costs its month only; where nothing can be listed, that is reported once.
func TestListingFailures(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rand.New(rand.NewPCG(1, 1)), false)
	for i := range 6 {
		w.add("a", "i", 0, w.salt(), small(origin().Add(time.Duration(i)*time.Hour), "one"))
	}
	sel := Selection{From: origin(), To: origin().Add(6 * time.Hour), Services: []string{"a"}}
	for _, c := range []struct {
		refused         string
		class           error
		lines, problems int
	}{
		{"list a/2025/12/31/23", store.ErrAccessDenied, 4, 1},
		{"list a/2026/01/01/0", store.ErrAccessDenied, 2, 1},
		{"list a/", store.ErrAccessDenied, 0, 1},
		{"list a/", store.ErrUnavailable, 0, 1},
	} {
		w.memory.fail = func(op, object string) error {
			if strings.HasPrefix(op+" "+object, c.refused) {
				return &store.Error{Op: op, Object: object, Class: c.class}
			}
			return nil
		}
		q := w.query(sel, Options{})
		lines, problems := got(t, q), q.Report().Problems
		if len(lines) != c.lines || len(problems) != c.problems || !errors.Is(problems[0], c.class) {
			t.Errorf("%s: %d lines, problems %v", c.refused, len(lines), problems)
		}
	}
}

// brokenTables gives one entity of each query a property that cannot be read.
type brokenTables struct{ store.TableReader }

func (b brokenTables) Query(ctx context.Context, table string, q store.Query) iter.Seq2[[]store.Entity, error] {
	return func(yield func([]store.Entity, error) bool) {
		for page, err := range b.TableReader.Query(ctx, table, q) {
			if len(page) > 0 {
				page[0].Properties = maps.Clone(page[0].Properties)
				page[0].Properties["Size"] = "large"
			}
			if !yield(page, err) {
				return
			}
		}
	}
}

// An entity that cannot be read is a problem; the others are used.
func TestMalformedEntity(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rand.New(rand.NewPCG(1, 1)), true)
	for i := range 5 {
		w.add("a", "i", 0, w.salt(), small(origin(), fmt.Sprint(i)))
	}
	w.indexed()
	s := Store{Name: "memory", Container: "c", Blobs: w.memory, Tables: brokenTables{w.tables.Tables()}}
	q, err := New([]Store{s}, wholeDay(), Options{Plan: PlanIndex})
	if err != nil {
		t.Fatal(err)
	}
	lines, problems := got(t, q), q.Report().Problems
	var malformed *tableindex.EntityError
	if len(lines) != 4 || len(problems) != 1 || !errors.As(problems[0], &malformed) {
		t.Errorf("%q, problems %v", lines, problems)
	}
}

// An entity of a segment that is gone neither counts nor reaches a limit.
func TestStaleIndexIsNotCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rand.New(rand.NewPCG(1, 1)), true)
	gone := w.add("a", "i", 0, w.salt(), small(origin(), "1", "2", "3"))
	w.add("a", "i", 0, w.salt(), small(origin().Add(time.Hour), "there"))
	w.indexed()
	delete(w.memory.blobs, gone.name.String())
	delete(w.memory.bodies, gone.name.String())
	sel := wholeDay()
	sel.Limit = 1
	q := w.query(sel, Options{Plan: PlanIndex})
	p, err := q.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n, err := q.Count(t.Context(), p); n != 1 || err != nil {
		t.Errorf("%d records counted, %v", n, err)
	}
	if lines := got(t, w.query(sel, Options{Plan: PlanIndex})); len(lines) != 1 {
		t.Errorf("%q", lines)
	}
}

// Newest that fails in one store leaves nothing running in another.
func TestNewestFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, rand.New(rand.NewPCG(1, 1)), false)
		w.add("a", "i", 0, w.salt(), small(origin(), "one"))
		returned := make(chan struct{})
		var late atomic.Bool
		w.memory.fail = func(_, object string) error {
			if object == "a/" {
				<-returned
				late.Store(true)
			}
			return nil
		}
		refused := newMemory()
		refused.fail = func(string, string) error { return &store.Error{Class: store.ErrAccessDenied} }
		q, err := New([]Store{{Name: "1", Blobs: w.memory}, {Name: "2", Blobs: refused}}, wholeDay(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, _, err := q.Newest(t.Context()); !errors.Is(err, store.ErrAccessDenied) {
			t.Error(err)
		}
		close(returned)
		synctest.Wait()
		if late.Load() {
			t.Error("a request was sent after Newest returned")
		}
	})
}

// The footer's sources determine which segments need not be read.
func TestSourcesPrune(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rand.New(rand.NewPCG(1, 1)), false)
	records := small(origin(), "one")
	w.add("a", "i", 0, w.salt(), records)
	records[0].Source = "other/b.log"
	w.add("a", "i", 0, w.salt(), records)
	sel := wholeDay()
	sel.Sources = []string{"other/*"}
	q := w.query(sel, Options{})
	if lines := got(t, q); len(lines) != 1 || q.Report().BlocksRead != 1 {
		t.Errorf("%q, %d blocks read", lines, q.Report().BlocksRead)
	}
}

// With several stores a problem names its own.
func TestProblemNamesStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rand.New(rand.NewPCG(1, 1)), false)
	b := w.add("a", "i", 0, w.salt(), small(origin(), "one"))
	w.memory.bodies[b.name.String()] = bytes.Repeat([]byte{1}, len(b.bodies[0]))
	q, err := New([]Store{{Name: "/first", Blobs: w.memory}, {Name: "/second", Blobs: newMemory()}}, wholeDay(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	got(t, q)
	if p := q.Report().Problems; len(p) != 1 || p[0].Object != "/first: "+b.name.String() {
		t.Errorf("problems %v", p)
	}
}

// copying is a reader whose answers are its caller's alone.
type copying struct{ *memory }

func (c copying) Read(ctx context.Context, ref store.BlobRef, off, n int64) ([]byte, error) {
	data, err := c.memory.Read(ctx, ref, off, n)
	return bytes.Clone(data), err
}

// Blocks that were searched are not held. Not parallel: it measures the heap.
func TestReadBlocksAreFreed(t *testing.T) { //nolint:paralleltest // it measures the heap
	effort.Need(t, effort.Full, "reads many blocks")
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2)) // each worker holds a block
	w := newWorld(t, rand.New(rand.NewPCG(1, 1)), false)
	const records, size = 80, 1 << 20
	var all []record.Record
	for i := range records {
		message := make([]byte, size)
		for j := range message {
			message[j] = byte(w.rnd.Uint32())
		}
		all = append(all, record.Record{Time: origin().UnixNano() + int64(i), Source: "a", Message: message})
	}
	w.add("a", "i", size, w.salt(), all)
	clear(all)
	q, err := New([]Store{{Name: "memory", Blobs: copying{w.memory}}}, wholeDay(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := q.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	before, n := heap.Live(), 0
	if err := q.Run(t.Context(), p, func(Match) error {
		if n++; n != records*3/4 {
			return nil
		}
		if grown := heap.Live() - before; grown > records*size/2 {
			t.Errorf("%d MiB are held at record %d", grown>>20, n)
		}
		return nil
	}); err != nil || n != records {
		t.Errorf("%d records, %v", n, err)
	}
}

// many lists segments that it makes as it goes.
type many struct {
	store.BlobReader
	meta blobnaming.Metadata
	n    int
	end  func()
}

func (m many) List(context.Context, string) iter.Seq2[[]store.Blob, error] {
	return func(yield func([]store.Blob, error) bool) {
		meta := m.meta
		for i := range m.n {
			name := blobnaming.Name{Service: "a", Bucket: origin(), Number: uint64(i + 1)}
			meta.Seq++
			meta.Batch[0], meta.Batch[1], meta.Batch[2] = byte(i), byte(i>>8), byte(i>>16)
			if !yield([]store.Blob{{Name: name.String(), Size: 1000, Metadata: meta.Encode()}}, nil) {
				return
			}
		}
		m.end()
	}
}

// A plan holds little of each segment: 100,000 fit beside all else into 128 MiB.
func TestPlanIsSmall(t *testing.T) { //nolint:paralleltest // it measures the heap
	w := newWorld(t, rand.New(rand.NewPCG(1, 1)), false)
	b := w.add("a", strings.Repeat("instance", 10), 0, w.salt(), small(origin(), "one"))
	const segments = 20_000
	var before, listed int64
	s := Store{Name: "many", Blobs: many{w.memory, b.meta, segments, func() { listed = heap.Live() }}}
	sel := Selection{Services: []string{"a"}, From: origin(), To: origin().Add(time.Hour)}
	q, err := New([]Store{s}, sel, Options{})
	if err != nil {
		t.Fatal(err)
	}
	before = heap.Live()
	p, err := q.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, after := range []int64{listed, heap.Live()} {
		if each := (after - before) / segments; each > 500 || len(p.Segments) != segments {
			t.Errorf("%d bytes for each of %d segments", each, len(p.Segments))
		}
	}
	runtime.KeepAlive(p)
}

// A service that can be none is a mistake, not an empty answer.
func TestServiceNames(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{
		"web": true, "web*": true, "{web,api}": true, "a.b_c-1": true, "Web": false, "web,api": false, "": false, "a/b": false, "../x": false,
	} {
		sel := wholeDay()
		sel.Services = []string{name}
		_, err := New(nil, sel, Options{})
		if diff := cmp.Diff(ok, err == nil); diff != "" || err != nil && !errors.Is(err, ErrSelection) {
			t.Errorf("%q: %v", name, err)
		}
	}
}
