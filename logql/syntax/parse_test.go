package syntax

import (
	"errors"
	"fmt"
	"math"
	"regexp/syntax"
	"strings"
	"testing"
	"time"

	"logstow/message/pattern"
)

func TestCanonicalForm(t *testing.T) {
	for _, test := range append(validQueries(), relaxedQueries()...) {
		query, want := test[0], test[1]
		if want == "" {
			want = query
		}
		e, err := Parse(query)
		if err != nil {
			t.Errorf("%s\n%v", query, err)
			continue
		}
		if got := e.String(); got != want {
			t.Errorf("%s\n got %s\nwant %s", query, got, want)
		}
		again, err := Parse(want)
		if err != nil {
			t.Errorf("%s: %v", want, err)
		} else if !equal(e, again) {
			t.Errorf("%s: not equal to the tree of its canonical form %s", query, want)
		}
	}
}

func TestMistakes(t *testing.T) {
	for _, test := range invalidQueries() {
		query, at, want := test.query, test.at, test.message
		_, err := Parse(query)
		var mistake *Error
		if !errors.As(err, &mistake) {
			t.Errorf("%s\nhas error %v", query, err)
			continue
		}
		if got := fmt.Sprintf("%d:%d", mistake.Line, mistake.Col); got != at || mistake.Message != want {
			t.Errorf("%s\n got %s %s\nwant %s %s", query, got, mistake.Message, at, want)
		}
	}
}

