package match_test

import (
	"bytes"
	"fmt"
	"regexp"
	"testing"
	"time"

	"logstow/internal/test/querytest"
	"logstow/query/match"

	"github.com/google/go-cmp/cmp"

	"logstow/internal/test/testrand"
	"logstow/record"
	"logstow/segment"
)

// scanned is what the block search finds in records written one after the other.
func scanned(t *testing.T, sel *match.Selection, records []record.Record) []string {
	t.Helper()
	m, err := match.Compile(*sel)
	if err != nil {
		t.Fatal(err)
	}
	var text []byte
	b := segment.Block{Records: uint64(len(records)), Start: records[0].Time, End: records[0].Time}
	for _, r := range records {
		text = append(text, querytest.Stored(r)...)
		b.Start, b.End = min(b.Start, r.Time), max(b.End, r.Time)
		b.Levels[r.Level]++
		if r.Attributes != nil {
			b.Attributes++
		}
	}
	got := []string{}
	if !m.MayMatch(b.Start, b.End, b.Levels) {
		return got
	}
	s := match.NewScanner(m)
	if err := s.Scan(text, m.ChecksFor(&b, "", "pod-1"), func(start, end int, _ *record.Columns) { got = append(got, string(text[start:end])+"\n") }); err != nil {
		t.Fatal(err)
	}
	return got
}

func compare(t *testing.T, sel *match.Selection, records []record.Record) {
	t.Helper()
	want := []string{}
	for _, r := range records {
		if querytest.MatchesSlowly(t, sel, "pod-1", r) {
			want = append(want, string(querytest.Stored(r)))
		}
	}
	if diff := cmp.Diff(want, scanned(t, sel, records)); diff != "" {
		t.Errorf("%+v (-reference +scan)\n%s", *sel, diff)
	}
}

// Letters outside of ASCII that fold to letters in it match in any case, and only where they are.
func TestFoldingOutsideASCII(t *testing.T) {
	t.Parallel()
	plain := []string{"disk sessions", "DISK SESSIONS", "disc", "Disk", "s k"}
	outside := append([]string{"di\u017f\u212a \u017fe\u017f\u017fion\u017f", "\u212a"}, plain...)
	for _, messages := range [][]string{plain, outside} {
		records := querytest.Messages(messages...)
		for _, expr := range []string{"(?i)disk", "(?i)sessions", "(?i)disk sessions", "(?i)k", "(?i)s", "(?i)(sessions|disk)", "(?i)disk.*s$"} {
			for _, patterns := range [][]string{nil, {"s"}} {
				sel := querytest.Everything()
				sel.Regexps, sel.Patterns = []string{expr}, patterns
				compare(t, &sel, records)
			}
		}
	}
}

func TestScan(t *testing.T) {
	t.Parallel()
	records := querytest.Messages(
		"plain text", "", "two\nlines", "two\n\nempty\n", "\ttab first", "x\n\ttab in a continuation",
		"id=1234567 done", "id=12345678 done", `a\n1234567`, "1234567", "trailing\n", "\n", "10.0.0.1:80", "110.0.0.1",
		"Upper CASE", "upper case", "\xff\xfe odd", "\u212a kelvin", "k", "\ufffd", "ERROR\tapp/0.log", "end",
	)
	for _, sel := range []match.Selection{
		{},
		{Patterns: []string{""}},
		{Patterns: []string{"text"}},
		{Patterns: []string{"two\nlines"}},
		{Patterns: []string{"\n"}},
		{Patterns: []string{"\n\n"}},
		{Patterns: []string{"\t"}},
		{Patterns: []string{"\ttab"}},
		{Patterns: []string{"\n\ttab"}},
		{Patterns: []string{"1234567"}},
		{Patterns: []string{"1234567"}, Substring: true},
		{Patterns: []string{"10.0.0.1"}},
		{Patterns: []string{"upper", "case"}, IgnoreCase: true},
		{Patterns: []string{"UPPER"}, Excludes: []string{"CASE"}, IgnoreCase: true},
		{Patterns: []string{"ERROR\t"}},
		{Patterns: []string{"app/"}},
		{Patterns: []string{"1970"}},
		{Patterns: []string{"\xff"}},
		{Patterns: []string{"k"}, IgnoreCase: true},
		{Excludes: []string{"e"}},
		{Templates: []string{"<_>e<_>"}},
		{Templates: []string{"e <_>"}, Patterns: []string{"e"}},
		{Excludes: []string{""}},
		{Regexps: []string{`^two$`}},
		{Regexps: []string{`(?m)^lines$`}},
		{Regexps: []string{`^\n$`}},
		{Regexps: []string{`wo\nli`}},
		{Regexps: []string{"k"}, IgnoreCase: true},
		{Regexps: []string{"(?i)elvin|K"}},
		{Regexps: []string{"\ufffd"}},
		{Regexps: []string{`i{1}d=(\d{3,})4567`, "done"}},
		{Regexps: []string{`(text){0,3}`}},
		{Regexps: []string{`text|odd`}},
		{Sources: []string{"app/1*"}},
		{Sources: []string{"*"}},
		{Sources: []string{"none", "app/1*", "app/0*"}},
		{Sources: []string{"**"}, Levels: 1<<record.Error | 1<<record.None},
	} {
		sel.From, sel.To = time.Unix(0, 2), time.Unix(0, 20)
		compare(t, &sel, records)
		sel.From, sel.To = time.Unix(-1, 0), time.Unix(1, 0)
		compare(t, &sel, records)
	}
}

