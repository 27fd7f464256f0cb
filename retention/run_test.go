package retention_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/blobnaming"
	"logstow/internal/test/storetest"
	"logstow/internal/test/testrand"
	"logstow/retention"
	"logstow/store"
	"logstow/tableindex"
)

// world fills a store: three services, 12 days up to today, two classes of which one is
// not named, a foreign file and a segment without metadata. It returns today.
func world(t testing.TB, s store.Store) time.Time {
	t.Helper()
	today := firstDay()
	for _, service := range []string{"api", "api-b", "web"} {
		for age := range 12 {
			d := today.AddDate(0, 0, -age)
			put(t, s, service, "", d, 1)
			put(t, s, service, "", d.Add(23*time.Hour), 2)
		}
	}
	for _, age := range []int{2, 7, 9} {
		d := today.AddDate(0, 0, -age)
		put(t, s, "web", "audit", d.Add(5*time.Hour), 3)
		put(t, s, "web", "other", d.Add(6*time.Hour), 4)
	}
	for _, name := range []string{"web/readme.txt", "readme.txt", "UPPER/" + today.Format("2006/01/02/1500") + "/000001.log"} {
		if _, err := s.Blobs().Create(t.Context(), name, []byte("x"), store.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return today
}

// keeps are the parts of a state that a policy keeps: the days from today-first on by class.
func keeps(state []string, today time.Time, classOf func(name string) string, first map[string]int) (kept []string) {
	for _, line := range state {
		fields := strings.Fields(line)
		name := fields[len(fields)-1]
		parsed, err := blobnaming.Parse(name)
		class, d := "", parsed.Bucket.Truncate(day)
		switch {
		case strings.HasPrefix(line, "table "):
			label := fields[1]
			class = label[:len(label)-len(time.DateOnly)]
			d, _ = time.Parse(time.DateOnly, label[len(class):])
		case err != nil:
			kept = append(kept, line)
			continue
		default:
			class = classOf(name)
		}
		days, named := first[class]
		if !named || !d.Before(today.AddDate(0, 0, -days)) {
			kept = append(kept, line)
		}
	}
	return kept
}

// worldClass is the class of world's blobs.
func worldClass(name string) string {
	return map[string]string{"000003.log": "audit", "000004.log": "other"}[name[len(name)-10:]]
}

func TestRun(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, s store.Store) {
		today := world(t, s)
		before := state(t, s)
		policy := retention.Policy{Keep: map[string]time.Duration{"": 5 * day, "audit": 8 * day}}
		want := keeps(before, today, worldClass, map[string]int{"": 5, "audit": 8})

		dry, err := retain(t.Context(), s, policy, retention.Options{DryRun: true})
		if err != nil || dry.Err() != nil {
			t.Fatal(err, dry.Err())
		}
		if diff := cmp.Diff(before, state(t, s)); diff != "" {
			t.Fatalf("a dry run changed: %s", diff)
		}
		report, err := retain(t.Context(), s, policy, retention.Options{})
		if err != nil || report.Err() != nil {
			t.Fatal(err, report.Err())
		}
		if diff := cmp.Diff(want, state(t, s)); diff != "" {
			t.Fatal(diff)
		}
		if report.Blobs != 37 || !report.Complete || report.Services != 3 || len(report.Days) != 8-1 {
			t.Errorf("report %+v", report)
		}
		if len(report.Kept) != 1 || report.Kept[0].Class != "other" || report.Kept[0].Blobs != 2 {
			t.Errorf("kept %+v", report.Kept)
		}
		for _, d := range report.Days {
			if d.Table != "dropped" || d.Why == "" {
				t.Errorf("day %+v", d)
			}
		}
		if dry.Blobs != report.Blobs || dry.Requests != report.Requests {
			t.Errorf("a dry run foresaw %+v, made were %+v", dry.Requests, report.Requests)
		}
		if diff := cmp.Diff(report.Days, dry.Days, cmp.AllowUnexported(retention.Day{})); diff != "" {
			t.Errorf("a dry run found otherwise: %s", diff)
		}

		again, err := retain(t.Context(), s, policy, retention.Options{})
		if err != nil || again.Err() != nil || again.Blobs != 0 || len(again.Days) != 0 {
			t.Errorf("the second run: %v, %v, %+v", err, again.Err(), again.Days)
		}
		if want := (retention.Requests{List: 1 + 2 + 2*3, Table: 2}); again.Requests != want {
			t.Errorf("the second run made %+v, want only %+v", again.Requests, want)
		}
	})
}

