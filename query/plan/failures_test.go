package plan_test

import (
	"context"
	"iter"
	"strings"
	"testing"
	"time"

	"logstow/query/explain"
	"logstow/query/match"
	"logstow/query/plan"
	"logstow/query/source"
	"logstow/store"
)

// failing fails the listing of some prefixes.
type failing struct {
	store.BlobReader
	class error
	days  []string
}

func (f failing) List(_ context.Context, prefix string) iter.Seq2[[]store.Blob, error] {
	return func(yield func([]store.Blob, error) bool) {
		for _, day := range f.days {
			if strings.Contains(prefix, day) {
				yield(nil, &store.Error{Op: "list", Object: prefix, Class: f.class, Err: f.class})
				return
			}
		}
		yield(nil, nil)
	}
}

// Each failed listing is a problem. If none succeeds, or the store cannot be reached, one is reported.
func TestFailedListings(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		failing
		want int
	}{
		"some denied":      {failing{class: store.ErrAccessDenied, days: []string{"2026/11/20", "2026/11/21"}}, 2},
		"all denied":       {failing{class: store.ErrAccessDenied, days: []string{"2026/11/"}}, 1},
		"some unavailable": {failing{class: store.ErrUnavailable, days: []string{"2026/11/20", "2026/11/21"}}, 1},
		"one denied":       {failing{class: store.ErrAccessDenied, days: []string{"2026/11/21"}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := match.Compile(match.Selection{Services: []string{"web"}, From: day, To: day.AddDate(0, 0, 3)})
			if err != nil {
				t.Fatal(err)
			}
			rec := source.NewRecorder(1)
			p := &plan.Planner{Matcher: m, Stores: []source.Store{{Name: "s", Blobs: c.failing}}, Recorder: rec, Findings: new(explain.Findings)}
			if _, err := p.Find(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := rec.Report().Problems; len(got) != c.want {
				t.Errorf("%d problems, want %d: %v", len(got), c.want, got)
			}
		})
	}
}
