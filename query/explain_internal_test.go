package query

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"logstow/field"
	"logstow/record"
	"logstow/where"
)

// What is known, and the codes of the reasons in their order.
func TestExplain(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 15, 30, 0, 0, time.UTC)
	rejected := func(pairs ...uint64) (r rejections) {
		for i := 0; i < len(pairs); i += 2 {
			r[pairs[i]] = pairs[i+1]
		}
		return r
	}
	use := func(name string, kind field.Kind, kinds map[field.Kind]int) sampledUse {
		return sampledUse{Use: where.Use{Field: name, Kind: kind}, kinds: kinds}
	}
	levels := func(l record.Level, n uint64) (c record.Counts) { c[l] = n; return c }
	some := evidence{segments: 1, recordsKnown: true, records: 9, levels: levels(record.Info, 9)}
	for name, c := range map[string]struct {
		sel  Selection
		e    evidence
		want string
	}{
		"empty store":                 {Selection{}, evidence{servicesKnown: true}, "store-empty"},
		"empty store, named":          {Selection{Services: []string{"a"}}, evidence{servicesKnown: true, defaulted: true}, "store-empty"},
		"unknown":                     {Selection{Services: []string{"wbe"}}, evidence{servicesKnown: true, services: []string{"web"}}, "service-unknown"},
		"unknown and known":           {Selection{Services: []string{"wbe", "web"}}, evidence{servicesKnown: true, services: []string{"web"}}, "service-unknown range-empty"},
		"glob":                        {Selection{Services: []string{"x*"}}, evidence{servicesKnown: true, services: []string{"web"}}, "service-unknown"},
		"glob that matches":           {Selection{Services: []string{"w*"}}, evidence{servicesKnown: true, services: []string{"web"}}, "range-empty"},
		"services not listed":         {Selection{Services: []string{"w"}}, evidence{}, "range-empty"},
		"old":                         {Selection{}, evidence{newest: now.Add(-time.Hour * 50), newestOf: "web"}, "range-empty"},
		"ahead":                       {Selection{}, evidence{newest: now.Add(9 * time.Hour), newestOf: "web", defaulted: true}, "future"},
		"index":                       {Selection{}, evidence{indexed: true}, "index"},
		"default range":               {Selection{Patterns: []string{"x"}}, with(some, func(e *evidence) { e.defaulted = true }), "pattern default-range"},
		"level":                       {Selection{Levels: 1 << record.Error}, some, "level"},
		"no levels":                   {Selection{Levels: 1 << record.Error}, with(some, func(e *evidence) { e.levels = levels(record.None, 4) }), "levels-missing"},
		"levels of others":            {Selection{Levels: 1 << record.Error}, evidence{foreign: 1}, "level"},
		"source":                      {Selection{Sources: []string{"a*"}}, with(some, func(e *evidence) { e.sources, e.sourcesKnown = []string{"b"}, true }), "source-unknown"},
		"source of some":              {Selection{Sources: []string{"b*"}, Patterns: []string{"x"}}, with(some, func(e *evidence) { e.sources, e.sourcesKnown, e.rejected = []string{"b"}, true, rejected(2, 3) }), "source"},
		"too many sources":            {Selection{Sources: []string{"a*"}}, with(some, func(e *evidence) { e.sources = []string{"b"} }), "range-empty"},
		"excluded":                    {Selection{Patterns: []string{"x"}, Excludes: []string{"y"}}, with(some, func(e *evidence) { e.rejected = rejected(0, 7, 6, 3) }), "exclude"},
		"regexp":                      {Selection{Regexps: []string{"x"}}, with(some, func(e *evidence) { e.rejected = rejected(5, 3) }), "regexp"},
		"regexp without candidates":   {Selection{Regexps: []string{"x"}}, some, "regexp"},
		"inside":                      {Selection{Patterns: []string{"order-123"}}, with(some, func(e *evidence) { e.rejected = rejected(4, 3) }), "identifier"},
		"identifier":                  {Selection{Patterns: []string{"order-123"}}, some, "pattern identifier"},
		"identifier as substring":     {Selection{Patterns: []string{"order-123"}, Substring: true}, some, "pattern"},
		"case":                        {Selection{Patterns: []string{"X"}}, with(some, func(e *evidence) { e.sample.otherCase = []string{"X"} }), "case"},
		"several patterns":            {Selection{Patterns: []string{"x", "y"}}, with(some, func(e *evidence) { e.rejected = rejected(3, 3) }), "pattern"},
		"service as pattern":          {Selection{Patterns: []string{"web"}}, with(some, func(e *evidence) { e.planned = []string{"web"} }), "pattern service-name"},
		"level as pattern":            {Selection{Patterns: []string{"info"}}, some, "pattern level-name"},
		"level as pattern and level":  {Selection{Patterns: []string{"info"}, Levels: 1 << record.Info}, some, "pattern"},
		"other level":                 {Selection{Patterns: []string{"x"}, Levels: 1 << record.Info}, with(some, func(e *evidence) { e.rejected = rejected(1, 3) }), "level"},
		"level rare":                  {Selection{Levels: 1 << record.Info}, some, "level"},
		"outside":                     {Selection{}, with(some, func(e *evidence) { e.rejected = rejected(0, 3) }), "range-empty"},
		"outside, unread":             {Selection{}, some, "range-empty"},
		"where":                       {Selection{Where: []string{"a > 1"}}, with(some, func(e *evidence) { e.rejected = rejected(7, 3) }), "where"},
		"where without candidates":    {Selection{Where: []string{"a > 1"}}, some, "where"},
		"field missing":               {Selection{Where: []string{"a > 1"}}, sampleOf(some, use("a", field.Number, nil)), "field-missing"},
		"field missing in candidates": {Selection{Where: []string{"a > 1"}}, with(sampleOf(some, use("a", field.Number, nil)), func(e *evidence) { e.rejected = rejected(7, 3) }), "field-missing"},
		"field twice":                 {Selection{Where: []string{"a > 1 and a < 2"}}, sampleOf(some, use("a", field.Number, nil), use("a", field.Number, nil)), "field-missing"},
		"string for number":           {Selection{Where: []string{"a > 1"}}, sampleOf(some, use("a", field.Number, map[field.Kind]int{field.String: 3})), "field-type"},
		"number for string":           {Selection{Where: []string{"a > 1"}}, sampleOf(some, use("a", field.String, map[field.Kind]int{field.Number: 3, field.Null: 1})), "field-type"},
		"null for string":             {Selection{Where: []string{"a > 1"}}, sampleOf(some, use("a", field.String, map[field.Kind]int{field.Null: 1})), "field-type"},
		"bare for number":             {Selection{Where: []string{"a > 1"}}, sampleOf(some, use("a", field.Number, map[field.Kind]int{field.Bare: 3})), "where"},
		"some of the kind":            {Selection{Where: []string{"a > 1"}}, sampleOf(some, use("a", field.Number, map[field.Kind]int{field.String: 3, field.Number: 1})), "where"},
		"value in another case":       {Selection{Where: []string{"a == 'X'"}}, sampleOf(some, sampledUse{Use: where.Use{Field: "a", Kind: field.String, Equal: []string{"X"}}, kinds: map[field.Kind]int{field.String: 3}, values: []string{"x", "y"}}), "value-unknown"},
		"short value":                 {Selection{Where: []string{"a == 'u1'"}}, sampleOf(some, sampledUse{Use: where.Use{Field: "a", Kind: field.String, Equal: []string{"u1"}}, kinds: map[field.Kind]int{field.String: 3}, values: []string{"u2", "u3"}}), "where"},
		"misspelled value":            {Selection{Where: []string{"a == 'retyr'"}}, sampleOf(some, sampledUse{Use: where.Use{Field: "a", Kind: field.String, Equal: []string{"retyr"}}, kinds: map[field.Kind]int{field.String: 3}, values: []string{"retry"}}), "value-unknown"},
		"any kind":                    {Selection{Where: []string{"a"}}, sampleOf(some, use("a", field.Missing, map[field.Kind]int{field.Composite: 3})), "where"},
		"nothing sampled":             {Selection{Where: []string{"a > 1"}}, with(sampleOf(some, use("a", field.Number, nil)), func(e *evidence) { e.sample.records = 0 }), "where"},
	} {
		c.sel.Now, c.sel.From, c.sel.To, c.e.sel = now, now.Add(-time.Hour), now.Add(time.Hour), &c.sel
		var codes []string
		for _, r := range explain(&c.e) {
			codes = append(codes, r.Code)
			if r.Text == "" || strings.ContainsAny(r.Text, "\n") || strings.HasSuffix(r.Text, ".") || strings.Contains(r.Text, "%!") {
				t.Errorf("%s: %q", name, r.Text)
			}
		}
		if got := strings.Join(codes, " "); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func with(e evidence, change func(*evidence)) evidence {
	change(&e)
	return e
}

// sampleOf is evidence with a sample of nine records that have fields.
func sampleOf(e evidence, uses ...sampledUse) evidence {
	e.sample = sampled{records: 9, all: true, names: []string{"b"}, uses: uses}
	return e
}

// An empty result is explained from what was read; requests are made only where nothing was listed.
func TestExplainReadsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, false)
	var records []record.Record
	for i := range 3000 {
		records = append(records, record.Record{
			Time: origin().Add(time.Duration(i) * time.Second).UnixNano(), Level: record.Info, Source: "app.log",
			Message: fmt.Appendf(nil, `{"status":%d,"id":"order-%06d","pad":"%s"}`, 200+i%5, i, strings.Repeat("x", i%90)),
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
		{func(s *Selection) { s.Where = []string{"statsu > 1"} }, 0, "field-missing"},
		{func(s *Selection) { s.Where = []string{"status == '201'"} }, 0, "field-type"},
		{func(s *Selection) { s.Where = []string{"status > 300"} }, 0, "where"},
		{func(s *Selection) { s.Sources = []string{"ap.log"} }, 0, "source-unknown"},
		{func(s *Selection) { s.Excludes = []string{"status"} }, 0, "exclude"},
		{func(s *Selection) { s.Levels = 1 << record.Error }, 0, "level"},
		{func(s *Selection) { s.Services = []string{"wbe"} }, 1, "service-unknown"},
		{func(s *Selection) { s.Services = []string{"wbe", "web"}; s.Patterns = []string{"nothing"} }, 1, "service-unknown pattern"},
		{func(s *Selection) { s.Services = []string{"web"}; s.From, s.To = origin().Add(-9*time.Hour), origin() }, 6, "range-empty"},
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
		reasons, err := q.Explain(t.Context(), p, false)
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
