package compaction_test

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
	"logstow/query"
	"logstow/query/source"
	"logstow/store"
)

// moving are blobs of which a compaction creates the outputs and removes the inputs while they are
// read: at numbered requests, each page of a listing being one.
type moving struct {
	store            store.Store
	created, removed int64 // requests before that
	requests         atomic.Int64
	pageSize         int
	contained        map[string]bool // inputs
	damage           func(name string, off int64, data []byte)
	damaged          string // the damaged output, which may be reported
}

// movingBlobs is one of the containers of moving.
type movingBlobs struct {
	store.BlobReader
	m         *moving
	compacted bool
}

// open is the store for a query.
func (m *moving) open() query.Store {
	reader := query.ReadOnly(m.store)
	reader.Blobs, reader.Compacted = movingBlobs{reader.Blobs, m, false}, movingBlobs{reader.Compacted, m, true}
	return reader
}

// hides reports whether a blob is not there at a request.
func (b movingBlobs) hides(name string, request int64) bool {
	if b.compacted {
		return request < b.m.created
	}
	return b.m.contained[name] && request >= b.m.removed
}

func (b movingBlobs) Read(ctx context.Context, ref store.BlobRef, off, n int64) ([]byte, error) {
	if b.hides(ref.Name, b.m.requests.Add(1)) {
		return nil, fmt.Errorf("blob %s: %w", ref.Name, store.ErrNotFound)
	}
	data, err := b.BlobReader.Read(ctx, ref, off, n)
	if err == nil && b.m.damage != nil {
		data = slices.Clone(data)
		b.m.damage(ref.Name, off, data)
	}
	return data, err
}

func (b movingBlobs) List(ctx context.Context, prefix string) iter.Seq2[[]store.Blob, error] {
	return func(yield func([]store.Blob, error) bool) {
		var all []store.Blob
		for page, err := range b.BlobReader.List(ctx, prefix) {
			if err != nil {
				yield(nil, err)
				return
			}
			all = append(all, page...)
		}
		for len(all) > 0 {
			request := b.m.requests.Add(1)
			var page []store.Blob
			for len(all) > 0 && len(page) < b.m.pageSize {
				if !b.hides(all[0].Name, request) {
					page = append(page, all[0])
				}
				all = all[1:]
			}
			if !yield(page, nil) {
				return
			}
		}
	}
}

