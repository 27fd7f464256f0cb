package retention_test

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/internal/test/testrand"
	"logstow/retention"
)

var update = flag.Bool("update", false, "rewrite testdata/policy.txt")

const day = 24 * time.Hour

func at(tb testing.TB, text string) time.Time {
	tb.Helper()
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// TestPolicyGolden compares what goes and why with testdata/policy.txt.
func TestPolicyGolden(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, c := range []struct {
		now    string
		policy retention.Policy
	}{
		{"2026-11-21T00:00:00Z", retention.Policy{Keep: map[string]time.Duration{"": 30 * day}}},
		{"2026-11-20T23:59:59Z", retention.Policy{Keep: map[string]time.Duration{"": 30 * day}}},
		{"2026-11-21T12:30:00+05:30", retention.Policy{Keep: map[string]time.Duration{"": 36 * time.Hour, "audit": 365 * day}}},
		{"2024-03-01T00:00:00Z", retention.Policy{Keep: map[string]time.Duration{"": day, "debug": 6 * time.Hour}}},
		{"2026-11-21T10:00:00Z", retention.Policy{Keep: map[string]time.Duration{"": retention.Forever, "x": 3 * day}, MaxBytes: 1000}},
	} {
		now := at(t, c.now)
		cut := c.policy.Cutoffs(now)
		fmt.Fprintf(&b, "now %s", c.now)
		for _, class := range slices.Sorted(maps.Keys(c.policy.Keep)) {
			fmt.Fprintf(&b, ", %q %s", class, c.policy.Keep[class])
		}
		fmt.Fprintf(&b, ", at most %d bytes\n", c.policy.MaxBytes)
		if c.policy.MaxBytes > 0 {
			var usage []retention.Usage
			for i := range 6 {
				usage = append(usage, retention.Usage{Day: now.Truncate(day).Add(-time.Duration(i) * day), Blobs: 1, Bytes: 300})
			}
			var left int64
			cut, left = cut.Fit(usage)
			fmt.Fprintf(&b, "  %d bytes are left of 1800\n", left)
		}
		fmt.Fprintf(&b, "  end %s\n", cut.End().Format(time.DateOnly))
		for _, class := range []string{"", "audit", "debug", "x"} {
			for _, age := range []int{-1, 0, 1, 2, 3, 29, 30, 31, 364, 365, 366, 367} {
				d := now.UTC().Truncate(day).AddDate(0, 0, -age)
				verdict := "keep"
				if cut.Judge(class, d).Deletes() {
					verdict = "go  "
				}
				fmt.Fprintf(&b, "  %s %s %-5s %s\n", verdict, d.Format(time.DateOnly), class, cut.Why(class, d))
			}
		}
	}
	const path = "testdata/policy.txt"
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Error(diff)
	}
}

func TestPolicyRejected(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		policy retention.Policy
		force  bool
		says   string
	}{
		"empty":           {retention.Policy{}, true, "neither a class"},
		"only size":       {retention.Policy{MaxBytes: 5}, true, "neither a class"},
		"zero":            {retention.Policy{Keep: map[string]time.Duration{"": 0}}, true, "0s"},
		"negative":        {retention.Policy{Keep: map[string]time.Duration{"a": -day}}, true, "a would be kept"},
		"short":           {retention.Policy{Keep: map[string]time.Duration{"": day - 1}}, false, "less than a day"},
		"very long":       {retention.Policy{Keep: map[string]time.Duration{"": 40000 * day}}, true, "100 years"},
		"neither a class": {retention.Policy{Keep: map[string]time.Duration{"A b": 40 * day}}, true, `"A b"`},
		"negative size":   {retention.Policy{Keep: map[string]time.Duration{"": 40 * day}, MaxBytes: -1}, true, "-1 bytes"},
		"all of them":     {retention.Policy{Keep: map[string]time.Duration{"": 0, "b": -1}}, true, "b would"},
	} {
		err := c.policy.Check(c.force)
		if !errors.Is(err, retention.ErrPolicy) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
	for _, keep := range []time.Duration{day, 365 * day, retention.Forever} {
		if err := (retention.Policy{Keep: map[string]time.Duration{"": keep}}).Check(false); err != nil {
			t.Error(err)
		}
	}
	if err := (retention.Policy{Keep: map[string]time.Duration{"": time.Hour}}).Check(true); err != nil {
		t.Error(err)
	}
}