// What the policy cannot judge, and what is held, stays with its index.
func TestWhatStays(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, s store.Store) {
		today := world(t, s)
		old, older := today.AddDate(0, 0, -7), today.AddDate(0, 0, -10)
		held := blobnaming.Name{Service: "api", Bucket: older, Number: 1}.String()
		vague := blobnaming.Name{Service: "web", Bucket: old, Number: 99}.String()
		if _, err := s.Blobs().Create(t.Context(), vague, []byte("x"), store.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		before := state(t, s)
		policy := retention.Policy{Keep: map[string]time.Duration{"": 5 * day}}
		want := keeps(before, today, worldClass, map[string]int{"": 5})
		label := "table " + older.Format(time.DateOnly)
		want = append(want, held, label, label+" "+held, vague, "table "+old.Format(time.DateOnly))
		slices.Sort(want)
		want = slices.Compact(want)
		for range 2 {
			report, err := retain(t.Context(), holding{s, map[string]bool{held: true}}, policy, retention.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if !errors.Is(report.Err(), store.ErrHeld) || report.Stayed != 1 || !slices.Equal(report.StayedNames, []string{held}) {
				t.Errorf("stayed %d %v: %v", report.Stayed, report.StayedNames, report.Err())
			}
			if diff := cmp.Diff(want, state(t, s)); diff != "" {
				t.Fatal(diff)
			}
			if len(report.Kept) != 3 { // audit and other are not named, one has no metadata
				t.Errorf("kept %+v", report.Kept)
			}
		}
		// The hold ends.
		report, err := retain(t.Context(), s, policy, retention.Options{})
		if err != nil || report.Err() != nil {
			t.Fatal(err, report.Err())
		}
		want = slices.DeleteFunc(want, func(line string) bool { return line == held || strings.HasPrefix(line, label) })
		if diff := cmp.Diff(want, state(t, s)); diff != "" {
			t.Error(diff)
		}
	})
}

// Ended anywhere and run again, it comes to the same end.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, s store.Store) {
		today := world(t, s)
		policy := retention.Policy{Keep: map[string]time.Duration{"": 2 * day, "audit": 2 * day, "other": 2 * day}}
		want := keeps(state(t, s), today, worldClass, map[string]int{"": 2, "audit": 2, "other": 2})
		for n := range int64(12) {
			ctx, cancel := context.WithCancel(t.Context())
			left := new(atomic.Int64)
			left.Store(n % 6)
			_, err := retain(ctx, ending{s, left, cancel}, policy, retention.Options{})
			cancel()
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
		}
		report, err := retain(t.Context(), s, policy, retention.Options{})
		if err != nil || report.Err() != nil {
			t.Fatal(err, report.Err())
		}
		if diff := cmp.Diff(want, state(t, s)); diff != "" {
			t.Error(diff)
		}
	})
}

// ending ends everything after some deletions of blobs or tables.
type ending struct {
	store.Store
	left *atomic.Int64
	end  func()
}

func (e ending) Blobs() store.Blobs     { return endingBlobs{e.Store.Blobs(), e} }
func (e ending) Compacted() store.Blobs { return endingBlobs{e.Store.Compacted(), e} }
func (e ending) Tables() store.Tables   { return endingTables{e.Store.Tables(), e} }

type endingBlobs struct {
	store.Blobs
	e ending
}

func (b endingBlobs) Delete(ctx context.Context, versions []store.BlobRef) error {
	if b.e.left.Add(-1) < 0 {
		versions = versions[:len(versions)/2]
		b.e.end()
		ctx = context.WithoutCancel(ctx)
	}
	return b.Blobs.Delete(ctx, versions)
}

type allTables = store.Tables

type endingTables struct {
	allTables
	e ending
}

func (t endingTables) DropTable(ctx context.Context, table string) error {
	err := t.allTables.DropTable(context.WithoutCancel(ctx), table)
	if t.e.left.Add(-1) < 0 {
		t.e.end()
	}
	return err
}

