package compaction_test

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	"logstow/internal/test/aggregatetest"
	"logstow/internal/test/effort"
	"logstow/query"
	"logstow/query/aggregate"
	"logstow/query/cache"
	"logstow/query/output"
	"logstow/query/patterns"
	"logstow/query/report"
	"logstow/query/sorting"
	"logstow/query/stats"
	"logstow/record"
	"logstow/store"
)

// asker runs a list of queries on a store.
type asker struct {
	tb    testing.TB
	s     store.Store
	also  store.Store  // another one, nil is none
	cache *cache.Cache // nil is none
	// from and to are the range of whole queries.
	from, to time.Time
	word     string // that some messages contain
}

// answers are the texts of all answers by query.
func (a *asker) answers() map[string]string {
	a.tb.Helper()
	all := make(map[string]string)
	for _, plan := range []string{query.PlanList, query.PlanIndex} {
		for name, sel := range a.selections() {
			if plan == query.PlanIndex && effort.Of() < effort.Full && name != "everything" && name != "ids" {
				continue // which segments there are does not depend on the selection
			}
			for kind, text := range a.ask(sel, query.Options{Plan: plan, Memory: 64 << 10, TempDir: a.tb.TempDir()}) {
				all[plan+" "+name+" "+kind] = text
			}
		}
	}
	return all
}

func (a *asker) selections() map[string]query.Selection {
	all := map[string]query.Selection{}
	for name, change := range map[string]func(*query.Selection){
		"everything": func(*query.Selection) {},
		"newest":     func(s *query.Selection) { s.Newest, s.Limit = true, 37 },
		"oldest":     func(s *query.Selection) { s.Limit = 41 },
		"errors":     func(s *query.Selection) { s.Levels = 1<<record.Error | 1<<record.Fatal },
		"window": func(s *query.Selection) {
			s.From, s.To = s.From.Add(20*time.Minute), s.From.Add(23*time.Minute+7*time.Second)
		},
		"minutes": func(s *query.Selection) { s.From, s.To = s.From.Add(30*time.Minute), s.From.Add(35*time.Minute) },
		"where":   func(s *query.Selection) { s.Where = []string{`number < 40 and who startsWith "pod-1"`} },
		"word":    func(s *query.Selection) { s.Patterns = []string{a.word} },
		"pattern": func(s *query.Selection) { s.Templates = []string{"line <_>3 <_>"} },
		"nothing": func(s *query.Selection) { s.Patterns = []string{"absent"} },
		"level":   func(s *query.Selection) { s.Patterns = []string{"warn"} },
		"ids":     func(s *query.Selection) { s.IDs = []string{cmp.Or(a.word, "pod-1"), "line 17", "no-1234567"} },
		"service": func(s *query.Selection) { s.Services = []string{"web"}; s.Regexps = []string{"line [0-9]*7 "} },
	} {
		sel := query.Selection{From: a.from, To: a.to}
		change(&sel)
		all[name] = sel
	}
	return all
}

// ask prints the records of a selection in several formats, with context and counted.
func (a *asker) ask(sel query.Selection, o query.Options) map[string]string {
	a.tb.Helper()
	texts := make(map[string]string)
	ctx := a.tb.Context()
	s := query.ReadOnly(a.s)
	s.Cache = a.cache
	stores := []query.Store{s}
	if a.also != nil {
		stores = append(stores, query.ReadOnly(a.also))
	}
	q, err := query.New(stores, sel, o)
	if err != nil {
		a.tb.Fatal(err)
	}
	p, err := q.Plan(ctx)
	if err != nil {
		a.tb.Fatal(err)
	}
	print := func(format string, around bool, run func(emit func(query.Match) error) error) string {
		var b bytes.Buffer
		w, err := output.New(&b, output.Options{Format: format, Around: around})
		if err == nil {
			err = run(w.Write)
		}
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			a.tb.Fatal(err)
		}
		return b.String()
	}
	formats, orders := []string{output.Raw, output.Text, output.JSON}, []string{"number desc", "level|number", "instance desc", "who", "time desc"}
	if effort.Of() < effort.Full { // each of the rest prints or sorts the same records
		formats, orders = formats[2:], orders[:2]
	}
	for _, format := range formats {
		texts[format] = print(format, false, func(emit func(query.Match) error) error { return q.Run(ctx, p, emit) })
	}
	if len(sel.Patterns)+len(sel.Regexps) > 0 || sel.Limit > 0 {
		texts["context"] = print(output.JSON, true, func(emit func(query.Match) error) error {
			return q.RunContext(ctx, p, query.ContextLines{Before: 2, After: 3}, emit)
		})
	}
	for _, items := range orders {
		order, err := sorting.Parse(strings.Split(items, "|"))
		if err != nil {
			a.tb.Fatal(err)
		}
		texts["sorted by "+items] = print(output.JSON, false, func(emit func(query.Match) error) error { return q.Sort(ctx, p, order, emit) })
	}
	for _, text := range []string{"instance", "number", "level"} {
		texts["values of "+text] = a.distinct(q, p, text)
	}
	n, err := q.Count(ctx, p)
	if err != nil {
		a.tb.Fatal(err)
	}
	texts["count"] = fmt.Sprint(n)
	if n == 0 {
		reasons, err := q.Explain(ctx, p, query.ExplainOptions{})
		if err != nil {
			a.tb.Fatal(err)
		}
		for i := range reasons {
			// Which blocks are read differs, and so do the records sampled and the candidates of a template.
			if strings.HasPrefix(reasons[i].Code, "field-") || reasons[i].Code == "template" {
				reasons[i].Text = ""
			}
		}
		texts["reasons"] = fmt.Sprint(reasons)
	}
	counts := []string{"level", "minute", "hour", "day", "90s", "service", "instance", "source", "line", "instance level", "minute instance", "who"}
	computed := []string{"", "service", "instance", "hour,level", "bucket(number)"}
	if effort.Of() < effort.Full {
		counts, computed = []string{"level", "minute instance", "who"}, []string{"instance"}
	}
	for _, by := range counts {
		texts["stats by "+by] = fmt.Sprint(countBy(a.tb, q, p, strings.Fields(by)...))
	}
	for _, by := range computed {
		texts["functions by "+by] = functions(a.tb, q, p, sel, by)
	}
	texts["patterns"] = templates(a.tb, q, p, sel)
	found := q.Report()
	for _, problem := range found.Problems {
		a.tb.Errorf("%v: %v", sel, problem)
	}
	return texts
}

