package pattern_test

import (
	"fmt"
	"slices"
	"testing"

	"logstow/message/pattern"
)

func TestSplit(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                      `[]`,
		"a<b>c":                 `[{"a" ""} {"" "b"} {"c" ""}]`,
		"<a><b>":                `[{"" "a"} {"" "b"}]`,
		"<<a>>":                 `[{"<" ""} {"" "a"} {">" ""}]`,
		"<a<b>":                 `[{"<a" ""} {"" "b"}]`,
		"<> <1> <.a> <a b> <é>": `[{"<> <1> <.a> <a b> <é>" ""}]`,
		"<_> <_1Z> <a":          `[{"" "_"} {" " ""} {"" "_1Z"} {" <a" ""}]`,
	} {
		for _, dots := range []bool{false, true} {
			if got := fmt.Sprintf("%q", pattern.Split(text, dots)); got != want {
				t.Errorf("%s: %s, want %s", text, got, want)
			}
		}
	}
	if got := fmt.Sprintf("%q", pattern.Split("<a.b><c>", false)); got != `[{"<a.b>" ""} {"" "c"}]` {
		t.Errorf("without dots %s", got)
	}
	if got := fmt.Sprintf("%q", pattern.Split("<a.b><c>", true)); got != `[{"" "a.b"} {"" "c"}]` {
		t.Errorf("with dots %s", got)
	}
}

func TestAppend(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, text string
		want          []string
	}{
		{"<a> <_> <b>", "1 2 3 4", []string{"a=1", "b=3 4"}},
		{"<a>-<b>-", "1-2", []string{"a=1", "b=2"}},
		{"<a>-<_>-<b>", "1", []string{"a=1"}}, // later captures are missing
		{"<a>-<b>", "-", []string{"a=", "b="}},
		{"x<a>", "x", []string{"a="}},
		{"x<a>", "ax1", nil},
		{"<a>", "", []string{"a="}},
	} {
		var got []string
		p := pattern.New(pattern.Split(c.pattern, false))
		for at := p.Append(nil, []byte(c.text)); len(at) > 0; at = at[2:] {
			got = append(got, p.Names[len(got)]+"="+c.text[at[0]:at[1]])
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q: %q, want %q", c.pattern, c.text, got, c.want)
		}
	}
}
