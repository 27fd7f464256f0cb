package match

import (
	"bytes"
	"math"
	"slices"
	"testing"
	"time"

	"logstow/columns"
	"logstow/message"
	"logstow/record"
	"logstow/segment"
)

// Conditions on messages are compiled once, however often the rest of the selection changes.
func TestWithCompilesOnce(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	sel := Selection{
		From: now, To: now.Add(time.Hour), Now: now, Patterns: []string{"a"}, Regexps: []string{"b+"}, Where: []string{`c == "d"`}, Excludes: []string{"e"},
	}
	m, err := Compile(sel)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Selection){
		"range":   func(s *Selection) { s.From, s.To = now.Add(-time.Hour), now },
		"levels":  func(s *Selection) { s.Levels = 1 << record.Error },
		"sources": func(s *Selection) { s.Sources = []string{"app*"} },
		"limit":   func(s *Selection) { s.Limit, s.Newest = 7, true },
	} {
		other := sel
		change(&other)
		got, err := m.With(other)
		if err != nil || got.regexps[0] != m.regexps[0] || got.Where.Programs[0] != m.Where.Programs[0] {
			t.Errorf("%s: compiled anew, %v", name, err)
			continue
		}
		want, err := Compile(other)
		if err != nil {
			t.Fatal(err)
		}
		if got.From != want.From || got.To != want.To || got.fromText != want.fromText || got.toText != want.toText || got.Levels != want.Levels ||
			got.Selection.Limit != other.Limit || got.Selection.Newest != other.Newest || len(got.Selection.Sources) != len(other.Sources) {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
		if m.Selection.Limit != 0 || m.From != now.UnixNano() {
			t.Errorf("%s: the first changed", name)
		}
	}
	for name, change := range map[string]func(*Selection){
		"patterns":  func(s *Selection) { s.Patterns = []string{"x"} },
		"regexps":   func(s *Selection) { s.Regexps = []string{"x"} },
		"excludes":  func(s *Selection) { s.Excludes = nil },
		"where":     func(s *Selection) { s.Where = []string{`c == "x"`} },
		"templates": func(s *Selection) { s.Templates = []string{"<_>"} },
		"now":       func(s *Selection) { s.Now = now.Add(1) },
		"case":      func(s *Selection) { s.IgnoreCase = true },
		"substring": func(s *Selection) { s.Substring = true },
	} {
		other := sel
		change(&other)
		if other.sameMessages(&sel) {
			t.Errorf("%s makes no difference", name)
		}
		if got, err := m.With(other); err != nil || len(got.regexps) > 0 && got.regexps[0] == m.regexps[0] {
			t.Errorf("%s: not compiled anew, %v", name, err)
		}
	}
	sel.To = sel.From
	if _, err := m.With(sel); err == nil {
		t.Error("an empty range is accepted")
	}
}

// Times that nanoseconds cannot express are clamped.
func TestNanos(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		time time.Time
		want int64
	}{
		{time.Unix(1, 2), 1e9 + 2},
		{time.Unix(0, math.MaxInt64), math.MaxInt64},
		{time.Unix(0, math.MaxInt64).Add(1), math.MaxInt64},
		{time.Unix(0, math.MinInt64), math.MinInt64},
		{time.Unix(0, math.MinInt64).Add(-1), math.MinInt64},
	} {
		if got := Nanos(c.time); got != c.want {
			t.Errorf("%s: %d, want %d", c.time, got, c.want)
		}
	}
}

// What has no record in the range, or none of the levels, cannot match.
func TestMayMatch(t *testing.T) {
	t.Parallel()
	m, err := Compile(Selection{From: time.Unix(10, 0), To: time.Unix(20, 0), Levels: 1 << record.Error})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name       string
		start, end int64
		level      record.Level
		want       bool
	}{
		{"in the range", 12e9, 13e9, record.Error, true},
		{"of another level", 12e9, 13e9, record.Info, false},
		{"that ends where the range begins", 5e9, 10e9, record.Error, true},
		{"before the range", 5e9, 10e9 - 1, record.Error, false},
		{"behind the range", 20e9, 25e9, record.Error, false},
	} {
		var levels record.Counts
		levels[c.level] = 1
		if got := m.MayMatch(c.start, c.end, levels); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// Candidates that do not match are counted until they are taken.
func TestTakeRejections(t *testing.T) {
	t.Parallel()
	m, err := Compile(Selection{From: time.Unix(0, 0), To: time.Unix(20, 0), Patterns: []string{"a"}, Excludes: []string{"b"}})
	if err != nil {
		t.Fatal(err)
	}
	s := NewScanner(m)
	line := record.AppendText(nil, record.Record{Time: 1e9, Source: "s", Message: []byte("a b")})
	for range 2 {
		if _, ok := s.Match(bytes.TrimSuffix(line, []byte{'\n'}), Checks{}, false); ok {
			t.Fatal("matches")
		}
		if got, want := s.TakeRejections(), (Rejections{StageExclude: 1}); got != want {
			t.Errorf("%v were rejected, want %v", got, want)
		}
	}
}

// seconds are columns of times only.
type seconds []columns.Run

func (s seconds) Page(columns.Name) *columns.Page { return nil }

func (s seconds) Values(columns.Name) *columns.Values { return nil }
func (s seconds) Seconds() []columns.Run              { return s }
func (s seconds) Form() message.Form                  { return message.NoForm }

// Records are selected by their seconds, unless the range begins or ends within one.
func TestSelectBySeconds(t *testing.T) {
	t.Parallel()
	block := &segment.Block{Records: 4, Start: 1000e9}
	runs := seconds{{Tick: 1, End: 2}, {Tick: 10, End: 3}, {Tick: 19, End: 4}}
	for _, c := range []struct {
		name     string
		from, to time.Time
		want     []bool
		ok       bool
	}{
		{"all", time.Unix(1000, 0), time.Unix(1010, 0), nil, true},
		{"whole seconds", time.Unix(1005, 0), time.Unix(1006, 0), []bool{false, false, true, false}, true},
		{"the range ends within a second", time.Unix(1005, 0), time.Unix(1009, 5e8), nil, false},
		{"the range begins within a second", time.Unix(1000, 5e8), time.Unix(1010, 0), nil, false},
		{"the range begins and ends behind whole seconds", time.Unix(1000, 1), time.Unix(1005, 1), []bool{true, true, true, false}, true},
		{"the range begins behind a record", time.Unix(1005, 1), time.Unix(1010, 0), []bool{false, false, false, true}, true},
		{"the last nanosecond of a second", time.Unix(1000, 1e9-1), time.Unix(1010, 0), nil, false},
		{"between seconds", time.Unix(1001, 5e8), time.Unix(1004, 5e8), []bool{false, false, false, false}, true},
	} {
		m, err := Compile(Selection{From: c.from, To: c.to})
		if err != nil {
			t.Fatal(err)
		}
		sel, ok := NewColumnScanner(m).Select(block, Checks{Time: true}, runs)
		if ok != c.ok || ok && !slices.Equal(sel.Records, c.want) {
			t.Errorf("%s: %v, %v, want %v", c.name, sel.Records, ok, c.want)
		}
	}
}
