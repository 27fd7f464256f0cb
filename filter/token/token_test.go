package token_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logstow/filter/token"
)

func TestAll(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                           nil,
		" .-":                        nil,
		"a b_1":                      {"a", "b_1"},
		"é-x":                        {"é", "x"},
		"ip 10.0.0.1:80":             {"ip", "10", "10.0.0.1", "0", "0", "1", "80"},
		"10.0.0.1.5":                 {"10", "10.0.0.1", "0", "0.0.1.5", "0", "1", "5"},
		"1000.0.0.1":                 {"1000", "0", "0", "1"},
		`{"m":"a\nb1"}`:              {"m", "a", "nb1", "b1"},
		`\u003cb1`:                   {"u003cb1", "003cb1", "b1"},
		`C:\logs`:                    {"C", "logs", "ogs"},
		"de:ad:be:ef:00:01":          {"de", "de:ad:be:ef:00:01", "ad", "be", "ef", "00", "01"},
		"de:ad:be:ef:00:01x":         {"de", "ad", "be", "ef", "00", "01x"},
		"1.2.3":                      {"1", "2", "3"},
		"blk_-69522958":              {"blk_", "69522958"},
		"00000000-0000-0000-0000-00": {"00000000", "0000", "0000", "0000", "00"},
		"a1b2c3d4-0000-1111-2222-0123456789ab-z": {
			"a1b2c3d4", "a1b2c3d4-0000-1111-2222-0123456789ab", "0000", "1111", "2222", "0123456789ab", "z",
		},
	} {
		var got []string
		for start, end := range token.All([]byte(text)) {
			got = append(got, text[start:end])
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got)\n%s", text, diff)
		}
	}
}

func TestWhole(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]bool{
		"":                                     false,
		"abcdefg":                              false,
		"abcdef1":                              true,
		"abcde1":                               false,
		"1234567":                              true,
		"order 1234567":                        false,
		"order-1234567":                        true,
		"order--1234567":                       false,
		"-1234567":                             false,
		"1234567.":                             false,
		"blk_-69522958":                        true,
		"12:30:45":                             true,
		"10.0.0.1":                             true,
		"1.1.1.1":                              true,
		"10.0.0.1:80":                          true,
		"10.0.0.":                              false,
		"a1b2c3d4-0000-1111-2222-0123456789ab": true,
		"A1B2C3D4-0000-1111-2222-0123456789AB": true,
		"de:ad:be:ef:00:01":                    true,
		"de:ad:be:ef:aa:bb":                    false,
		"order/1234567":                        false,
		"größe12":                              true,
		`\n12345678`:                           false,
	} {
		if got := token.Whole([]byte(pattern)); got != want {
			t.Errorf("Whole(%q) = %v", pattern, got)
		}
	}
}

// The rule of a query and the tokens that a filter would hold must be one:
// where a pattern matches as a whole, its tokens are tokens of the text; and a
// pattern that is one token matches wherever it is one.
func FuzzWholeMatchesAreTokens(f *testing.F) {
	for _, text := range []string{
		"10.0.0.1.5 x", `a\n1234567 \u003c1234567 \\n1234567`, "id=abc1234,xabc1234", "é1234567 1234567é",
		"a1b2c3d4-0000-1111-2222-0123456789ab", "de:ad:be:ef:00:01:02", "order-12345-6 \\norder-12345",
	} {
		f.Add([]byte(text), uint64(1))
	}
	f.Fuzz(func(t *testing.T, text []byte, seed uint64) {
		if len(text) == 0 || len(text) > 200 {
			return
		}
		rnd := rand.New(rand.NewPCG(seed, 1))
		start := rnd.IntN(len(text))
		end := start + rnd.IntN(len(text)-start) + 1
		check(t, text, text[start:end])
		for start, end := range token.All(text) {
			check(t, text, text[start:end])
		}
	})
}

func check(t *testing.T, text, pattern []byte) {
	t.Helper()
	if !token.Whole(pattern) {
		return
	}
	type span struct{ start, end int }
	tokens := map[span]bool{}
	for start, end := range token.All(text) {
		tokens[span{start, end}] = true
	}
	for start := 0; start+len(pattern) <= len(text); start++ {
		if !bytes.HasPrefix(text[start:], pattern) {
			continue
		}
		end := start + len(pattern)
		whole := token.Bounded(text, start, end)
		if tokens[span{start, end}] && !whole {
			t.Errorf("%q is a token of %q at %d but does not match there", pattern, text, start)
		}
		for s, e := range token.All(pattern) {
			if whole && !tokens[span{start + s, start + e}] {
				t.Errorf("%q matches %q at %d, but its token %q is none there", pattern, text, start, pattern[s:e])
			}
		}
	}
}
