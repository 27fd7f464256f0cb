package query

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/google/go-cmp/cmp"

	"logstow/record"
	"logstow/segment"
	"logstow/token"
	"logstow/where"
)

// stored is a record's text form.
func stored(r record.Record) []byte { return record.AppendText(nil, r) }

// reference says whether a record matches, the slow and obvious way.
func reference(sel *Selection, r record.Record) bool {
	if r.Time < sel.From.UnixNano() || r.Time >= sel.To.UnixNano() || !sel.Levels.Has(r.Level) {
		return false
	}
	if len(sel.Sources) > 0 && !slices.ContainsFunc(sel.Sources, func(glob string) bool { return doublestar.MatchUnvalidated(glob, r.Source) }) {
		return false
	}
	fold := func(s string) string {
		if !sel.IgnoreCase {
			return s
		}
		return strings.Map(func(c rune) rune {
			if 'A' <= c && c <= 'Z' {
				return c + 'a' - 'A'
			}
			return c
		}, toRunes(s))
	}
	holds := func(pattern string) bool {
		message := string(r.Message)
		if !sel.Substring && token.Whole([]byte(pattern)) {
			for start := range len(message) {
				end := start + len(pattern)
				if end <= len(message) && fold(message[start:end]) == fold(pattern) && token.Bounded(r.Message, start, end) {
					return true
				}
			}
			return false
		}
		return strings.Contains(fold(message), fold(pattern))
	}
	for _, p := range sel.Patterns {
		if !holds(p) {
			return false
		}
	}
	for _, p := range sel.Excludes {
		if holds(p) {
			return false
		}
	}
	for _, expr := range sel.Regexps {
		if sel.IgnoreCase {
			expr = "(?i)" + expr
		}
		if !regexp.MustCompile(expr).Match(r.Message) {
			return false
		}
	}
	for _, expr := range sel.Where {
		p, err := where.Compile(expr, sel.Now)
		if err != nil {
			panic(err)
		}
		e, err := p.Evaluator()
		if err != nil {
			panic(err)
		}
		if !e.Holds(&where.Record{Time: r.Time, Level: r.Level, Source: []byte(r.Source), Message: r.Message}) {
			return false
		}
	}
	return true
}

// toRunes makes every byte a rune of its own, so that strings.Map keeps odd bytes.
func toRunes(s string) string {
	r := make([]rune, len(s))
	for i := range len(s) {
		r[i] = rune(s[i])
	}
	return string(r)
}

// scanned is what the block search finds in records written one after the other.
func scanned(t *testing.T, sel *Selection, records []record.Record) []string {
	t.Helper()
	m, err := compile(*sel)
	if err != nil {
		t.Fatal(err)
	}
	var text []byte
	b := segment.Block{Records: uint64(len(records)), Start: records[0].Time, End: records[0].Time}
	for _, r := range records {
		text = append(text, stored(r)...)
		b.Start, b.End = min(b.Start, r.Time), max(b.End, r.Time)
		b.Levels[r.Level]++
	}
	got := []string{}
	if !m.mayMatch(b.Start, b.End, b.Levels) {
		return got
	}
	s := scanner{m: m}
	if err := s.scan(text, m.checksFor(&b, ""), func(start, end int, _ *record.Columns) { got = append(got, string(text[start:end])+"\n") }); err != nil {
		t.Fatal(err)
	}
	return got
}

func compare(t *testing.T, sel *Selection, records []record.Record) {
	t.Helper()
	want := []string{}
	for _, r := range records {
		if reference(sel, r) {
			want = append(want, string(stored(r)))
		}
	}
	if diff := cmp.Diff(want, scanned(t, sel, records)); diff != "" {
		t.Errorf("%+v (-reference +scan)\n%s", *sel, diff)
	}
}

func messages(texts ...string) []record.Record {
	var r []record.Record
	for i, m := range texts {
		r = append(r, record.Record{
			Time: int64(i), Level: record.Level(i % record.Levels), Source: fmt.Sprintf("app/%d.log", i%2), Message: []byte(m),
		})
	}
	return r
}

func everything() Selection {
	return Selection{From: time.Unix(-1, 0), To: time.Unix(1e9, 0)}
}