// templates are those of the records of a plan, in the first and the second half of the range.
func templates(tb testing.TB, q *query.Query, p *query.Plan, sel query.Selection) string {
	tb.Helper()
	before := patterns.Range{From: sel.From.UnixNano(), To: sel.From.Add(sel.To.Sub(sel.From) / 2).UnixNano()}
	counted, err := q.PatternsOf(tb.Context(), p, nil, func() *patterns.Counter {
		return patterns.NewComparison(before, patterns.Range{From: before.To, To: sel.To.UnixNano()})
	})
	if err != nil {
		tb.Fatal(err)
	}
	result := counted.Result()
	var b strings.Builder
	for _, t := range result.Templates {
		fmt.Fprintf(&b, "%+v\n", t)
	}
	return b.String() + fmt.Sprint(result.Records, result.Ungrouped, result.Coarse)
}

// distinct are the values of a field.
func (a *asker) distinct(q *query.Query, p *query.Plan, text string) string {
	a.tb.Helper()
	name, err := query.DistinctName(text)
	if err != nil {
		a.tb.Fatal(err)
	}
	var b bytes.Buffer
	sum, err := q.Distinct(a.tb.Context(), p, name, func(v query.DistinctValue) error {
		fmt.Fprintf(&b, "%q %d\n", v.Text, v.Count)
		return nil
	})
	if err != nil {
		a.tb.Fatal(err)
	}
	return fmt.Sprintf("%s%+v", &b, sum)
}

// countBy counts the records of a plan by keys.
func countBy(tb testing.TB, q *query.Query, p *query.Plan, by ...string) *aggregatetest.Counts {
	tb.Helper()
	c, err := stats.Compile(aggregatetest.Count(tb, by, nil), time.Time{})
	if err != nil {
		tb.Fatal(err)
	}
	table, err := q.Stats(tb.Context(), p, c)
	if err != nil {
		tb.Fatal(err)
	}
	counts := aggregatetest.Read(tb, table.Result, nil)
	if err := table.Close(); err != nil {
		tb.Error(err)
	}
	return counts
}

// functions computes functions of the records of a plan by keys, as JSON.
func functions(tb testing.TB, q *query.Query, p *query.Plan, sel query.Selection, by string) string {
	tb.Helper()
	spec := aggregate.Spec{Pivot: -1, From: sel.From.UnixNano(), To: sel.To.UnixNano()}
	var err error
	if by != "" {
		if spec.By, err = aggregate.ParseBy([]string{by}); err != nil {
			tb.Fatal(err)
		}
	}
	const compute = `count, rate, share, ratio(level >= "warn"), count(number < 40), first(line), last(line), first(message), last(who), sum(number), p50(number), stddev(number), distinct(who)`
	if spec.Compute, err = aggregate.ParseCompute([]string{compute}); err != nil {
		tb.Fatal(err)
	}
	c, err := stats.Compile(spec, time.Time{})
	if err != nil {
		tb.Fatal(err)
	}
	table, err := q.Stats(tb.Context(), p, c)
	if err != nil {
		tb.Fatal(err)
	}
	var b bytes.Buffer
	if err := report.Write(&b, table.Result, report.Options{Format: report.JSON}); err != nil {
		tb.Fatal(err)
	}
	if err := table.Close(); err != nil {
		tb.Error(err)
	}
	return b.String()
}

// compare reports the first difference of answers.
func (a *asker) compare(when string, want map[string]string) {
	a.tb.Helper()
	for name, text := range a.answers() {
		if text == want[name] {
			continue
		}
		got, expected := strings.Split(text, "\n"), strings.Split(want[name], "\n")
		i := 0
		for i < len(got) && i < len(expected) && got[i] == expected[i] {
			i++
		}
		line := func(lines []string) string {
			if i < len(lines) {
				return lines[i]
			}
			return "the end"
		}
		a.tb.Fatalf("%s, %s: line %d of %d is\n%.400s\nwant of %d\n%.400s", when, name, i, len(got), line(got), len(expected), line(expected))
	}
}
