package match_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"logstow/internal/test/querytest"
	"logstow/internal/test/testrand"
	"logstow/query/match"
	"logstow/record"
)

// scanAll are the messages of a block that match, with the places that are highlighted.
func scanAll(t testing.TB, sel *match.Selection, text []byte) (found []string) {
	t.Helper()
	m, err := match.Compile(*sel)
	if err != nil {
		t.Fatal(err)
	}
	if err := match.NewScanner(m).Scan(text, match.Checks{}, func(_, _ int, c *record.Columns) {
		found = append(found, string(c.Raw))
	}); err != nil {
		t.Fatal(err)
	}
	return found
}

// Identifiers find what each of them finds as a pattern, and highlight the first place that one does.
func TestIDsAreAlternativePatterns(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	parts := []string{"a", "B", "ab12345", "order", "order-1234567", "1234567", "10.0.0.1", "10.0.0.12", "u0041", `\n`, `\u004b`, `\\`, `\U0041`, "-", ".", ":", "..", "_", " ", "\n", "é", "\x00", "\xff", "7", "550e8400-e29b-41d4-a716-446655440000", strings.Repeat("x1", 40)}
	random := func(n int) string {
		var b strings.Builder
		for range 1 + rnd.IntN(n) {
			b.WriteString(parts[rnd.IntN(len(parts))])
		}
		return b.String()
	}
	for range 3000 {
		messages := make([]string, 1+rnd.IntN(8))
		for i := range messages {
			messages[i] = random(7)
		}
		records := querytest.Messages(messages...)
		var text []byte
		for i := range records {
			text = append(text, querytest.Stored(records[i])...)
		}
		sel := querytest.Everything()
		sel.IgnoreCase, sel.Substring = rnd.IntN(2) == 0, rnd.IntN(3) == 0
		for range 1 + rnd.IntN(6) {
			if id := strings.NewReplacer(" ", "", "\n", "").Replace(random(3)); id != "" {
				sel.IDs = append(sel.IDs, id)
			}
		}
		if sel.IDs == nil {
			continue
		}
		one := sel
		one.IDs = nil
		each := map[string]bool{}
		for _, id := range sel.IDs {
			one.Patterns = []string{id}
			for _, message := range scanAll(t, &one, text) {
				each[message] = true
			}
		}
		var want []string
		for i := range records {
			if raw := string(record.Stored(records[i].Message)); each[raw] {
				want = append(want, raw)
			}
		}
		if got := scanAll(t, &sel, text); !slices.Equal(got, want) {
			t.Fatalf("%q, ignore case %v, substring %v\nin %q\nfound %q\nwant  %q", sel.IDs, sel.IgnoreCase, sel.Substring, messages, got, want)
		}
		checkFirstPlace(t, &sel, records)
	}
}

// checkFirstPlace compares the first place that is highlighted with those of the patterns.
func checkFirstPlace(t *testing.T, sel *match.Selection, records []record.Record) {
	t.Helper()
	m, err := match.Compile(*sel)
	if err != nil {
		t.Fatal(err)
	}
	for i := range records {
		first := -1
		for _, id := range sel.IDs {
			one := *sel
			one.IDs, one.Patterns = nil, []string{id}
			p, err := match.Compile(one)
			if err != nil {
				t.Fatal(err)
			}
			if places := p.Highlight(nil, records[i].Message); len(places) > 0 && (first < 0 || places[0][0] < first) {
				first = places[0][0]
			}
		}
		places := m.Highlight(nil, records[i].Message)
		if (len(places) > 0) != (first >= 0) || first >= 0 && places[0][0] != first {
			t.Fatalf("%q in %q: highlighted %v, want the first at %d", sel.IDs, records[i].Message, places, first)
		}
	}
}

// One hundred thousand identifiers of one shape are found, and only these.
func TestManyIDs(t *testing.T) {
	t.Parallel()
	for _, form := range []string{"order-%07d", "<%d@example", "10.%d.0.1:x%06d", "request_%d"} {
		sel := querytest.Everything()
		id := func(i int) string {
			n := strings.Count(form, "%")
			return fmt.Sprintf(form, slices.Repeat([]any{i}, n)...)
		}
		for i := range 100_000 {
			sel.IDs = append(sel.IDs, id(2*i))
		}
		var messages []string
		for i := 195_000; i < 205_000; i++ {
			messages = append(messages, "of "+id(i)+" done")
		}
		var text []byte
		for _, r := range querytest.Messages(messages...) {
			text = append(text, querytest.Stored(r)...)
		}
		if got := scanAll(t, &sel, text); len(got) != 2500 || got[0] != messages[0] || got[2499] != messages[4998] {
			t.Errorf("%s: %d records", form, len(got))
		}
	}
}

func TestInvalidIDs(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"", "a\nb"} {
		sel := querytest.Everything()
		sel.IDs = []string{"a", id}
		if _, err := match.Compile(sel); err == nil {
			t.Errorf("%q compiles", id)
		}
	}
}

// Identifiers that match as a whole are looked up in the filter as long as there are few.
func TestFilterKeysOfIDs(t *testing.T) {
	t.Parallel()
	keys := func(patterns []string, substring bool, n int, more ...string) int {
		sel := querytest.Everything()
		sel.Patterns, sel.Substring, sel.IDs = patterns, substring, more
		for i := range n {
			sel.IDs = append(sel.IDs, fmt.Sprintf("order-%07d", i))
		}
		m, err := match.Compile(sel)
		if err != nil {
			t.Fatal(err)
		}
		all := m.FieldsOf("auto/1").FilterKeys()
		if !slices.IsSorted(all) || len(slices.Compact(slices.Clone(all))) != len(all) {
			t.Error("keys are not in order, each once")
		}
		return len(all)
	}
	for _, c := range []struct{ got, want int }{
		{keys(nil, false, 1), 1},
		{keys(nil, false, 1000), 1000},
		{keys(nil, false, 1000, "order-0000001"), 1000},
		{keys(nil, false, 100_000), 0},
		{keys(nil, true, 10), 0},
		{keys(nil, false, 10, "short1"), 0},
		{keys([]string{"7654321"}, false, 1000), 1},
		{keys([]string{" nothing "}, false, 100), 100},
	} {
		if c.got != c.want {
			t.Errorf("%d keys, want %d", c.got, c.want)
		}
	}
}

func BenchmarkIDs(b *testing.B) {
	var text []byte
	for i := 0; len(text) < 1<<20; i++ {
		text = record.AppendText(text, record.Record{
			Time: int64(i) * 1e6, Level: record.Info, Source: "api.log",
			Message: fmt.Appendf(nil, `{"msg":"request served","path":"/api/v1/users/%d","status":200,"trace_id":"%032x","note":"order-%07d"}`, i, i*7919, i),
		})
	}
	for _, form := range []string{"order-%07dx", "x%d@example", "%032xy"} {
		for _, n := range []int{1, 1000, 100_000} {
			sel := querytest.Everything()
			for i := range n {
				sel.IDs = append(sel.IDs, fmt.Sprintf(form, i))
			}
			m, err := match.Compile(sel)
			if err != nil {
				b.Fatal(err)
			}
			s := match.NewScanner(m)
			b.Run(fmt.Sprintf("%s/%d", form, n), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					if err := s.Scan(text, match.Checks{}, func(int, int, *record.Columns) { b.Fatal("found") }); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
