package limited_test

import (
	"strings"
	"testing"

	"logstow/internal/limited"
)

func TestYAML(t *testing.T) {
	t.Parallel()
	const n = limited.MaxNesting
	for _, c := range []struct {
		name, text string
		line       int
	}{
		{"empty", "", 0},
		{"lists in brackets", "a:\n " + strings.Repeat("[", n+1), 2},
		{"closed again", strings.Repeat("a: [x, {b: c}]\n", 3*n), 0},
		{"over lines", strings.Repeat("- [\n", n+1), n},
		{"mappings", strings.Repeat("{a: ", n+1), 1},
		{"lists", strings.Repeat("- ", n+1) + "a", 1},
		{"lists, over lines", strings.Repeat("- ", n/2) + "\n" + strings.Repeat(" ", n) + strings.Repeat("- ", n/2+1) + "a", 2},
		{"expressions", strings.Repeat("a: ^\\[x{\n", 3*n), 0},
	} {
		line, err := limited.YAML([]byte(c.text))
		if line != c.line || (err != nil) != (c.line > 0) {
			t.Errorf("%s: line %d, %v, want line %d", c.name, line, err, c.line)
		}
	}
}
