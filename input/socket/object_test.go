package socket

import (
	"slices"
	"testing"
)

// A newline ends a complete object, and other text; inside of an object it is a byte.
func TestFramerObjects(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, stream string
		want         []string
	}{
		{"NULs", "{\"a\":1}\x00{}\x00", []string{`{"a":1}`, `{}`}},
		{"newlines", "{\"a\":1}\n{}\r\n\n{}", []string{`{"a":1}`, "{}\r", `{}`}},
		{"both", "{\"a\":1}\n\x00{}\x00\n", []string{`{"a":1}`, `{}`}},
		{"over lines", "{\n\"a\":\n[1]\n}\x00{\n}\n", []string{"{\n\"a\":\n[1]\n}", "{\n}"}},
		{"braces in a string", `{"a":"}\"}\\"}` + "\n{}\n", []string{`{"a":"}\"}\\"}`, `{}`}},
		{"newline in a string", "{\"a\":\"}\n\"}\x00{}\x00", []string{"{\"a\":\"}\n\"}", `{}`}},
		{"other text", "a\nb\x00[1]\n{}\n2\x00", []string{"a", "b", "[1]", "{}", "2"}},
		{"too long", "{\"a\":\"bbbbbbbbbbbbbbbbbb{\"}\n{}\n", []string{`{"a":"bbbbbbbbbb(27)`, `{}`}},
		{"too long, NUL", "{\"a\":\"bbbbbbbbbbbbbbbbbb\x00{}\n", []string{`{"a":"bbbbbbbbbb(24)`, `{}`}},
		{"not all came", "{}\n{\"a\":\n", []string{`{}`, "{\"a\":\n"}},
	} {
		for n := 1; n <= len(c.stream); n++ {
			f := framer{Framing: Framing{Ends: "\x00", Objects: true}, limit: 16}
			if got := cutUp(&f, c.stream, n); !slices.Equal(got, c.want) {
				t.Errorf("%s, in pieces of %d bytes: %q, want %q", c.name, n, got, c.want)
				break
			}
		}
	}
}
