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
	class    error
	prefixes []string
}

func (f failing) List(_ context.Context, prefix string) iter.Seq2[[]store.Blob, error] {
	return func(yield func([]store.Blob, error) bool) {
		for _, refused := range f.prefixes {
			if strings.HasPrefix(prefix, refused) {
				yield(nil, &store.Error{Op: "list", Object: prefix, Class: f.class, Err: f.class})
				return
			}
		}
		yield(nil, nil)
	}
}

// Each service that cannot be listed, or not completely, is a problem. If the store cannot be reached, one is reported.
func TestFailedListings(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		failing
		want int
	}{
		"some denied":      {failing{class: store.ErrAccessDenied, prefixes: []string{"api/2026/11/", "api/2026/12", "web/2026/12/"}}, 2},
		"all denied":       {failing{class: store.ErrAccessDenied, prefixes: []string{""}}, 3},
		"some unavailable": {failing{class: store.ErrUnavailable, prefixes: []string{"api/", "web/2026/12/"}}, 1},
		"all unavailable":  {failing{class: store.ErrUnavailable, prefixes: []string{""}}, 1},
		"one denied":       {failing{class: store.ErrAccessDenied, prefixes: []string{"web/2026/11/"}}, 1},
		"none":             {failing{class: store.ErrAccessDenied}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := match.Compile(match.Selection{Services: []string{"api", "web", "x"}, From: day, To: day.AddDate(0, 0, 30)})
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
