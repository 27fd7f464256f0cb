package query

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"logstow/internal/test/querytest"
	"logstow/record"
)

// An empty result is explained from what was read; requests are made only where nothing was listed.
func TestExplainReadsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, false)
	var records []record.Record
	for i := range 3000 {
		records = append(records, record.Record{
			Time: origin().Add(time.Duration(i) * time.Second).UnixNano(), Level: record.Info, Source: "app.log",
			Attributes: []byte(`{"resource":{"k8s.pod.name":"Shop-5d"}}`),
			Message:    fmt.Appendf(nil, `{"status":%d,"id":"order-%06d","pad":"%s"}`, 200+i%5, i, strings.Repeat("x", i%90)),
		})
	}
	w.add("web", "pod-1", 8<<10, [16]byte{1}, records)
	all := Selection{From: origin(), To: origin().Add(time.Hour), Now: origin()}
	for _, c := range []struct {
		change func(*Selection)
		lists  int64
		want   string
	}{
		{func(s *Selection) { s.Services, s.Patterns = []string{"web"}, []string{"nothing"} }, 0, "pattern"},
		{func(s *Selection) { s.Patterns = []string{"order-777777"} }, 0, "pattern identifier"},
		{func(s *Selection) { s.Patterns = []string{"order-00001"} }, 0, "identifier"},
		{func(s *Selection) { s.Patterns = []string{"STATUS"} }, 0, "case"},
		{func(s *Selection) { s.Patterns = []string{"SHOP"} }, 0, "case"},
		{func(s *Selection) { s.Where = []string{`k8s.pod.nam == "x"`} }, 0, "field-missing"},
		{func(s *Selection) { s.Where = []string{`attribute("status") > 1`} }, 0, "field-missing"},
		{func(s *Selection) { s.Where = []string{`attribute.k8s.pod.name > 1`} }, 0, "field-type"},
		{func(s *Selection) { s.Where = []string{"statsu > 1"} }, 0, "field-missing"},
		{func(s *Selection) { s.Where = []string{"status == '201'"} }, 0, "field-type"},
		{func(s *Selection) { s.Where = []string{"status > 300"} }, 0, "where"},
		{func(s *Selection) { s.Where = []string{"status > 300ms"} }, 0, "field-type"},
		{func(s *Selection) { s.Where = []string{`instance == "pod-11"`} }, 0, "instance-unknown"},
		{func(s *Selection) { s.Where = []string{`instance == "pod-1" and status > 300`} }, 0, "where"},
		{func(s *Selection) { s.Where = []string{`instance == "pod-11" or status > 300`} }, 0, "where"},
		{func(s *Selection) { s.Where = []string{`instance contains "x"`} }, 0, "where"},
		{func(s *Selection) { s.Sources = []string{"ap.log"} }, 0, "source-unknown"},
		{func(s *Selection) { s.Excludes = []string{"status"} }, 0, "exclude"},
		{func(s *Selection) { s.Levels = 1 << record.Error }, 0, "level"},
		{func(s *Selection) { s.Services = []string{"wbe"} }, 2, "service-unknown"},
		{func(s *Selection) { s.Services = []string{"wbe", "web"}; s.Patterns = []string{"nothing"} }, 2, "service-unknown pattern"},
		{func(s *Selection) {
			s.Services = []string{"web"}
			s.From, s.To = origin().Add(-9*time.Hour), origin()
		}, 10, "range-empty"},
	} {
		sel := all
		c.change(&sel)
		q := w.query(sel, Options{})
		p, err := q.Plan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		n, err := q.Count(t.Context(), p)
		if err != nil || n != 0 {
			t.Fatalf("%+v: %d found, %v", sel, n, err)
		}
		before := q.Report().Requests
		reasons, err := q.Explain(t.Context(), p, ExplainOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var codes []string
		for _, r := range reasons {
			codes = append(codes, r.Code)
		}
		after := q.Report().Requests
		if got := strings.Join(codes, " "); got != c.want || after.Get != before.Get || after.List-before.List != c.lists {
			t.Errorf("%+v: %v, want %s; %d reads and %d listings more", sel, reasons, c.want, after.Get-before.Get, after.List-before.List)
		}
	}
}