func TestScan(t *testing.T) {
	t.Parallel()
	records := messages(
		"plain text", "", "two\nlines", "two\n\nempty\n", "\ttab first", "x\n\ttab in a continuation",
		"id=1234567 done", "id=12345678 done", `a\n1234567`, "1234567", "trailing\n", "\n", "10.0.0.1:80", "110.0.0.1",
		"Upper CASE", "upper case", "\xff\xfe odd", "\u212a kelvin", "k", "\ufffd", "ERROR\tapp/0.log", "end",
	)
	for _, sel := range []Selection{
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
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	for range 3000 {
		records := messages(make([]string, 1+rnd.IntN(12))...)
		for i := range records {
			records[i].Message = randomText(rnd, 24)
		}
		sel := randomSelection(rnd, records)
		compare(t, &sel, records)
	}
}

func randomText(rnd *rand.Rand, most int) []byte {
	if rnd.IntN(3) == 0 {
		return randomFields(rnd)
	}
	const letters = "aaAbB1123\n\n\t\t .-\\nu0k\xff\x80_:"
	b := make([]byte, rnd.IntN(most))
	for i := range b {
		b[i] = letters[rnd.IntN(len(letters))]
	}
	return b
}

// randomFields is a message with fields, in JSON, some of it escaped, or logfmt.
func randomFields(rnd *rand.Rand) []byte {
	if rnd.IntN(4) == 0 {
		return fmt.Appendf(nil, "ab=%s k1=%d", choose(rnd, "a", "ab1", `"a b"`), rnd.IntN(3))
	}
	return fmt.Appendf(nil, `{%s:%s,"k1":%d,"n":{"ab":%s}}`, choose(rnd, `"ab"`, `"\u0061b"`, `"c"`),
		choose(rnd, `"ab1"`, `"a\u0062\u0031"`, `"a b"`, `"a\nb"`, "1", "null"), rnd.IntN(3), choose(rnd, `"ab1"`, "2", "true"))
}

func choose(rnd *rand.Rand, from ...string) string { return from[rnd.IntN(len(from))] }

func randomSelection(rnd *rand.Rand, records []record.Record) Selection {
	sel := everything()
	sel.IgnoreCase, sel.Substring = rnd.IntN(2) == 0, rnd.IntN(3) == 0
	pattern := func() string {
		m := records[rnd.IntN(len(records))].Message
		if rnd.IntN(3) == 0 || len(m) == 0 {
			return string(randomText(rnd, 4))
		}
		start := rnd.IntN(len(m))
		return string(m[start : start+1+rnd.IntN(len(m)-start)])
	}
	for range rnd.IntN(5) - 2 {
		sel.Where = append(sel.Where, choose(rnd, `ab == "ab1"`, `ab == "a b" or k1 == 2`, `k1 > 0`, `k1 != 1`, `n.ab == "ab1" and k1 < 2`, `ab contains "b"`,
			`ab in ["ab1", "a"]`, `not (ab == "ab1")`, `len(ab ?? "") > 2`, `message contains "a"`, `ab == nil`, `level >= "warn" and k1 >= 1`))
	}
	for range rnd.IntN(3) {
		sel.Patterns = append(sel.Patterns, pattern())
	}
	if rnd.IntN(4) == 0 {
		sel.Excludes = append(sel.Excludes, pattern())
	}
	if p := pattern(); rnd.IntN(3) == 0 {
		forms := []string{"%s", "^%s", "%s$", "(?:%s)+.", "(?i)%s", "[^a]%s", "%s|b"}
		sel.Regexps = append(sel.Regexps, fmt.Sprintf(forms[rnd.IntN(len(forms))], regexp.QuoteMeta(p)))
		if _, err := regexp.Compile(sel.Regexps[0]); err != nil {
			sel.Regexps = nil // the pattern was not UTF-8
		}
	}
	if rnd.IntN(4) == 0 {
		sel.From = time.Unix(0, rnd.Int64N(12))
		sel.To = sel.From.Add(time.Duration(1 + rnd.Int64N(12)))
	}
	if rnd.IntN(4) == 0 {
		sel.Levels = record.LevelSet(rnd.UintN(1 << record.Levels))
	}
	return sel
}

func TestScanReportsBrokenLines(t *testing.T) {
	t.Parallel()
	sel := everything()
	m, err := compile(sel)
	if err != nil {
		t.Fatal(err)
	}
	good := string(stored(record.Record{Source: "-", Message: []byte("m")}))
	for _, bad := range []string{"\n", "x\n", good[:30] + "\n", good[:34] + "\n", "\t\n", good[:30] + "\tWHAT\t-\tm\n", good[:30]} {
		found := 0
		s := scanner{m: m}
		if err := s.scan([]byte(bad), checks{}, func(int, int, *record.Columns) { found++ }); err == nil || found != 0 {
			t.Errorf("%q: %d records, error %v", bad, found, err)
		}
	}
}

func TestRequiredText(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]string{
		"abc": "abc", "a(bcd)e": "bcd", "(?:abc)+": "abc", "(?:abc){2,}": "abc", "(?:abc)?": "", "abc|abd": "ab",
		"a.*longer": "longer", "(?i)trace": "trace", "(?i)broken": "bro", "x\ufffdyz": "yz", "": "", "[a-z]": "",
	} {
		_, lit, err := compileRegexp(expr, false)
		if err != nil || string(lit.text) != want {
			t.Errorf("%s: %q, %v; want %q", expr, lit.text, err, want)
		}
	}
	for _, bad := range []string{"a)(b", "(", "a{2000}"} {
		if _, _, err := compileRegexp(bad, true); err == nil {
			t.Errorf("%s compiles", bad)
		}
	}
}

func TestAppendLower(t *testing.T) {
	t.Parallel()
	all := make([]byte, 256+5)
	for i := range all {
		all[i] = byte(i)
	}
	for cut := range 9 {
		for i, b := range appendLower(nil, all[cut:]) {
			if want := token.Lower(all[cut+i]); b != want {
				t.Fatalf("byte %#x: %#x, want %#x", all[cut+i], b, want)
			}
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
		sel := everything()
		sel.Patterns, sel.IgnoreCase = []string{pattern}, fold
		if _, err := regexp.Compile(expr); err == nil {
			sel.Regexps = []string{expr}
		}
		var records []record.Record
		for i, m := range bytes.Split(data, []byte("\xff")) {
			records = append(records, record.Record{Time: int64(i), Source: "-", Message: m})
		}
		compare(t, &sel, records)
		m, err := compile(sel)
		if err != nil {
			t.Fatal(err)
		}
		s := scanner{m: m}
		_ = s.scan(data, checks{time: true}, func(start, end int, _ *record.Columns) { _ = data[start:end] })
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
			sel := everything()
			sel.Patterns, sel.IgnoreCase = []string{pattern}, fold
			m, err := compile(sel)
			if err != nil {
				b.Fatal(err)
			}
			s := scanner{m: m}
			b.Run(name+"/"+pattern, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					n := 0
					if err := s.scan(text, checks{}, func(int, int, *record.Columns) { n++ }); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
