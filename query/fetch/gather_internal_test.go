package fetch

import (
	"testing"
)

// The records of spans come to the front, whatever is between them, and the last one may end the text.
func TestGather(t *testing.T) {
	t.Parallel()
	text := "one\ntwo\nthree\nfour"
	for _, c := range []struct {
		spans []Span
		want  string
	}{
		{nil, ""},
		{[]Span{{Start: 0, End: 3}, {Start: 4, End: 7}, {Start: 8, End: 13}, {Start: 14, End: 18}}, "one,two,three,four,"},
		{[]Span{{Start: 0, End: 3}, {Start: 8, End: 13}}, "one,three,"},
		{[]Span{{Start: 4, End: 7}, {Start: 14, End: 18}}, "two,four,"},
		{[]Span{{Start: 14, End: 18}}, "four,"},
	} {
		gathered, got := gather([]byte(text), c.spans), ""
		for _, s := range c.spans {
			got += string(gathered[s.Start:s.End]) + ","
		}
		if got != c.want {
			t.Errorf("%v: %q, want %q", c.spans, got, c.want)
		}
		if len(gathered) > len(c.want) {
			t.Errorf("%v: %d bytes are kept of %q", c.spans, len(gathered), c.want)
		}
	}
}
