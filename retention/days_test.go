package retention_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/blobnaming"
	"logstow/internal/test/storetest"
	"logstow/retention"
	"logstow/store"
)

// A service is left at the first day that no class has passed: the pages after it are
// not listed. Moves to tiers continue further.
func TestLeftEarly(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		policy retention.Policy
		pages  uint64
	}{
		// 20 days of 2,500 blobs, from 20 days ago to yesterday, are 10 pages: a day is half of one.
		"oldest class": {retention.Policy{Keep: map[string]time.Duration{"": 15 * day}}, 2 + 1},
		"other class":  {retention.Policy{Keep: map[string]time.Duration{"": 15 * day, "a": 7 * day}}, 6 + 1},
		"unknown only": {retention.Policy{Keep: map[string]time.Duration{"a": 40 * day}}, 1},
		"tiers":        {retention.Policy{Keep: map[string]time.Duration{"": 15 * day}, CoolAfter: 3 * day}, 8 + 1},
	} {
		s := &synthetic{services: 1, perService: 50_000, today: firstDay()}
		report, err := retain(t.Context(), s, c.policy, retention.Options{DryRun: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.listed / 5000; got != c.pages {
			t.Errorf("%s: %d pages, want %d; %+v", name, got, c.pages, report)
		}
	}
}

// Of two clocks the earlier one decides what is past, whichever it is.
func TestEarlierClock(t *testing.T) {
	t.Parallel()
	noon := firstDay().Add(12 * time.Hour)
	midnight := noon.Truncate(day)
	for name, clocks := range map[string][2]time.Time{
		"ours":   {midnight.Add(-time.Minute), midnight.Add(time.Minute)},
		"theirs": {midnight.Add(time.Minute), midnight.Add(-time.Minute)},
	} {
		s := storetest.OpenLocal(t)
		put(t, s, "api", "", midnight.AddDate(0, 0, -4), 1)
		kept := put(t, s, "api", "", midnight.AddDate(0, 0, -3), 1)
		h := hooked{Store: s, now: func() (time.Time, error) { return clocks[1], nil }}
		o := retention.Options{Now: func() time.Time { return clocks[0] }}
		report, err := retain(t.Context(), h, retention.Policy{Keep: map[string]time.Duration{"": 2 * day}}, o)
		if err != nil || report.Blobs != 1 || !report.Now.Equal(midnight.Add(-time.Minute)) {
			t.Errorf("%s: %v, %+v", name, err, report)
		}
		if all := state(t, s); len(all) != 3 || all[0] != kept {
			t.Errorf("%s: %v", name, all)
		}
	}
	// An hour apart is still taken for right.
	for off, refused := range map[time.Duration]bool{time.Hour: false, time.Hour + 1: true, -time.Hour: false, -time.Hour - 1: true} {
		h := hooked{Store: storetest.OpenLocal(t), now: func() (time.Time, error) { return noon, nil }}
		o := retention.Options{Now: func() time.Time { return noon.Add(off) }}
		_, err := retain(t.Context(), h, retention.Policy{Keep: map[string]time.Duration{"": 2 * day}}, o)
		if errors.Is(err, retention.ErrClock) != refused {
			t.Errorf("off by %v: %v", off, err)
		}
	}
	// Without the time of storage nothing is deleted.
	h := hooked{Store: storetest.OpenLocal(t), now: func() (time.Time, error) { return time.Time{}, store.ErrInvalid }}
	o := retention.Options{Force: true}
	if _, err := retain(t.Context(), h, retention.Policy{Keep: map[string]time.Duration{"": day}}, o); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("without a clock: %v", err)
	}
}

// A day ends at midnight UTC, wherever the run is; what is of the future stays; a class is
// that of the metadata, in whatever case its keys are; and a service is not its namesake's prefix.
func TestEdgesOfDays(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, s store.Store) {
		today := firstDay()
		first := today.AddDate(0, 0, -2) // the first day kept
		var gone, kept []string
		for _, service := range []string{"a", "a-b", "a.b", "a0", "ab"} {
			gone = append(gone, put(t, s, service, "", first.Add(-5*time.Minute), 1))
			kept = append(kept,
				put(t, s, service, "", first, 1),
				put(t, s, service, "", today.AddDate(0, 0, 1), 1),
				put(t, s, service, "", today.AddDate(1, 0, 0), 1))
		}
		for i, key := range []string{"CLASS", "class", "cLASS"} {
			entity := newEntity("a", "audit", first.AddDate(0, 0, -9), uint64(10+i))
			meta := entity.Meta.Encode()
			delete(meta, "Class")
			meta[key] = "audit"
			if _, err := s.Blobs().Create(t.Context(), entity.Name.String(), []byte("x"), store.CreateOptions{Metadata: meta}); err != nil {
				t.Fatal(err)
			}
			kept = append(kept, entity.Name.String())
		}
		// Metadata of a later version may contain more about what is to be kept than this program can read.
		later := newEntity("a", "", first.AddDate(0, 0, -9), 20)
		meta := later.Meta.Encode()
		meta["LogVersion"] = "logstow/5"
		if _, err := s.Blobs().Create(t.Context(), later.Name.String(), []byte("x"), store.CreateOptions{Metadata: meta}); err != nil {
			t.Fatal(err)
		}
		kept = append(kept, later.Name.String())
		o := retention.Options{Now: func() time.Time { return clock().In(time.FixedZone("", 13*3600)) }}
		report, err := retain(t.Context(), s, retention.Policy{Keep: map[string]time.Duration{"": 2 * day}}, o)
		if err != nil || report.Err() != nil || report.Blobs != int64(len(gone)) {
			t.Errorf("%v, %v, %+v", err, report.Err(), report)
		}
		want := []retention.Kept{
			{Reason: retention.NotNamed, Class: "audit", Blobs: 3},
			{Reason: retention.Unreadable, Blobs: 1},
		}
		for i := range report.Kept {
			report.Kept[i].Bytes, report.Kept[i].First = 0, ""
		}
		if diff := cmp.Diff(want, report.Kept); diff != "" {
			t.Error(diff)
		}
		blobs := slices.DeleteFunc(state(t, s), func(line string) bool { return strings.HasPrefix(line, "table ") })
		slices.Sort(kept)
		if diff := cmp.Diff(kept, blobs); diff != "" {
			t.Error(diff)
		}
	})
}

