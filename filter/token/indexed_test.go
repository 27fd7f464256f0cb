package token_test

import (
	"bytes"
	"iter"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logstow/filter/token"
)

// spans are the parts of text that seq yields.
func spans(text string, seq iter.Seq2[int, int]) (parts []string) {
	for start, end := range seq {
		parts = append(parts, text[start:end])
	}
	return parts
}

func TestIndexed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                     nil,
		"short words of five5": nil,
		"sixsix and 1234567":   {"sixsix", "1234567"},
		"at 10.0.0.1:8080":     {"10.0.0.1"},
		"1.2.3.4.5":            {"1.2.3.4", "2.3.4.5"},
		"12:34:56":             nil,
		"12:34:56:78:9a:bc.":   {"12:34:56:78:9a:bc"},
		`a\nb12345`:            {"nb12345", "b12345"},
		`x\n10.0.0.1`:          {"10.0.0.1"},
		"\x1b[31morder12345":   {"31morder12345", "order12345"},
		"\x1b[1;31m10.0.0.1":   {"10.0.0.1"},
		"\x1b[morder12345":     {"morder12345", "order12345"},
		`\u001b[31morder12345`: {"31morder12345", "order12345"},
		`\[31morder12345`:      {"31morder12345"},
		"[31morder12345":       {"31morder12345"},
		"a1b2c3d4-0000-1111-2222-0123456789ab": {
			"a1b2c3d4", "0123456789ab",
		},
	} {
		if diff := cmp.Diff(want, spans(text, token.Indexed([]byte(text)))); diff != "" {
			t.Errorf("%q (-want +got)\n%s", text, diff)
		}
	}
}

func TestRequired(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern string
		whole   bool
		want    []string
	}{
		{"1234567", true, []string{"1234567"}},
		{"1234567", false, nil},
		{" 1234567 ", false, []string{"1234567"}},
		{"request 1234567", false, nil},
		{"order 1234567 failed", false, []string{"1234567"}},
		{"10.0.0.1", true, []string{"10.0.0.1"}},
		{"10.0.0.1", false, nil},
		{"order-1234567", true, []string{"1234567"}},
		{"request-1234567", true, []string{"request", "1234567"}},
	} {
		if diff := cmp.Diff(c.want, spans(c.pattern, token.Required([]byte(c.pattern), c.whole))); diff != "" {
			t.Errorf("%q, whole %v (-want +got)\n%s", c.pattern, c.whole, diff)
		}
	}
}

func TestEscapesByte(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"": false, "n": false, "u004": false, "u0041": true, "u007A": true, "u005f": true, "u005F1": true, "u0030": true,
		"u003c": false, "u0020": false, "u00e9": false, "u0141": false, "u004g": false, "U0041": false,
	} {
		if got := token.EscapesByte([]byte(text), 0); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// Every text in which a pattern matches has the indexed tokens that the pattern
// requires.
func FuzzRequired(f *testing.F) {
	for _, text := range []string{
		`say\n1234567 \u003c1234567 \\n1234567`, "10.0.0.1.5.6.7 10.0.0.1", "aa:bb:cc:dd:ee:ff:00:11", "é123456 _1234567",
		"a1b2c3d4-0000-1111-2222-0123456789ab", "order-1234567\n\t1234567",
	} {
		f.Add([]byte(text), uint64(1))
	}
	f.Fuzz(func(t *testing.T, text []byte, seed uint64) {
		if len(text) == 0 || len(text) > 300 {
			return
		}
		rnd := rand.New(rand.NewPCG(seed, 2))
		start := rnd.IntN(len(text))
		end := start + rnd.IntN(len(text)-start) + 1
		checkRequired(t, text, start, end)
		for start, end := range token.All(text) {
			checkRequired(t, text, start, end)
		}
	})
}

// checkRequired checks the pattern text[start:end], which matches there.
func checkRequired(t *testing.T, text []byte, start, end int) {
	t.Helper()
	pattern := text[start:end]
	indexed := map[string]bool{}
	for s, e := range token.Indexed(text) {
		indexed[string(bytes.ToLower(text[s:e]))] = true
	}
	for _, whole := range []bool{false, true} {
		if whole && (!token.Whole(pattern) || !token.Bounded(text, start, end)) {
			continue
		}
		for s, e := range token.Required(pattern, whole) {
			if !indexed[string(bytes.ToLower(pattern[s:e]))] {
				t.Errorf("%q, whole %v, matches %q at %d, but its %q is not indexed", pattern, whole, text, start, pattern[s:e])
			}
		}
	}
}
