package suggest_test

import (
	"strings"
	"testing"

	"logstow/internal/suggest"
)

func TestNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, candidates, want string }{
		{"wbe", "shop web queue", "web"},
		{"Web", "shop web queue", "web"},
		{"web", "web", ""},
		{"serivce", "service since source", "service"},
		{"statsu", "status user stats", "status stats"},
		{"status", "http.status path statusCode", "statusCode http.status"},
		{"sta", "status stats level", "stats status"},
		{"http.status", "status path", "status"},
		{"tail", "query stats services", ""},
		{"a", "b c", ""},
		{"ab", "ba b abcdef", "ba b"},
		{"", "a bb", ""},
		{"größe", "große gross", "große"},
		{"web", "wb wb wb", "wb"},
		{"we", "w1 w2 w3 w4", "w1 w2 w3"},
		{strings.Repeat("a", 200), strings.Repeat("a", 201), ""},
	} {
		if got := strings.Join(suggest.Names(c.name, strings.Fields(c.candidates), 3), " "); got != c.want {
			t.Errorf("%q of %q: %q, want %q", c.name, c.candidates, got, c.want)
		}
	}
	if got := suggest.Names("a", []string{"ab"}, 0); len(got) != 0 {
		t.Errorf("none asked for: %q", got)
	}
}
