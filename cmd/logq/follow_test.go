package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"logstow/blobnaming"
	"logstow/internal/test/catalogtest"
	"logstow/internal/test/effort"
	"logstow/internal/units"
	"logstow/query"
	"logstow/query/follow"
	"logstow/query/output"
	"logstow/record"
	"logstow/segment"
	"logstow/store"
)

// shelf is a store in memory; as a reader, it is the raw container.
type shelf struct {
	mu     sync.Mutex
	blobs  []store.Blob
	bodies map[string][]byte
	added  int
	// merged are the inputs of outputs.
	merged map[string]bool
	// fail is the error of a request, and omit leaves a blob out of a listing; nil is never.
	fail func() error
	omit func(name string) bool
	// slow is how long the first listing takes.
	slow time.Duration
}

func (s *shelf) failure() error {
	if s.fail == nil {
		return nil
	}
	return s.fail()
}

func (s *shelf) Read(_ context.Context, ref store.BlobRef, off, n int64) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.failure(); err != nil {
		return nil, err
	}
	if s.bodies[ref.Name] == nil {
		return nil, &store.Error{Op: "read", Object: ref.Name, Class: store.ErrNotFound}
	}
	return s.bodies[ref.Name][off : off+n], nil
}

// half is one container of a shelf: the compacted one has the outputs.
type half struct {
	*shelf
	compacted bool
}

func (h half) has(b store.Blob) bool {
	_, err := blobnaming.Parse(b.Name)
	return (err != nil) == h.compacted
}

// store is the shelf as a store.
func (s *shelf) store() query.Store {
	return query.Store{Name: "shelf", Container: "logs", Blobs: s, Compacted: half{s, true}}
}

func (s *shelf) List(ctx context.Context, prefix string) iter.Seq2[[]store.Blob, error] {
	return half{s, false}.List(ctx, prefix)
}

func (s *shelf) ListPrefixes(ctx context.Context, prefix string) iter.Seq2[[]string, error] {
	return half{s, false}.ListPrefixes(ctx, prefix)
}

func (h half) List(_ context.Context, prefix string) iter.Seq2[[]store.Blob, error] {
	return func(yield func([]store.Blob, error) bool) {
		h.mu.Lock()
		slow := h.slow
		h.slow = 0
		h.mu.Unlock()
		time.Sleep(slow)
		h.mu.Lock()
		var page []store.Blob
		for _, b := range h.blobs {
			if h.has(b) && strings.HasPrefix(b.Name, prefix) && (h.omit == nil || !h.omit(b.Name)) {
				page = append(page, b)
			}
		}
		err := h.failure()
		h.mu.Unlock()
		slices.SortFunc(page, func(a, b store.Blob) int { return strings.Compare(a.Name, b.Name) })
		yield(page, err)
	}
}

func (h half) ListPrefixes(_ context.Context, prefix string) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		h.mu.Lock()
		var page []string
		for _, b := range h.blobs {
			rest, under := strings.CutPrefix(b.Name, prefix)
			if dir, _, deeper := strings.Cut(rest, "/"); h.has(b) && under && deeper && !slices.Contains(page, prefix+dir+"/") {
				page = append(page, prefix+dir+"/")
			}
		}
		h.mu.Unlock()
		slices.Sort(page)
		yield(page, nil)
	}
}

// add stores a segment of one record.
func (s *shelf) add(t *testing.T, at time.Time, message string) {
	t.Helper()
	var body bytes.Buffer
	s.added++
	name := blobnaming.Name{Service: "a", Bucket: at.UTC().Truncate(time.Hour), Number: uint64(s.added)}
	w := segment.NewWriter(&body, segment.Options{
		Service: "a", Instance: "i", Salt: [16]byte{1, byte(s.added >> 8), byte(s.added)},
		BucketStart: name.Bucket.Unix(), BucketWidth: 3600,
	})
	if err := w.Append(record.Record{Time: at.UnixNano(), Source: "-", Message: []byte(message)}); err != nil {
		t.Fatal(err)
	}
	meta, err := w.Close(1)
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blobs = append(s.blobs, store.Blob{Name: name.String(), Size: int64(body.Len()), Metadata: meta.Encode(), Created: time.Now().Add(storageAhead)})
	s.bodies[name.String()] = body.Bytes()
}

// compact merges the plain segments of the day of the first one into the next output, and removes them.
func (s *shelf) compact(t *testing.T) {
	t.Helper()
	for _, b := range s.blobs {
		if first, err := blobnaming.Parse(b.Name); err == nil {
			s.remove(s.merge(t, first.Bucket.Truncate(24*time.Hour)))
			return
		}
	}
}