// Two runs at once, beside a shipper that writes new and late records: nothing
// that is kept goes, and one more run comes to the end.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, s store.Store) {
		today := world(t, s)
		policy := retention.Policy{Keep: map[string]time.Duration{"": 2 * day}}
		r := testrand.New(t)
		ctx, stop := context.WithCancel(t.Context())
		var young []string
		var wg sync.WaitGroup
		wg.Go(func() {
			const first = 100
			for n := uint64(first); n == first || ctx.Err() == nil; n++ {
				d := today
				if n > first {
					d = today.AddDate(0, 0, -r.IntN(12))
				}
				entity := newEntity("api", "", d, n)
				err := putEntities(t.Context(), s, []tableindex.Entity{entity})
				if err != nil && !errors.Is(err, store.ErrNoTable) && !errors.Is(err, store.ErrTableBusy) {
					t.Error(err)
				}
				if !d.Before(today.AddDate(0, 0, -2)) {
					young = append(young, entity.Name.String())
				}
			}
		})
		var runs sync.WaitGroup
		for range 2 {
			runs.Go(func() {
				for range 3 {
					if report, err := retain(t.Context(), s, policy, retention.Options{}); err != nil || len(report.Problems) > 0 {
						t.Error(err, report.Problems)
					}
				}
			})
		}
		runs.Wait()
		stop()
		wg.Wait()
		report, err := retain(t.Context(), s, policy, retention.Options{})
		if err != nil || report.Err() != nil {
			t.Fatal(err, report.Err())
		}
		after := state(t, s)
		if diff := cmp.Diff(keeps(after, today, worldClass, map[string]int{"": 2}), after); diff != "" {
			t.Error(diff)
		}
		for _, name := range young {
			label := "table " + strings.ReplaceAll(name[len("api/"):len("api/2006/01/02")], "/", "-")
			if !slices.Contains(after, name) || !slices.Contains(after, label+" "+name) {
				t.Errorf("%s is gone, or its entity", name)
			}
		}
		if len(young) == 0 {
			t.Error("the shipper wrote nothing")
		}
	})
}

func TestClocks(t *testing.T) {
	t.Parallel()
	s := storetest.OpenLocal(t)
	today := world(t, s)
	before := state(t, s)
	policy := retention.Policy{Keep: map[string]time.Duration{"": 5 * day}}
	for _, off := range []time.Duration{-2 * time.Hour, 2 * time.Hour, 400 * day} {
		o := retention.Options{Now: func() time.Time { return time.Now().Add(off) }}
		if _, err := retain(t.Context(), s, policy, o); !errors.Is(err, retention.ErrClock) {
			t.Errorf("clock off by %v: %v", off, err)
		}
	}
	if diff := cmp.Diff(before, state(t, s)); diff != "" {
		t.Error(diff)
	}
	// Forced, the earlier of the two counts.
	o := retention.Options{Force: true, Now: func() time.Time { return time.Now().Add(400 * day) }}
	first := hooked{Store: s, now: func() (time.Time, error) { return clock(), nil }} // the day may end meanwhile
	if _, err := retain(t.Context(), first, policy, o); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(keeps(before, today, worldClass, map[string]int{"": 5}), state(t, s)); diff != "" {
		t.Error(diff)
	}
	if _, err := retain(t.Context(), s, retention.Policy{}, o); !errors.Is(err, retention.ErrPolicy) {
		t.Errorf("no policy: %v", err)
	}
}

func TestMaxBytes(t *testing.T) {
	t.Parallel()
	s := storetest.OpenLocal(t)
	today := firstDay()
	var size int64
	for age := range 10 {
		for n := range uint64(3) {
			size = int64(len(put(t, s, fmt.Sprintf("s%d", n), "", today.AddDate(0, 0, -age), 1)))
		}
	}
	before := state(t, s)
	policy := retention.Policy{Keep: map[string]time.Duration{"": retention.Forever}, MaxBytes: 3*4*size + 1}
	report, err := retain(t.Context(), s, policy, retention.Options{})
	if err != nil || report.Err() != nil || report.Blobs != 18 || report.Bytes != 18*size {
		t.Errorf("%v, %v, %+v", err, report.Err(), report)
	}
	if diff := cmp.Diff(keeps(before, today, worldClass, map[string]int{"": 3}), state(t, s)); diff != "" {
		t.Error(diff)
	}
	policy.MaxBytes = 1
	report, err = retain(t.Context(), s, policy, retention.Options{})
	if err != nil || report.Err() == nil || report.Blobs != 9 {
		t.Errorf("today's alone is too much: %v, %v, %d", err, report.Err(), report.Blobs)
	}
}