func TestErrorText(t *testing.T) {
	_, err := Parse("{a=\"ä\"}\n | json |")
	if want := `parse error at line 2, col 10: unexpected end of query, expected a stage, such as json, or a label filter`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestNesting(t *testing.T) {
	nested := func(before, middle, behind string, n int) string {
		return strings.Repeat(before, n) + middle + strings.Repeat(behind, n)
	}
	for _, test := range [][3]string{
		{`(`, `1`, `)`},
		{`(`, `{a="b"}`, `)`},
		{`sum(`, `vector(1)`, `)`},
		{`vector(1) + (`, `1`, `)`},
		{`1 < bool (`, `vector(1)`, `)`},
		{`vector(1) ^ `, `1`, ``},
		{`label_replace(`, `vector(1)`, `, "a", "b", "c", "d")`},
	} {
		if _, err := Parse(nested(test[0], test[1], test[2], maxDepth-1)); err != nil {
			t.Errorf("%s: %v", test[0], err)
		}
		if _, err := Parse(nested(test[0], test[1], test[2], maxDepth)); err == nil || !strings.Contains(err.Error(), "nested deeper than") {
			t.Errorf("%s: error %v", test[0], err)
		}
		if _, err := Parse(nested(test[0], test[1], test[2], (maxLength-20)/(len(test[0])+len(test[2])))); err == nil || !strings.Contains(err.Error(), "nested deeper than") {
			t.Errorf("%s: error %v", test[0], err)
		}
	}
	for _, test := range [][2]string{{`{a="b"} | `, `c=1`}, {`rate(`, `{a="b"}[5m]`}} {
		query := test[0] + nested("(", test[1], ")", 60_000)
		if _, err := Parse(query); err == nil || !strings.Contains(err.Error(), "nested deeper than") {
			t.Errorf("%s: error %v", test[0], err)
		}
	}
}

func TestLargeRegexps(t *testing.T) {
	for _, part := range []string{` |~ "(a|b|c){0,999}x"`, ` | a=~"[^x]{1000,}"`, ` | regexp "(?P<a>(xy?z+){500})"`} {
		if _, err := Parse(`{a="b"}` + strings.Repeat(part, 10)); err != nil {
			t.Errorf("%s: %v", part, err)
		}
		_, err := Parse(`{a="b"}` + strings.Repeat(part, 1000))
		if err == nil || !strings.Contains(err.Error(), "regular expressions of the query are too large") {
			t.Errorf("%s: error %v", part, err)
		}
	}
}

func TestRegexpInstructions(t *testing.T) {
	for _, expr := range []string{`x{1000}`, `(a|bcd|e*){3,700}`, `[^x]{900,}y`, `(?i)a?b+c*.`, `()|^a$`, `(a{10}){20}`, `((a|bc)+x?){0,9}`} {
		tree, err := syntax.Parse(expr, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		program, err := syntax.Compile(tree.Simplify())
		if err != nil {
			t.Fatal(err)
		}
		want := len(program.Inst)
		if got, err := RegexpInstructions(expr); err != nil || got < want-want/4-4 || got > want+want/4+4 {
			t.Errorf("%s: %d instructions, %v, want about %d", expr, got, err, want)
		}
	}
}

func TestLongestQueries(t *testing.T) {
	for _, part := range []string{` |= "a"`, ` |= "a" or "b"`, ` | a=1 or b=2`, ` | a="b"`, ` |~ "a?b*()|."`, ` | a=~"a?b*"`} {
		query := `{a="b"}`
		query += strings.Repeat(part, (maxLength-len(query))/len(part))
		query += strings.Repeat(" ", maxLength-len(query))
		e, err := Parse(query)
		if err != nil {
			t.Fatal(err)
		}
		if len(e.String()) < maxLength/2 {
			t.Errorf("%q: %d bytes", part, len(e.String()))
		}
		if _, err := Parse(query + " "); err == nil || !strings.Contains(err.Error(), "longer than") {
			t.Errorf("%q: error %v", part, err)
		}
	}
	chain := "vector(1)" + strings.Repeat("+vector(1)", 7_000)
	e, err := Parse(chain)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Parse(Pretty(e)); err != nil || !equal(e, again) {
		t.Errorf("pretty form of a long chain: %v", err)
	}
}

func TestNumbersOfTree(t *testing.T) {
	e := mustParse(t, `quantile_over_time(0.25, {a="b"} | took > 250ms | size <= 1.5KiB | n != -5 | n == 0x1f | t > 1w1d | unwrap bytes(x) [1d12h] offset -90s)`).(*RangeAggregation)
	if e.Param != 0.25 || e.Range.Range != 36*time.Hour || e.Range.Offset != -90*time.Second || e.Range.Unwrap.Unit != UnitBytes {
		t.Errorf("got %+v with range %+v", e, e.Range)
	}
	want := []NumberCondition{
		{"took", OpGreater, UnitDuration, 0.25, "250ms"},
		{"size", OpLessEqual, UnitBytes, 1536, "1.5KiB"},
		{"n", OpNotEqual, UnitNone, -5, "-5"},
		{"n", OpEqual, UnitNone, 31, "0x1f"},
		{"t", OpGreater, UnitDuration, 8 * 86400, "1w1d"},
	}
	for i, s := range e.Range.Log.Stages {
		if got := s.(*LabelFilter).Condition.(*NumberCondition); *got != want[i] {
			t.Errorf("got %+v, want %+v", *got, want[i])
		}
	}
}

func TestPartsOfTree(t *testing.T) {
	e := mustParse(t, `{a="b"} | json x="a.b[3][\"c d\"].e" | pattern "<a> [<_>]<1>" |> "x<_>"`).(*LogExpr)
	path := fmt.Sprint(e.Stages[0].(*JSONParser).Extractions[0].Path)
	if want := "[{a -1} {b -1} { 3} {c d -1} {e -1}]"; path != want {
		t.Errorf("path %s, want %s", path, want)
	}
	parts := fmt.Sprintf("%q", e.Stages[1].(*PatternParser).Parts)
	if want := `[{"" "a"} {" [" ""} {"" "_"} {"]<1>" ""}]`; parts != want {
		t.Errorf("parts %s, want %s", parts, want)
	}
	parts = fmt.Sprintf("%q", pattern.Split("<<a><b ><é><><_c>d<e", false))
	if want := `[{"<" ""} {"" "a"} {"<b ><é><>" ""} {"" "_c"} {"d<e" ""}]`; parts != want {
		t.Errorf("parts %s, want %s", parts, want)
	}
	parts = fmt.Sprintf("%q", e.Stages[2].(*LineFilter).Texts[0].Parts)
	if want := `[{"x" ""} {"" "_"}]`; parts != want {
		t.Errorf("parts %s, want %s", parts, want)
	}
}

func TestMatchers(t *testing.T) {
	for _, test := range []struct {
		selector, value string
		want            bool
	}{
		{`{a="b"}`, "b", true},
		{`{a="b"}`, "bb", false},
		{`{a!="b"}`, "", true},
		{`{a=~"b|c"}`, "c", true},
		{`{a=~"b|c"}`, "bc", false},
		{`{a=~"b.c"}`, "b\nc", false},
		{`{a=~"(?s)b.c"}`, "b\nc", true},
		{`{a=~"(?i)b"}`, "B", true},
		{`{a=~""}`, "", true},
		{`{a!~"b+"}`, "bb", false},
		{`{a!~"b+"}`, "", true},
	} {
		all, err := ParseMatchers(test.selector)
		if err != nil || len(all) != 1 {
			t.Errorf("%s: %v, %v", test.selector, all, err)
		} else if got := all[0].Matches(test.value); got != test.want {
			t.Errorf("%s matches %q: %v", test.selector, test.value, got)
		}
	}
	for selector, want := range map[string]int{`{}`: 0, ` { } `: 0, `{a=~".*"}`: 1, `{a="", b!="c"}`: 2} {
		if all, err := ParseMatchers(selector); err != nil || len(all) != want {
			t.Errorf("%s: %v, %v", selector, all, err)
		}
	}
	for _, selector := range []string{``, `a="b"`, `{a="b"} |= "x"`, `{a="b"`, `{a=~"("}`, `({a="b"})`, `{a="b"}[5m]`} {
		if _, err := ParseMatchers(selector); err == nil {
			t.Errorf("%s: no error", selector)
		}
	}
}

func TestApply(t *testing.T) {
	for _, test := range []struct {
		op                BinaryOp
		left, right, want float64
	}{
		{OpAdd, 1, 2, 3},
		{OpSub, 1, 2, -1},
		{OpMul, 2, 3, 6},
		{OpDiv, 1, 4, 0.25},
		{OpDiv, -1, 0, math.Inf(-1)},
		{OpMod, -7, 4, -3},
		{OpPow, 2, -1, 0.5},
		{OpEqual, 1, 1, 1},
		{OpNotEqual, 1, 1, 0},
		{OpGreater, 2, 1, 1},
		{OpGreaterEqual, 1, 1, 1},
		{OpLess, 1, 1, 0},
		{OpLessEqual, 1, 1, 1},
		{OpEqual, math.NaN(), math.NaN(), 0},
		{OpNotEqual, math.NaN(), math.NaN(), 1},
	} {
		if got, ok := test.op.Apply(test.left, test.right); got != test.want || !ok {
			t.Errorf("%g %s %g is %g, %v", test.left, test.op, test.right, got, ok)
		}
	}
	if got, _ := OpMod.Apply(1, 0); !math.IsNaN(got) {
		t.Errorf("1 %% 0 is %g", got)
	}
	if _, ok := OpUnless.Apply(1, 1); ok {
		t.Error("unless computes a number")
	}
}

func mustParse(t *testing.T, query string) Expr {
	t.Helper()
	e, err := Parse(query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return e
}
