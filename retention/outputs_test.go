package retention_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/blobnaming"
	"logstow/compaction"
	"logstow/internal/test/catalogtest"
	"logstow/internal/test/storetest"
	"logstow/internal/test/testrand"
	"logstow/record"
	"logstow/retention"
	"logstow/segment"
	"logstow/store"
	"logstow/tableindex"
)

// newOutput is an output of compaction, of which retention needs no more than a listing shows.
func newOutput(service, class string, hour time.Time, generation int) tableindex.Entity {
	entity := newEntity(service, class, hour, 1)
	entity.Name = blobnaming.OutputName(service, hour, class, generation)
	entity.Meta.Instance, entity.Meta.Origins, entity.Meta.Footer = blobnaming.OutputInstance, 1, 2
	return entity
}

// compacted stores an expired day with outputs and plain segments, of two classes and services.
func compacted(t *testing.T, s store.Store) (past time.Time) {
	t.Helper()
	past = firstDay().AddDate(0, 0, -9)
	var entities []tableindex.Entity
	for _, service := range []string{"api", "web"} {
		for _, class := range []string{"", "audit"} {
			for generation := range generations {
				entities = append(entities, newOutput(service, class, past, generation+1))
			}
			for h := range 3 {
				hour := past.Add(time.Duration(h) * time.Hour)
				for number := range uint64(3) {
					width := time.Duration(number) * 5 * time.Minute
					entities = append(entities, newEntity(service, class, hour.Add(width), 10*uint64(len(class))+number+1))
				}
			}
		}
	}
	if err := putEntities(t.Context(), s, entities); err != nil {
		t.Fatal(err)
	}
	return past
}

// generations is the number of outputs of each service and class that compacted stores.
const generations = 3

// wrongOrder describes what of the names of a store's blobs no run may leave: a lower generation gone
// while plain segments are there, or the last output gone before others.
func wrongOrder(t *testing.T, s store.Store) string {
	t.Helper()
	lowest, highest, plain := map[string]int{}, map[string]int{}, map[string]bool{}
	for _, b := range catalogtest.List(t, s) {
		listed, err := catalogtest.NewSegment(b)
		if err != nil {
			t.Fatal(err)
		}
		scope := listed.Scope().String()
		if g := listed.Name.Output(); g > 0 {
			highest[scope] = max(highest[scope], g)
			if lowest[scope] == 0 || g < lowest[scope] {
				lowest[scope] = g
			}
		} else {
			plain[scope] = true
		}
	}
	for scope := range plain {
		if lowest[scope] != 1 {
			return fmt.Sprintf("%s: plain segments without the first output", scope)
		}
	}
	for scope, g := range highest {
		if g != generations {
			return fmt.Sprintf("%s: generation %d is gone before others", scope, generations)
		}
	}
	return ""
}

// Whenever a run ends, the highest output of a day is there as long as anything else of it is.
func TestOutputsGoLast(t *testing.T) {
	t.Parallel()
	policy := retention.Policy{Keep: map[string]time.Duration{"": day, "audit": day}}
	rnd := testrand.New(t)
	for deletes := 0; ; deletes++ {
		s := storetest.OpenLocal(t)
		compacted(t, s)
		var mu sync.Mutex
		made := 0
		ended := errors.New("ended")
		ctx, cancel := context.WithCancelCause(t.Context())
		h := hooked{Store: s, delete: func(ctx context.Context, versions []store.BlobRef) error {
			mu.Lock()
			defer mu.Unlock()
			if made++; made > deletes && ctx.Err() == nil { // after a part of the request
				versions = slices.Clone(versions)
				rnd.Shuffle(len(versions), func(i, j int) { versions[i], versions[j] = versions[j], versions[i] })
				if err := catalogtest.Container(s, versions[0].Name).Delete(ctx, versions[:len(versions)/2]); err != nil {
					t.Error(err)
				}
				cancel(ended)
			}
			return context.Cause(ctx)
		}}
		report, err := retain(ctx, h, policy, retention.Options{})
		cancel(nil)
		if wrong := wrongOrder(t, s); wrong != "" {
			t.Fatalf("ended after %d deletions: %s", deletes, wrong)
		}
		if err == nil {
			if left := state(t, s); len(left) > 0 || report.Err() != nil || report.Blobs != 48 || deletes < 4 {
				t.Errorf("%d deletions, %v, %d blobs, left %q", deletes, report.Err(), report.Blobs, left)
			}
			return
		}
		if !errors.Is(err, ended) {
			t.Fatal(err)
		}
		report, err = retain(t.Context(), s, policy, retention.Options{})
		if left := state(t, s); err != nil || report.Err() != nil || len(left) > 0 {
			t.Fatalf("after %d deletions the next run leaves %q: %v, %v", deletes, left, err, report.Err())
		}
	}
}

