package suggest

import "testing"

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"run", "run", 0},
		{"web", "wb", 1},
		{"stat", "stats", 1},
		{"große", "größe", 1},
		{"qurey", "query", 1}, // two neighbours exchanged
		{"nur", "run", 1},     // the same letters in another order
		{"ab", "ba", 1},       // neighbours again
		{"abc", "xyz", 3},     // nothing in common
		{"ca", "abc", 3},      // no letter is changed twice
		{"rru", "run", 2},     // other letters
		{"kitten", "sitting", 3},
	} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("%q to %q: %d, want %d", c.a, c.b, got, c.want)
		}
		if got := distance(c.b, c.a); got != c.want {
			t.Errorf("%q to %q: %d, want %d", c.b, c.a, got, c.want)
		}
	}
}