// Random records of few letters, so that patterns hit often, searched in every way.
func TestScanRandom(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	for range 3000 {
		records := querytest.Messages(make([]string, 1+rnd.IntN(12))...)
		for i := range records {
			records[i].Message, records[i].Attributes = querytest.RandomText(rnd, 24), querytest.RandomAttributes(rnd)
		}
		sel := querytest.RandomSelection(rnd, records)
		compare(t, &sel, records)
	}
}

func TestScanReportsBrokenLines(t *testing.T) {
	t.Parallel()
	sel := querytest.Everything()
	m, err := match.Compile(sel)
	if err != nil {
		t.Fatal(err)
	}
	good := string(querytest.Stored(record.Record{Source: "-", Message: []byte("m")}))
	for _, bad := range []string{"\n", "x\n", good[:30] + "\n", good[:34] + "\n", "\t\n", good[:30] + "\tWHAT\t-\t-\tm\n", good[:30]} {
		found := 0
		s := match.NewScanner(m)
		if err := s.Scan([]byte(bad), match.Checks{}, func(int, int, *record.Columns) { found++ }); err == nil || found != 0 {
			t.Errorf("%q: %d records, error %v", bad, found, err)
		}
	}
}

// Whatever a block holds, the search ends, stays in bounds and finds what the
// obvious way finds.
func FuzzScan(f *testing.F) {
	f.Add([]byte("a\nb\xffid=1234567\n\tx"), "1234567", `^a`, true)
	f.Add([]byte("\n\n\t\t"), "\n\t", `\t`, false)
	f.Fuzz(func(t *testing.T, data []byte, pattern, expr string, fold bool) {
		if len(data) > 1<<12 || len(expr) > 50 {
			return
		}
		sel := querytest.Everything()
		sel.Patterns, sel.IgnoreCase = []string{pattern}, fold
		if _, err := regexp.Compile(expr); err == nil {
			sel.Regexps = []string{expr}
		}
		var records []record.Record
		for i, m := range bytes.Split(data, []byte("\xff")) {
			records = append(records, record.Record{Time: int64(i), Source: "-", Message: m})
		}
		compare(t, &sel, records)
		m, err := match.Compile(sel)
		if err != nil {
			t.Fatal(err)
		}
		s := match.NewScanner(m)
		_ = s.Scan(data, match.Checks{Time: true}, func(start, end int, _ *record.Columns) { _ = data[start:end] })
	})
}

// BenchmarkCount compares searching a block with counting the pattern alone.
func BenchmarkCount(b *testing.B) {
	var text []byte
	for i := 0; len(text) < 1<<20; i++ {
		text = record.AppendText(text, record.Record{
			Time: int64(i) * 1e6, Level: record.Info, Source: "api.log",
			Message: fmt.Appendf(nil, `{"msg":"request served","path":"/api/v1/users/%d","status":200,"trace_id":"%032x","note":""}`, i, i*7919),
		})
	}
	for _, pattern := range []string{"connection reset", "status", "users/77"} {
		b.Run("alone/"+pattern, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				bytes.Count(text, []byte(pattern))
			}
		})
		for name, fold := range map[string]bool{"scan": false, "fold": true} {
			sel := querytest.Everything()
			sel.Patterns, sel.IgnoreCase = []string{pattern}, fold
			m, err := match.Compile(sel)
			if err != nil {
				b.Fatal(err)
			}
			s := match.NewScanner(m)
			b.Run(name+"/"+pattern, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					n := 0
					if err := s.Scan(text, match.Checks{}, func(int, int, *record.Columns) { n++ }); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