// The highest output waits for a plain segment that is stored meanwhile, or held.
func TestOutputWaits(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, s store.Store) {
		past := compacted(t, s)
		late := newEntity("api", "", past.Add(40*time.Minute), 77)
		held := newEntity("web", "audit", past.Add(2*time.Hour), 51)
		policy := retention.Policy{Keep: map[string]time.Duration{"": day, "audit": day}}
		var once sync.Once
		h := hooked{Store: holding{s, map[string]bool{held.Name.String(): true}}, delete: func(ctx context.Context, _ []store.BlobRef) (err error) {
			once.Do(func() { err = putEntities(ctx, s, []tableindex.Entity{late}) })
			return err
		}}
		report, err := retain(t.Context(), h, policy, retention.Options{})
		if err != nil || report.Stayed != 1 || report.Late != 3 || report.Blobs != 45 {
			t.Errorf("%v, %+v", err, report)
		}
		want := []string{
			late.Name.String(), newOutput("api", "", past, 3).Name.String(),
			held.Name.String(), newOutput("web", "audit", past, 3).Name.String(),
		}
		slices.Sort(want)
		got := slices.DeleteFunc(state(t, s), func(name string) bool { return name[:5] == "table" })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if report, err = retain(t.Context(), s, policy, retention.Options{}); err != nil || report.Err() != nil || len(state(t, s)) > 0 {
			t.Errorf("%v, %v, left %q", err, report.Err(), state(t, s))
		}
	})
}

// The marker of a rejected output goes after it, by the next run: without it the output would be read.
func TestRejectedOutput(t *testing.T) {
	t.Parallel()
	s := storetest.OpenLocal(t)
	past := firstDay().AddDate(0, 0, -9)
	markers := make(map[string]string) // by class
	for _, class := range []string{"", "audit", "kept"} {
		output := newOutput("api", class, past, 1)
		if err := putEntities(t.Context(), s, []tableindex.Entity{output}); err != nil {
			t.Fatal(err)
		}
		markers[class] = blobnaming.RejectionOf(output.Name)
		if _, err := s.Compacted().Create(t.Context(), markers[class], nil, store.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	policy := retention.Policy{Keep: map[string]time.Duration{"": day, "audit": 30 * day}}
	var left [][]string
	for range 2 {
		report, err := retain(t.Context(), s, policy, retention.Options{})
		if err != nil || report.Err() != nil {
			t.Fatal(err, report.Err())
		}
		left = append(left, slices.DeleteFunc(state(t, s), func(name string) bool { return name[:5] == "table" }))
	}
	stays := []string{newOutput("api", "audit", past, 1).Name.String(), markers["audit"], newOutput("api", "kept", past, 1).Name.String(), markers["kept"]}
	first := append([]string{markers[""]}, stays...)
	slices.Sort(stays)
	slices.Sort(first)
	if diff := cmp.Diff([][]string{first, stays}, left); diff != "" {
		t.Error(diff)
	}
}

// A limit of size counts what an output contains once, and what it does not contain besides.
func TestMaxBytesCountsContainedOnce(t *testing.T) {
	t.Parallel()
	s := storetest.OpenLocal(t)
	past := firstDay().AddDate(0, 0, -3)
	store := func(hour time.Time, numbers ...uint64) (size int64) {
		for _, number := range numbers {
			size += putSegment(t, s, hour, number)
		}
		return size
	}
	contained := store(past, 1, 2, 3, 4)
	o := compaction.DefaultOptions()
	o.After, o.Grace, o.TempDir, o.KeepInputs = 0, 0, t.TempDir(), true
	made, err := compaction.Run(t.Context(), s, o)
	if err != nil || made.Outputs != 1 {
		t.Fatal(made, err)
	}
	kept := made.BytesOut + store(past, 5) + store(past.AddDate(0, 0, 1), 6)
	for _, c := range []struct {
		limit int64
		blobs int64
	}{{kept + contained, 0}, {kept, 0}, {kept - 1, 6}} {
		policy := retention.Policy{Keep: map[string]time.Duration{"": retention.Forever}, MaxBytes: c.limit}
		report, err := retain(t.Context(), s, policy, retention.Options{DryRun: true})
		if err != nil || report.Err() != nil || report.Blobs != c.blobs {
			t.Errorf("limit %d: %d blobs, want %d: %v, %v", c.limit, report.Blobs, c.blobs, err, report.Err())
		}
	}

	// Inputs of a rejected output are all there is.
	output := blobnaming.OutputName("api", past, "", 1)
	if err := compaction.Reject(t.Context(), s, output.String()); err != nil {
		t.Fatal(err)
	}
	policy := retention.Policy{Keep: map[string]time.Duration{"": retention.Forever}, MaxBytes: kept + contained - 1}
	report, err := retain(t.Context(), s, policy, retention.Options{})
	if err != nil || report.Err() != nil || report.Blobs != 6 {
		t.Errorf("rejected: %d blobs: %v, %v", report.Blobs, err, report.Err())
	}
}

// putSegment stores a real segment and returns its size.
func putSegment(t *testing.T, s store.Store, hour time.Time, number uint64) int64 {
	t.Helper()
	var b bytes.Buffer
	w := segment.NewWriter(&b, segment.Options{
		Service: "api", Instance: fmt.Sprintf("pod-%d", number), Salt: [16]byte{byte(number)}, BucketStart: hour.Unix(), BucketWidth: 3600,
	})
	err := w.Append(record.Record{Time: hour.UnixNano() + int64(number), Source: "app.log", Message: fmt.Appendf(nil, "message %d", number)})
	if err != nil {
		t.Fatal(err)
	}
	meta, err := w.Close(int64(number))
	if err != nil {
		t.Fatal(err)
	}
	name := blobnaming.Name{Service: "api", Bucket: hour, Number: number}
	if _, err := s.Blobs().Create(t.Context(), name.String(), b.Bytes(), store.CreateOptions{Metadata: meta.Encode()}); err != nil {
		t.Fatal(err)
	}
	return int64(b.Len())
}
