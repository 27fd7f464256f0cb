package plan_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"logstow/blobnaming"
	"logstow/query/explain"
	"logstow/query/match"
	"logstow/query/plan"
	"logstow/query/source"
	"logstow/record"
	"logstow/store"
	"logstow/store/local"
)

// Services are found in both containers, outputs that are not rejected in the compacted one. What looks like an output or a rejection
// in the raw container is ignored.
func TestBothContainers(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	s, err := local.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	put := func(blobs store.Blobs, name string, output bool, batch byte) {
		t.Helper()
		meta := blobnaming.Metadata{
			Start: day.UnixNano(), End: day.UnixNano(), Records: 1, RawBytes: 40, Levels: record.Counts{record.Info: 1}, Batch: blobnaming.Batch{batch},
			Instance: "i", Footer: 4,
		}
		if output {
			meta.Instance, meta.Origins = blobnaming.OutputInstance, 1
		}
		if _, err := blobs.Create(t.Context(), name, []byte("content"), store.CreateOptions{Metadata: meta.Encode()}); err != nil {
			t.Fatal(err)
		}
	}
	put(s.Blobs(), "shop/2026/11/20/0000/000001.log", false, 1)
	put(s.Blobs(), "shop/2026/11/20/-/000001.log", true, 2)
	put(s.Blobs(), "shop/2026/11/20/-/000002.rejected", false, 3)
	put(s.Compacted(), "shop/2026/11/20/-/000002.log", true, 4)
	put(s.Compacted(), "moved/2026/11/20/-/000001.log", true, 5)
	put(s.Compacted(), "moved/2026/11/20/-/000002.log", true, 6)
	put(s.Compacted(), "moved/2026/11/20/-/000002.rejected", false, 7)
	put(s.Compacted(), "moved/2026/11/20/audit/000001.log", true, 8) // its metadata have no class
	shop, moved := []string{"shop/2026/11/20/-/000002.log", "shop/2026/11/20/0000/000001.log"}, []string{"moved/2026/11/20/-/000001.log"}
	for _, c := range []struct {
		services       []string
		want           []string
		notes, unknown int
	}{
		{nil, slices.Concat(moved, shop), 1, 1}, {[]string{"moved"}, moved, 0, 1}, {[]string{"mov*"}, moved, 0, 1}, {[]string{"shop"}, shop, 1, 0}, {[]string{"other"}, nil, 0, 0},
	} {
		m, err := match.Compile(match.Selection{Services: c.services, From: day, To: day.Add(24 * time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		rec := source.NewRecorder(1)
		p := &plan.Planner{Matcher: m, Stores: []source.Store{source.ReadOnly(s)}, Recorder: rec, Findings: new(explain.Findings)}
		found, err := p.Find(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, one := range found {
			names = append(names, one.String())
		}
		slices.Sort(names)
		report := rec.Report()
		if !slices.Equal(names, c.want) || len(report.Problems) != c.unknown || len(report.Notes) != c.notes ||
			c.notes > 0 && !strings.Contains(report.Notes[0], "shop/: not segments and not read: 2 blobs") {
			t.Errorf("%q: %q, problems %v, notes %q, want %q", c.services, names, report.Problems, report.Notes, c.want)
		}
	}
}
