package main

import "testing"

// A line of a table of fields ends with a whole value, and a mark if there are more.
func TestFitting(t *testing.T) {
	t.Parallel()
	values := []string{"éé 50%", "bb 25%", "cc 20%"}
	for columns, want := range map[int]string{
		22: "éé 50%, bb 25%, cc 20%",
		21: "éé 50%, bb 25%, …",
		17: "éé 50%, bb 25%, …",
		16: "éé 50%, …",
		1:  "éé 50%, …",
	} {
		if got := fitting(values, columns); got != want {
			t.Errorf("%d columns: %q, want %q", columns, got, want)
		}
	}
	if got := fitting(nil, 0); got != "" {
		t.Errorf("no values: %q", got)
	}
	if got := fitting(values[:1], 1); got != values[0] {
		t.Errorf("one value: %q", got)
	}
}

// East Asian characters take two columns.
func TestCut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		n    int
		want string
	}{{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"日本", 4, "日本"}, {"日本語", 5, "日本…"}, {"日本語", 4, "日…"}, {"é…é", 3, "é…é"}, {"ab", 1, "…"}} {
		if got := cut(c.text, c.n); got != c.want {
			t.Errorf("%s in %d columns: %s, want %s", c.text, c.n, got, c.want)
		}
	}
}