// Nothing younger than its class's time goes, what is a day older does; an unnamed
// class never does; and after End nothing does.
func TestPolicyProperties(t *testing.T) {
	t.Parallel()
	r := testrand.New(t)
	for range 20_000 {
		now := time.Unix(r.Int64N(4e9), r.Int64N(1e9))
		p := retention.Policy{Keep: map[string]time.Duration{}}
		classes := []string{"", "a", "b"}
		for _, class := range classes[:1+r.IntN(2)] {
			p.Keep[class] = time.Duration(1 + r.Int64N(int64(400*day)))
		}
		cut := p.Cutoffs(now)
		for range 5 {
			class := classes[r.IntN(3)]
			bucket := now.Add(-time.Duration(r.Int64N(int64(500 * day))))
			ends := bucket.UTC().Truncate(day).Add(day)
			keep, named := p.Keep[class]
			want := named && !ends.Add(keep).After(now)
			if got := cut.Judge(class, bucket).Deletes(); got != want {
				t.Fatalf("now %v, kept %v: class %q of %v goes: %v", now, p.Keep, class, bucket, got)
			}
			if want && !bucket.Before(cut.End()) {
				t.Fatalf("now %v, kept %v: class %q of %v goes after %v", now, p.Keep, class, bucket, cut.End())
			}
		}
	}
}

// Fit takes no more days than it must, the oldest first, and never today.
func TestFitProperties(t *testing.T) {
	t.Parallel()
	r := testrand.New(t)
	now := at(t, "2026-11-21T10:00:00Z")
	for range 5000 {
		p := retention.Policy{Keep: map[string]time.Duration{"": 10 * day, "a": 20 * day}, MaxBytes: 1 + r.Int64N(3000)}
		var usage []retention.Usage
		for i := range 30 {
			for _, class := range []string{"", "a", "unnamed"} {
				usage = append(usage, retention.Usage{Class: class, Day: now.Truncate(day).Add(-time.Duration(i) * day), Bytes: r.Int64N(60)})
			}
		}
		r.Shuffle(len(usage), func(i, j int) { usage[i], usage[j] = usage[j], usage[i] })
		before := p.Cutoffs(now)
		cut, left := before.Fit(usage)
		var kept, newest int64
		var last time.Time // of the days that go for their size
		for _, u := range usage {
			switch v := cut.Judge(u.Class, u.Day); {
			case !v.Deletes():
				kept += u.Bytes
			case u.Class == "unnamed" || !u.Day.Before(now.Truncate(day)):
				t.Fatalf("%v goes", u)
			case v == retention.Oversize && u.Day.After(last):
				last, newest = u.Day, u.Bytes
			case v == retention.Oversize && u.Day.Equal(last):
				newest += u.Bytes
			}
		}
		if kept != left {
			t.Fatalf("%d bytes are kept, %d by Fit", kept, left)
		}
		if !last.IsZero() && kept+newest <= p.MaxBytes {
			t.Fatalf("%d bytes are kept of %d allowed: %v need not go", kept, p.MaxBytes, last)
		}
		for _, u := range usage {
			gone := cut.Judge(u.Class, u.Day).Deletes()
			if left > p.MaxBytes && !gone && u.Class != "unnamed" && u.Day.Before(now.Truncate(day)) {
				t.Fatalf("%d bytes are left of %d allowed, and %v is kept", left, p.MaxBytes, u)
			}
			if !last.IsZero() && u.Class != "unnamed" && u.Day.Before(last) && !gone {
				t.Fatalf("%v is kept, %v goes", u, last)
			}
		}
	}
}