// remove removes blobs.
func (s *shelf) remove(names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blobs = slices.DeleteFunc(s.blobs, func(b store.Blob) bool { return slices.Contains(names, b.Name) })
	for _, name := range names {
		delete(s.bodies, name)
	}
}

// merge writes the next output of a day, of the plain segments that none contains yet, and returns their names.
func (s *shelf) merge(t *testing.T, day time.Time) (inputs []string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	var body bytes.Buffer
	type input struct {
		origin segment.Origin
		line   record.Line
	}
	var all []input
	generation := 1
	for _, b := range s.blobs {
		listed, err := catalogtest.NewSegment(b)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case !listed.Name.Bucket.Truncate(24*time.Hour).Equal(day) || s.merged[b.Name]:
			continue
		case listed.Meta.IsOutput():
			generation++
			continue
		}
		inputs = append(inputs, b.Name)
		stored := s.bodies[b.Name]
		f, err := segment.ReadFooter(t.Context(), func(_ context.Context, off, n int64) ([]byte, error) { return stored[off : off+n], nil }, b.Size, listed.Meta.Footer)
		if err != nil {
			t.Fatal(err)
		}
		text, err := segment.NewDecoder().DecodeBlock(nil, stored[:f.Blocks[0].Stored], f.Blocks[0])
		if err != nil {
			t.Fatal(err)
		}
		line, _, err := record.Next(text)
		if err != nil {
			t.Fatal(err)
		}
		o := segment.Origin{
			Bucket: listed.Name.Bucket.Unix(), Number: listed.Name.Number, Batch: listed.Meta.Batch, Start: listed.Meta.Start, End: listed.Meta.End,
			Records: 1, Size: b.Size, Instance: listed.Meta.Instance, Seq: listed.Meta.Seq, Levels: listed.Meta.Levels,
		}
		o.Sum.Add(line.Text)
		all = append(all, input{o, line})
	}
	slices.SortFunc(all, func(a, b input) int { return segment.CompareOrigins(a.origin, b.origin) })
	var origins []segment.Origin
	var lines []record.Line
	for _, one := range all {
		origins, lines = append(origins, one.origin), append(lines, one.line)
	}
	if len(inputs) == 0 {
		return nil
	}
	if s.merged == nil {
		s.merged = map[string]bool{}
	}
	for _, name := range inputs {
		s.merged[name] = true
	}
	name := blobnaming.OutputName("a", day, "", generation)
	w := segment.NewWriter(&body, segment.Options{
		Service: "a", Instance: blobnaming.OutputInstance,
		BucketStart: name.Bucket.Unix(), BucketWidth: 86400, Inputs: origins,
	})
	order := make([]int, len(lines))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(lines[a].Time, lines[b].Time) })
	for _, i := range order {
		if err := w.AppendLine(lines[i], i); err != nil {
			t.Fatal(err)
		}
	}
	meta, err := w.Close(1)
	if err != nil {
		t.Fatal(err)
	}
	s.blobs = append(s.blobs, store.Blob{Name: name.String(), Size: int64(body.Len()), Metadata: meta.Encode(), Created: time.Now().Add(storageAhead)})
	s.bodies[name.String()] = body.Bytes()
	return inputs
}

