package retention_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/blobnaming"
	"logstow/retention"
	"logstow/store"
)

// What is kept moves to cooler tiers by its day, whatever its class, and never back.
func TestTiers(t *testing.T) {
	t.Parallel()
	s := openAzure(t)
	today := world(t, s)
	cold := blobnaming.Name{Service: "api", Bucket: today, Number: 1}.String()
	if err := s.Blobs().SetTier(t.Context(), []string{cold}, store.Cold); err != nil {
		t.Fatal(err)
	}
	policy := retention.Policy{Keep: map[string]time.Duration{"": 9 * day}, CoolAfter: 3 * day, ColdAfter: 6 * day}
	before := state(t, s)
	dry, err := retain(t.Context(), s, policy, retention.Options{DryRun: true})
	if err != nil || dry.Err() != nil {
		t.Fatal(err, dry.Err())
	}
	report, err := retain(t.Context(), s, policy, retention.Options{})
	if err != nil || report.Err() != nil {
		t.Fatal(err, report.Err())
	}
	want := []retention.Moved{{Tier: "Cool", Blobs: 18}, {Tier: "Cold", Blobs: 18 + 4}}
	for i := range report.Moved {
		if report.Moved[i].Bytes == 0 {
			t.Errorf("no bytes: %+v", report.Moved[i])
		}
		report.Moved[i].Bytes, dry.Moved[i].Bytes = 0, 0
	}
	if diff := cmp.Diff(want, report.Moved); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, dry.Moved); diff != "" {
		t.Errorf("dry run: %s", diff)
	}
	if dry.Requests != report.Requests || report.Requests.Tier != 2 {
		t.Errorf("foreseen %+v, made %+v", dry.Requests, report.Requests)
	}
	if diff := cmp.Diff(keeps(before, today, worldClass, map[string]int{"": 9}), state(t, s)); diff != "" {
		t.Error(diff)
	}
	for page, err := range s.Blobs().List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range page {
			name, err := blobnaming.Parse(b.Name)
			meta, metaErr := blobnaming.ParseMetadata(b.Metadata)
			age := today.Sub(name.Bucket.Truncate(day)) / day
			want := store.Hot
			switch {
			case err != nil || metaErr != nil:
			case age > 6 || b.Name == cold:
				want = store.Cold
			case age > 3:
				want = store.Cool
			}
			if b.Tier != want {
				t.Errorf("%s, %d days old, of class %q, is in tier %s, not %s", b.Name, age, meta.Class, b.Tier, want)
			}
		}
	}
	again, err := retain(t.Context(), s, policy, retention.Options{})
	if err != nil || again.Err() != nil || len(again.Moved) != 0 || again.Requests.Tier != 0 {
		t.Errorf("the second run: %v, %v, %+v", err, again.Err(), again)
	}
}

func TestTierPolicy(t *testing.T) {
	t.Parallel()
	for _, p := range []retention.Policy{
		{CoolAfter: time.Hour},
		{ColdAfter: -day},
		{CoolAfter: 3 * day, ColdAfter: 3 * day},
		{CoolAfter: 40000 * day},
	} {
		if err := p.Check(true); !errors.Is(err, retention.ErrPolicy) {
			t.Errorf("%+v: %v", p, err)
		}
	}
	p := retention.Policy{CoolAfter: 7 * day, ColdAfter: 30 * day}
	if err := p.Check(false); err != nil {
		t.Error(err)
	}
	cut := p.Cutoffs(at(t, "2026-11-21T10:00:00Z"))
	for _, c := range []struct {
		day       string
		now, want store.Tier
	}{
		{"2026-11-14", store.Hot, store.Hot},
		{"2026-11-13", store.Hot, store.Cool},
		{"2026-10-22", store.Hot, store.Cool},
		{"2026-10-21", store.Hot, store.Cold},
		{"2026-10-21", store.Cool, store.Cold},
		{"2026-11-13", store.Cold, store.Cold},
		{"2026-10-21", "Archive", "Archive"},
		{"2026-10-21", "", ""},
	} {
		if got := cut.Tier(at(t, c.day+"T23:00:00Z"), c.now); got != c.want {
			t.Errorf("%s from %s: %s, want %s", c.day, c.now, got, c.want)
		}
	}
}

// A tier that is left before its least time is charged for it all the same.
func TestEarly(t *testing.T) {
	t.Parallel()
	keep := func(keep time.Duration) map[string]time.Duration { return map[string]time.Duration{"": keep} }
	for _, c := range []struct {
		policy retention.Policy
		says   []string
	}{
		{retention.Policy{Keep: keep(90 * day)}, nil},
		{retention.Policy{Keep: keep(90 * day), CoolAfter: 60 * day}, nil},
		{retention.Policy{Keep: keep(90 * day), CoolAfter: 61 * day}, []string{"the default class is deleted 29d after it was moved to the cool tier, which always charges at least 30d"}},
		{retention.Policy{Keep: keep(30 * day), CoolAfter: 30 * day}, nil}, // never moved
		{retention.Policy{Keep: keep(30 * day), CoolAfter: 7 * day, ColdAfter: 60 * day}, []string{"the default class is deleted 23d after it was moved to the cool tier, which always charges at least 30d"}},
		{retention.Policy{Keep: keep(120 * day), ColdAfter: 30 * day}, nil},
		{retention.Policy{Keep: map[string]time.Duration{"": retention.Forever, "a": 100 * day}, CoolAfter: 7 * day, ColdAfter: 30 * day}, []string{
			"what is kept moves to the cold tier 23d after it was moved to the cool tier, which always charges at least 30d",
			"a is deleted 70d after it was moved to the cold tier, which always charges at least 90d",
		}},
	} {
		if diff := cmp.Diff(c.says, c.policy.Early()); diff != "" {
			t.Errorf("%+v: %s", c.policy, diff)
		}
	}
}