// That the range holds no record of the wanted levels is found in several stores, too.
func TestExplainLevelsOfSeveralStores(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, false)
	w.add("web", "pod-1", 8<<10, [16]byte{1}, []record.Record{{Time: origin().UnixNano(), Level: record.Info, Source: "app.log", Message: []byte("a")}})
	stores := []Store{{Name: "a", Blobs: w.memory}, {Name: "b", Blobs: w.memory}}
	q, err := New(stores, Selection{From: origin(), To: origin().Add(time.Hour), Now: origin(), Levels: 1 << record.Error}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := q.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	reasons, err := q.Explain(t.Context(), p, ExplainOptions{})
	if err != nil || len(reasons) != 1 || reasons[0].Code != "level" || !strings.Contains(reasons[0].Text, ": INFO 1") {
		t.Errorf("%v, %v", reasons, err)
	}
}

// Where columns show that no record matches, the text of one block is read, which explains it.
func TestExplainByColumns(t *testing.T) {
	t.Parallel()
	w, _ := sortWorld(t)
	sel := querytest.Everything()
	sel.To = sel.To.AddDate(100, 0, 0)
	ways := map[string]func(*Query, *Plan) error{
		"count":    func(q *Query, p *Plan) error { _, err := q.Count(t.Context(), p); return err },
		"sort":     func(q *Query, p *Plan) error { sorted(t, q, p, "n"); return nil },
		"distinct": func(q *Query, p *Plan) error { distinctValues(t, q, p, "m"); return nil },
	}
	for where, want := range map[string]string{"same > 1": "field-type", "n == '1'": "field-type", "same.x > 1 and n < 0": "field-missing", "n < 0": "where"} {
		sel := sel
		sel.Limit, sel.Where = 5, []string{where}
		for name, ask := range ways {
			q, p := w.planned(sel, Options{})
			if err := ask(q, p); err != nil {
				t.Fatal(err)
			}
			if r := q.Report(); r.BlocksRead != 1 || r.BlocksRead+r.BlocksExcluded+r.BlocksColumns != r.BlocksTotal {
				t.Errorf("%s, %s: of %d blocks %d read, %d excluded, %d from columns", where, name, r.BlocksTotal, r.BlocksRead, r.BlocksExcluded, r.BlocksColumns)
			}
			reasons, err := q.Explain(t.Context(), p, ExplainOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if len(reasons) != 1 || reasons[0].Code != want {
				t.Errorf("%s, %s: %v, want %s", where, name, reasons, want)
			}
		}
	}
}

// A field that no record has is noted, also if columns have all that was needed.
func TestMissingFieldsByColumns(t *testing.T) {
	t.Parallel()
	w, _ := sortWorld(t)
	sel := querytest.Everything()
	sel.To = sel.To.AddDate(100, 0, 0)
	sel.Where = []string{"not has(tenth)"}
	q, p := w.planned(sel, Options{})
	_, sum := distinctValues(t, q, p, "tenth")
	if r := q.Report(); !sum.Unseen || r.BlocksRead != 0 || r.BlocksColumns == 0 {
		t.Fatalf("%+v, %+v", sum, r)
	}
	if got := q.MissingFields([]string{"tenth"}); len(got) != 1 || got[0].Code != "field-missing" || !strings.Contains(got[0].Text, `"tenth" does not occur in the records that match`) {
		t.Errorf("%v", got)
	}
	if got := q.MissingFields(nil); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

// How many records match everything but the expression is said if it is known.
func TestExplainUnreadRecords(t *testing.T) {
	t.Parallel()
	w, _ := sortWorld(t)
	for name, c := range map[string]struct {
		change func(*Selection)
		want   string
	}{
		"columns":  {func(*Selection) {}, "removed all 4000 records that match everything else"},
		"level":    {func(s *Selection) { s.Levels = 1 << 2 }, "removed all records that match everything else"},
		"source":   {func(s *Selection) { s.Sources = []string{"a*"} }, "removed all records that match everything else"},
		"text":     {func(s *Selection) { s.Patterns = []string{"same"} }, "removed all records that match everything else"},
		"unread":   {func(s *Selection) { s.Patterns = []string{"nothing"} }, "is true for none of "},
		"excluded": {func(s *Selection) { s.Excludes = []string{"x"} }, "is true for none of "},
	} {
		sel := querytest.Everything()
		sel.To = sel.To.AddDate(100, 0, 0)
		sel.Where = []string{"n < 0"}
		c.change(&sel)
		q, p := w.planned(sel, Options{})
		if n, err := q.Count(t.Context(), p); err != nil || n != 0 {
			t.Fatal(n, err)
		}
		if q.Report().BlocksExcluded == 0 {
			t.Errorf("%s: no block is excluded", name)
		}
		reasons, err := q.Explain(t.Context(), p, ExplainOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(reasons) != 1 || !strings.HasPrefix(reasons[0].Text, "--where "+c.want) {
			t.Errorf("%s: %v, want %q", name, reasons, c.want)
		}
	}
}