// Following prints what is there when a range was given, or its end, then every new
// segment once, marks what is late, and ends with its context.
func TestFollow(t *testing.T) {
	effort.Need(t, effort.Test, "waits for a shipper")
	t.Parallel()
	for name, c := range map[string]struct {
		ranged bool
		tail   int
		window time.Duration
		want   string
	}{
		"no range":   {false, 0, follow.DefaultWindow, "late|later|merged|last|"},
		"range":      {true, 0, follow.DefaultWindow, "older|before|late (late)|later|merged|last|"},
		"tail":       {false, 1, follow.DefaultWindow, "before|late (late)|later|merged|last|"},
		"whole tail": {false, 9, follow.DefaultWindow, "older|before|late (late)|later|merged|last|"},
		"window":     {true, 0, 10 * time.Minute, "older|before|later|merged|last|"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var out, errs bytes.Buffer
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			w, err := output.New(&out, output.Options{Format: output.JSON})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(30 * time.Minute) // no hour begins while this polls
			s := &shelf{bodies: map[string][]byte{}}
			s.add(t, time.Now().Add(-time.Minute), "older")
			s.add(t, time.Now(), "before")
			r := &request{
				env: environment{stdout: &out, stderr: &errs, now: time.Now}, ranged: c.ranged, tail: c.tail,
				window: c.window, interval: 5 * time.Second,
				sel: query.Selection{From: time.Now().Add(-time.Hour), To: time.Now().Add(time.Hour)},
			}
			stores := []query.Store{s.store()}
			q, err := query.New(stores, r.sel, r.opts)
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- r.followNew(ctx, stores, q, w) }()
			time.Sleep(11 * time.Second)
			s.add(t, time.Now(), "later")
			s.add(t, time.Now().Add(-20*time.Minute), "late")
			time.Sleep(11 * time.Second)
			s.compact(t)
			time.Sleep(11 * time.Second)
			s.add(t, time.Now(), "merged") // before a poll finds it
			s.compact(t)
			time.Sleep(3 * time.Hour)
			s.add(t, time.Now(), "last")
			time.Sleep(11 * time.Second)
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			if err := w.Close(); err != nil {
				t.Error(err)
			}
			var got strings.Builder
			for line := range strings.Lines(out.String()) {
				var r struct {
					Message string
					Late    bool
				}
				if err := json.Unmarshal([]byte(line), &r); err != nil {
					t.Fatal(err)
				}
				if got.WriteString(r.Message); r.Late {
					got.WriteString(" (late)")
				}
				got.WriteByte('|')
			}
			if got.String() != c.want {
				t.Errorf("%s: %q, want %q", name, got.String(), c.want)
			}
			if printed := errs.String(); strings.Count(printed, "\n") != 2 || !strings.Contains(printed, "following: records are printed when their segment is stored, except records that are stored more than "+units.FormatDuration(c.window)+" late ") ||
				!strings.Contains(printed, "polling every 5s costs about $") {
				t.Errorf("%s: %q", name, printed)
			}
		})
	}
}

// Limits of bytes are for all polls together.
func TestFollowBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out, errs bytes.Buffer
		w, err := output.New(&out, output.Options{Format: output.Raw})
		if err != nil {
			t.Fatal(err)
		}
		s := &shelf{bodies: map[string][]byte{}}
		r := &request{
			env: environment{stdout: &out, stderr: &errs, now: time.Now}, window: follow.DefaultWindow, interval: time.Minute,
			sel:  query.Selection{From: time.Now().Add(-time.Hour), To: time.Now().Add(time.Hour)},
			opts: query.Options{MaxCost: 0.001},
		}
		stores := []query.Store{s.store()}
		q, err := query.New(stores, r.sel, r.opts)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if err := r.followNew(t.Context(), stores, q, w); !errors.Is(err, query.ErrBudget) || !strings.Contains(err.Error(), "--max-cost 0.001") {
			t.Error(err)
		}
		// A listing of each container, of $0.0000055, finds that there are no services, in each poll and every ten minutes for records that
		// come late.
		if polls := time.Since(start) / time.Minute; polls < 79 || polls > 83 {
			t.Errorf("%d polls", polls)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
}

// refusing is a container that refuses every request, each under another id.
type refusing struct {
	shelf
	requests int
}

func (r *refusing) ListPrefixes(context.Context, string) iter.Seq2[[]string, error] {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests++
	return store.Failing[string](&store.Error{Op: "list", Object: "blobs", Class: store.ErrAccessDenied, Status: 403, RequestID: fmt.Sprintf("id-%d", r.requests)})
}

// Of several stores one that refuses is named once, and the others are followed.
func TestFollowRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out, errs bytes.Buffer
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w, err := output.New(&out, output.Options{Format: output.Raw})
		if err != nil {
			t.Fatal(err)
		}
		good, bad := &shelf{bodies: map[string][]byte{}}, &refusing{}
		r := &request{
			env: environment{stdout: &out, stderr: &errs, now: time.Now}, window: follow.DefaultWindow, interval: follow.DefaultInterval,
			sel: query.Selection{From: time.Now().Add(-time.Hour), To: time.Now().Add(time.Hour)},
		}
		stores := []query.Store{{Name: "good", Blobs: good, Free: true}, {Name: "bad", Blobs: bad, Free: true}}
		q, err := query.New(stores, r.sel, r.opts)
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- r.followNew(ctx, stores, q, w) }()
		time.Sleep(5 * time.Second)
		good.add(t, time.Now(), "hello")
		time.Sleep(time.Minute)
		cancel()
		if err := errors.Join(<-ended, w.Close()); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if printed := errs.String(); bad.requests < 30 || out.String() != "hello\n" || strings.Count(printed, "access denied") != 1 || !strings.Contains(printed, "id-1)") {
			t.Errorf("%d requests; printed %q, standard error %q", bad.requests, out.String(), printed)
		}
	})
}
