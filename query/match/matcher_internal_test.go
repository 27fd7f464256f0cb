package match

import (
	"testing"
	"time"

	"logstow/record"
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
		if err != nil || got.regexps[0] != m.regexps[0] || got.Where[0] != m.Where[0] {
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
