package ansi_test

import (
	"strings"
	"testing"

	"logstow/internal/ansi"
)

func TestStrip(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                    "",
		"plain":                               "plain",
		"\x1b[31merror\x1b[0m: x":             "error: x",
		"\x1b[1;38;5;160mx\x1b[m":             "x",
		"a\x1b]0;title\x07b":                  "ab",
		"a\x1b]0;title":                       "a0;title",
		"a\x1bcb":                             "ab",
		"a\x1b":                               "a",
		"a\x1b[31":                            "a",
		"a\x1b[3\x00b":                        "a\x00b",
		"a\x1b\xc3\xa9":                       "a\xc3\xa9",
		strings.Repeat("\x1b[31mx\x1b[0m", 3): "xxx",
	} {
		if got := string(ansi.Strip([]byte("> "), []byte(text))); got != "> "+want {
			t.Errorf("%q: %q, want %q", text, got, "> "+want)
		}
	}
}

func FuzzStrip(f *testing.F) {
	f.Add([]byte("a\x1b[31mb\x1b]0;x\x07c\x1b"))
	f.Fuzz(func(t *testing.T, text []byte) {
		got := ansi.Strip(nil, text)
		if len(got) > len(text) || strings.ContainsRune(string(got), ansi.Escape) {
			t.Errorf("%q: %q", text, got)
		}
	})
}