// A size counts all segments, also those that no policy lets go.
func TestMaxBytesClasses(t *testing.T) {
	t.Parallel()
	s := storetest.OpenLocal(t)
	today := firstDay()
	var size int64
	for age := range 6 {
		d := today.AddDate(0, 0, -age)
		size = int64(len(put(t, s, "api", "", d, 1)))
		put(t, s, "api", "audit", d, 2)
		put(t, s, "api", "other", d, 3)
	}
	vague := blobnaming.Name{Service: "api", Bucket: today.AddDate(0, 0, -5), Number: 9}.String()
	if _, err := s.Blobs().Create(t.Context(), vague, make([]byte, size), store.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	classOf := func(name string) string {
		return map[string]string{"000002.log": "audit", "000003.log": "other", "000009.log": "unreadable"}[name[len(name)-10:]]
	}
	before := state(t, s)
	// By time the default class goes but for three days; what other classes hold stays: 3 + 6 + 6 + 1.
	// The oldest days of the two named classes go until 12 fit, of which 11 are left: 4 of audit, of these the youngest with the default class.
	policy := retention.Policy{Keep: map[string]time.Duration{"": 2 * day, "audit": retention.Forever}, MaxBytes: 12 * size}
	dry, err := retain(t.Context(), s, policy, retention.Options{DryRun: true})
	if err != nil || dry.Err() != nil {
		t.Fatal(err, dry.Err())
	}
	report, err := retain(t.Context(), s, policy, retention.Options{})
	if err != nil || report.Err() != nil {
		t.Fatal(err, report.Err())
	}
	if dry.Blobs != report.Blobs || dry.Bytes != report.Bytes || dry.Requests != report.Requests || !cmp.Equal(dry.Days, report.Days, cmp.AllowUnexported(retention.Day{})) {
		t.Errorf("a dry run foresaw %+v, it was %+v", dry.Requests, report.Requests)
	}
	want := keeps(before, today, classOf, map[string]int{"": 1, "audit": 1})
	want = append(want, "table "+today.AddDate(0, 0, -5).Format(time.DateOnly), "table audit"+today.AddDate(0, 0, -5).Format(time.DateOnly))
	slices.Sort(want)
	if diff := cmp.Diff(want, state(t, s)); diff != "" {
		t.Error(diff)
	}
}

// No more blobs go, or move, a second than the rate allows, once a first batch went.
func TestRate(t *testing.T) {
	t.Parallel()
	const rate, batches = 512, 3
	for name, policy := range map[string]retention.Policy{
		"deleted": {Keep: map[string]time.Duration{"": day}},
		"moved":   {CoolAfter: day},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// The last day's stay: a twentieth.
			s := &synthetic{services: 1, perService: (batches + 1) * store.MaxDelete, today: firstDay()}
			var mu sync.Mutex
			var last time.Time
			changed := 0
			note := func(n int) error {
				mu.Lock()
				defer mu.Unlock()
				last, changed = time.Now(), changed+n
				return nil
			}
			h := hooked{
				Store:  s,
				listed: func(b *store.Blob) { b.Tier = store.Hot },
				delete: func(_ context.Context, versions []store.BlobRef) error { return note(len(versions)) },
				tier:   func(names []string) error { return note(len(names)) },
			}
			began := time.Now()
			if _, err := retain(t.Context(), h, policy, retention.Options{Rate: rate}); err != nil {
				t.Fatal(err)
			}
			least := time.Duration(changed-store.MaxDelete) * time.Second / rate
			if took := last.Sub(began); took < least || changed < batches*store.MaxDelete {
				t.Errorf("%d blobs in %v: that is faster than %d a second", changed, took, rate)
			}
		})
	}
}