// movingStore is a fleet's store with outputs and all inputs, the names of the inputs, and a query's range.
func movingStore(t *testing.T, rnd *rand.Rand) (s store.Store, inputs map[string]bool, ask func(m *moving, sel query.Selection, plan string) map[string]string) {
	t.Helper()
	s = openStore(t)
	web := newFleet(t, s, rnd, "web")
	web.padding = 800 // outputs are read in parts
	web.fill(hour(), 20, 40)
	web.fill(hour().Add(time.Hour), 20, 20)
	inputs = make(map[string]bool)
	for _, name := range names(t, s) {
		inputs[name] = true
	}
	o := options(t)
	o.KeepInputs, o.Limits.Target = true, 300<<10
	if made := run(t, s, o); made.Outputs < 3 || made.Inputs != 60 {
		t.Fatalf("%+v", made)
	}
	ask = func(m *moving, sel query.Selection, plan string) map[string]string {
		t.Helper()
		m.store = s
		texts := make(map[string]string)
		for _, kind := range []string{"records", "context", "count", "stats", "patterns"} {
			m.requests.Store(0)
			q, err := query.New([]query.Store{m.open()}, sel, query.Options{Plan: plan, Memory: 32 << 10, TempDir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			p, err := q.Plan(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			emit := func(match query.Match) error {
				fmt.Fprintf(&b, "%s %v %s\n", match.Instance, match.Context, match.Line)
				return nil
			}
			switch kind {
			case "records":
				err = q.Run(t.Context(), p, emit)
			case "context":
				err = q.RunContext(t.Context(), p, query.ContextLines{Before: 1, After: 2}, emit)
			case "count":
				var n uint64
				n, err = q.Count(t.Context(), p)
				fmt.Fprint(&b, n)
			case "stats":
				fmt.Fprint(&b, countBy(t, q, p, "instance", "minute"))
			case "patterns":
				b.WriteString(templates(t, q, p, sel))
			}
			report := q.Report()
			damaged := func(p *source.Problem) bool { return m.damaged != "" && strings.Contains(p.Error(), m.damaged) }
			if err != nil || len(slices.DeleteFunc(report.Problems, damaged)) > 0 {
				t.Fatalf("created at %d, removed at %d, plan by %s, %s: %v, %v", m.created, m.removed, plan, kind, report.Problems, err)
			}
			texts[kind] = b.String()
		}
		return texts
	}
	return s, inputs, ask
}

func movingSelections() []query.Selection {
	all := query.Selection{From: hour(), To: hour().Add(2 * time.Hour)}
	newest, some := all, all
	newest.Newest, newest.Limit = true, 100
	some.Patterns, some.From = []string{"pod-7"}, hour().Add(10*time.Minute)
	day := all // a listing of another prefix
	day.From, day.To = hour().Truncate(24*time.Hour), hour().Truncate(24*time.Hour).Add(48*time.Hour)
	return []query.Selection{all, newest, some, day}
}

// A query that compaction overtakes, at any request and between any pages of a listing, answers as
// without it.
func TestLongOvertaken(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "asks with a compaction at each request")
	rnd := testrand.New(t)
	_, inputs, ask := movingStore(t, rnd)
	trials := effort.Cases{Full: 4, Long: 200}.N()
	for _, sel := range movingSelections() {
		for _, plan := range []string{query.PlanList, query.PlanIndex} {
			m := &moving{created: 1 << 60, removed: 1 << 60, pageSize: 1 + rnd.IntN(20), contained: inputs}
			want := ask(m, sel, plan)
			most := m.requests.Load() * 3 / 2
			for range trials {
				m.created = rnd.Int64N(most)
				m.removed = m.created + rnd.Int64N(3)*rnd.Int64N(most)/2
				for kind, text := range ask(m, sel, plan) {
					if text != want[kind] {
						t.Fatalf("created at %d, removed at %d, plan by %s, %+v: %s differ:\n%s", m.created, m.removed, plan, sel, kind, firstDifference(text, want[kind]))
					}
				}
			}
		}
	}
}

// A bit that flips anywhere in an output changes no answer while its inputs are there, and is noted.
func TestLongDamagedOutput(t *testing.T) {
	effort.Need(t, effort.Test, "one goroutine, which takes seconds under the race detector")
	t.Parallel()
	rnd := testrand.New(t)
	s, inputs, ask := movingStore(t, rnd)
	flips := effort.Cases{Test: 1, Full: 8, Long: 1000}.N()
	var outputs []string
	for _, name := range names(t, s) {
		if !inputs[name] {
			outputs = append(outputs, name)
		}
	}
	sizes := make(map[string]int64)
	segments, _ := list(t, s)
	for _, listed := range segments {
		sizes[listed.Name.String()] = listed.Size
	}
	for _, sel := range movingSelections() {
		m := &moving{removed: 1 << 60, pageSize: 1000, contained: inputs}
		want := ask(m, sel, query.PlanList)
		for range flips {
			output := outputs[rnd.IntN(len(outputs))]
			at, bit := rnd.Int64N(sizes[output]), byte(1)<<rnd.IntN(8)
			m.damaged = output
			m.damage = func(name string, off int64, data []byte) {
				if name == output && at >= off && at < off+int64(len(data)) {
					data[at-off] ^= bit
				}
			}
			for kind, text := range ask(m, sel, query.PlanList) {
				if text != want[kind] {
					t.Fatalf("bit of byte %d of %s: %s differ:\n%s", at, output, kind, firstDifference(text, want[kind]))
				}
			}
		}
	}
}

// firstDifference is the first line in which texts differ.
func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d of %d is\n%.300s\nwant of %d\n%.300s", i, len(a), a[i], len(b), b[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(a), len(b))
}
