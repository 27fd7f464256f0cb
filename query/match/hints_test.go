package match_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"logstow/internal/test/querytest"
	"logstow/internal/test/testrand"
	"logstow/query/match"
)

// The text of a hint may be the best to search for, but conditions are looked for in the whole message, also before it.
func TestHintBehindPattern(t *testing.T) {
	t.Parallel()
	records := querytest.Messages(`{"msg":"error","user":"a1b2c3d4"}`, `{"user":"a1b2c3d4","msg":"error"}`, `{"user":"a1b2c3d4"}`, "error")
	for _, sel := range []match.Selection{
		{Patterns: []string{"error"}},
		{Patterns: []string{"error", "msg"}},
		{IDs: []string{"error", "nothing"}},
		{Regexps: []string{"err.r"}},
		{Excludes: []string{"nothing"}, Patterns: []string{"error"}},
	} {
		sel.From, sel.To = time.Unix(0, 0), time.Unix(0, 1<<62)
		sel.Hints, sel.Substring = []match.Hint{{Text: "a1b2c3d4", Whole: true}}, true
		if got := scanned(t, &sel, records); len(got) != 2 {
			t.Errorf("%+v: %q", sel, got)
		}
	}
}

// A hint leaves out records without its text only, however that is written.
func TestHints(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	texts := []string{"a1b2c3d4", "req-1234567", "timeout", "x", "10.1.2.3", "k<b>", "A1B2C3"}
	left := 0
	for range 3000 {
		var messages []string
		for range 1 + rnd.IntN(6) {
			var parts []string
			for _, name := range []string{"user", "msg", "id"}[:1+rnd.IntN(3)] {
				parts = append(parts, fmt.Sprintf(`"%s":"%s"`, name, escapedSome(rnd, texts[rnd.IntN(len(texts))])))
			}
			messages = append(messages, "{"+strings.Join(parts, ",")+"}"+strings.Repeat("\nend", rnd.IntN(2)))
		}
		records := querytest.Messages(messages...)
		sel := match.Selection{From: time.Unix(0, 0), To: time.Unix(0, 1<<62), Substring: true}
		if rnd.IntN(2) == 0 {
			sel.Patterns = []string{texts[rnd.IntN(len(texts))]}
		}
		if rnd.IntN(3) == 0 {
			sel.Excludes = []string{texts[rnd.IntN(len(texts))]}
		}
		all := scanned(t, &sel, records)
		hint := texts[rnd.IntN(len(texts))]
		sel.Hints = []match.Hint{{Text: hint, Whole: true}}
		with := scanned(t, &sel, records)
		for _, r := range all {
			switch found := slices.Contains(with, r); {
			case !found && strings.Contains(unescaped(r), hint):
				t.Errorf("%+v leaves out %q", sel, r)
			case !found:
				left++
			}
		}
		for _, r := range with {
			if !slices.Contains(all, r) {
				t.Errorf("%+v finds %q", sel, r)
			}
		}
	}
	if left == 0 {
		t.Error("hints left out nothing")
	}
}

// escapedSome writes some bytes as \u escapes.
func escapedSome(rnd *rand.Rand, text string) string {
	if rnd.IntN(2) == 0 {
		return text
	}
	var b strings.Builder
	for _, c := range []byte(text) {
		if rnd.IntN(6) == 0 {
			fmt.Fprintf(&b, `\u%04x`, c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// unescaped is a record with its \u escapes as characters.
func unescaped(r string) string {
	for c := rune(' '); c < 0x7f; c++ {
		r = strings.ReplaceAll(r, fmt.Sprintf(`\u%04x`, c), string(c))
	}
	return r
}
