package query_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"logstow/internal/test/testrand"
	"logstow/query"
)

func highlighter(t *testing.T, sel query.Selection) *query.Query {
	t.Helper()
	sel.From, sel.To = time.Unix(0, 0), time.Unix(1, 0)
	q, err := query.New(nil, sel, query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func TestHighlight(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sel           query.Selection
		message, want string
	}{
		{query.Selection{}, "abc", "abc"},
		{query.Selection{Patterns: []string{"b"}}, "abcb", "a[b]c[b]"},
		{query.Selection{Patterns: []string{"B"}, IgnoreCase: true}, "abcB", "a[b]c[B]"},
		{query.Selection{Patterns: []string{""}}, "abc", "abc"},
		{query.Selection{Patterns: []string{"ab", "bc"}}, "xabcx", "x[abc]x"},
		{query.Selection{Patterns: []string{"aa"}}, "aaaaa", "[aaaa]a"},
		{query.Selection{Patterns: []string{"order-12345"}}, "order-123456 order-12345", "order-123456 [order-12345]"},
		{query.Selection{Patterns: []string{"order-12345"}, Substring: true}, "order-123456", "[order-12345]6"},
		{query.Selection{Regexps: []string{"b*", `\d+`}}, "abb12 3", "a[bb12] [3]"},
		{query.Selection{Patterns: []string{"x"}, Excludes: []string{"y"}}, "z\nxz", "z\n[x]z"},
	} {
		q := highlighter(t, c.sel)
		var got strings.Builder
		at := 0
		for _, place := range q.Highlight(nil, []byte(c.message)) {
			fmt.Fprintf(&got, "%s[%s]", c.message[at:place[0]], c.message[place[0]:place[1]])
			at = place[1]
		}
		if got.WriteString(c.message[at:]); got.String() != c.want {
			t.Errorf("%+v in %q: %q, want %q", c.sel, c.message, got.String(), c.want)
		}
	}
}

// Places are in order and apart, whatever is looked for.
func TestHighlightOrder(t *testing.T) {
	t.Parallel()
	random := testrand.New(t)
	text := func(most int) string {
		b := make([]byte, random.IntN(most))
		for i := range b {
			b[i] = "aAb1-\n"[random.IntN(6)]
		}
		return string(b)
	}
	for range 2000 {
		q := highlighter(t, query.Selection{
			Patterns: []string{text(4), text(4)}, Regexps: []string{"[ab]" + strings.Repeat("1?", random.IntN(3))},
			IgnoreCase: random.IntN(2) == 0, Substring: random.IntN(2) == 0,
		})
		message := text(40)
		end := -1
		for _, place := range q.Highlight(nil, []byte(message)) {
			if place[0] <= end || place[1] <= place[0] || place[1] > len(message) {
				t.Fatalf("%q: %v after %d", message, place, end)
			}
			end = place[1]
		}
	}
}
