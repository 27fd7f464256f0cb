package syntax

import (
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"
	"time"

	"logstow/internal/test/testrand"
	"logstow/message/pattern"
)

// generator makes random trees that a query can have.
type generator struct{ *rand.Rand }

func newGenerator(t *testing.T) *generator {
	seed := testrand.Seed(t)
	return &generator{rand.New(rand.NewPCG(seed, 0))}
}

func oneOf[T any](g *generator, all ...T) T { return all[g.IntN(len(all))] }

func list[T any](g *generator, least, most int, make func() T) []T {
	var all []T
	for range least + g.IntN(most-least+1) {
		all = append(all, make())
	}
	return all
}

func (g *generator) maybe() bool { return g.IntN(3) == 0 }

func (g *generator) label() string {
	return oneOf(g, "a", "b", "service_name", "__error__", "x1", "by", "and", "sum", "rate", "ip", "duration", "bytes", "Level", "sort", "unless", "without")
}

// labels have different names.
func (g *generator) labels(least, most int) []string {
	seen := map[string]bool{}
	var names []string
	for _, name := range list(g, least, most, g.label) {
		if !seen[name] {
			names, seen[name] = append(names, name), true
		}
	}
	return names
}

func (g *generator) text() string {
	return oneOf(g, "", "b", "two words", `say "hi"`, "back`quote", `back\slash`, "new\nline", "tab\t", "é日", "#", "{{.x}}", "\x00\xff", "' | or", "both ` and \"", "\u2028", "\r")
}

func (g *generator) expression() string {
	return oneOf(g, "b", "", "b|c", `\d+`, "[a-z]*", "(?i)b", "a\nb", "`\"")
}

func (g *generator) matcher() *Matcher {
	m := &Matcher{Name: g.label(), Op: MatchOp(g.IntN(4)), Value: g.text()}
	if m.Op == MatchRegexp || m.Op == MatchNotRegexp {
		m.Value = g.expression()
		m.Regexp = regexp.MustCompile("^(?:" + m.Value + ")$")
	}
	return m
}

func (g *generator) selector() []*Matcher {
	all := list(g, 0, 3, g.matcher)
	return append(all, &Matcher{Name: g.label(), Value: "b"})
}

func (g *generator) expr(depth int) Expr {
	if g.maybe() {
		return &LogExpr{Matchers: g.selector(), Stages: g.stages()}
	}
	return g.sample(depth)
}

func (g *generator) stages() []Stage {
	var all []Stage
	for _, s := range list(g, 0, 4, g.stage) {
		f, ok := s.(*LineFilter)
		if !ok || len(all) == 0 {
			all = append(all, s)
			continue
		}
		last := all[len(all)-1]
		if (f.Op == LineNotContain || f.Op == LineNotRegexp) && endsWithLabel(last) {
			all = append(all, &UnpackParser{})
		}
		if i := slices.IndexFunc(f.Texts, func(text LineText) bool { return text.IP }); i >= 0 && isLineFilter(last) {
			f.Texts = f.Texts[:i+1] // Grafana's editor has ip() as the last alternative
		}
		all = append(all, s)
	}
	return all
}

func isLineFilter(s Stage) bool {
	_, ok := s.(*LineFilter)
	return ok
}

// endsWithLabel reports whether != behind a stage is a condition of its last label: no query has a line filter there.
func endsWithLabel(s Stage) bool {
	var items []LabelItem
	switch s := s.(type) {
	case *DropLabels:
		items = s.Items
	case *KeepLabels:
		items = s.Items
	}
	return len(items) > 0 && items[len(items)-1].Matcher == nil
}

func (g *generator) stage() Stage {
	switch g.IntN(12) {
	case 0, 1:
		return g.lineFilter()
	case 2:
		return &JSONParser{Extractions: g.extractions(true)}
	case 3:
		return &LogfmtParser{Strict: g.maybe(), KeepEmpty: g.maybe(), Extractions: g.extractions(false)}
	case 4:
		expr := oneOf(g, "(?P<a>.)", `(?P<a>\w+) "(?P<b>.)"`, "(?<a>`)")
		return &RegexpParser{Expr: expr, Regexp: regexp.MustCompile(expr)}
	case 5:
		expr := oneOf(g, "<a>", "<_> [<a>] <b>", "\"<a>\"`", "<1><a><<b>>")
		return &PatternParser{Expr: expr, Parts: pattern.Split(expr, false)}
	case 6:
		return oneOf[Stage](g, &UnpackParser{}, &Decolorize{})
	case 7:
		return &LineFormat{Template: g.text()}
	case 8:
		f := &LabelFormat{}
		for _, name := range append(g.labels(0, 2), "new") {
			if name == "__error__" {
				continue
			}
			item := LabelFormatItem{Label: name}
			if g.maybe() {
				item.Rename = g.label()
			} else {
				item.Template = g.text()
			}
			f.Items = append(f.Items, item)
		}
		return f
	case 9:
		return &DropLabels{Items: list(g, 1, 3, g.labelItem)}
	case 10:
		return &KeepLabels{Items: list(g, 1, 3, g.labelItem)}
	default:
		return g.labelFilter()
	}
}

func (g *generator) labelFilter() *LabelFilter { return &LabelFilter{Condition: g.condition(3)} }

func (g *generator) labelItem() LabelItem {
	if g.maybe() {
		m := g.matcher()
		return LabelItem{Name: m.Name, Matcher: m}
	}
	return LabelItem{Name: g.label()}
}

func (g *generator) extractions(json bool) []Extraction {
	var all []Extraction
	for _, name := range g.labels(0, 3) {
		x := Extraction{Label: name, Expr: name}
		if g.maybe() {
			x.Expr = oneOf(g, "b", "b-c", "x1")
		}
		if json {
			if g.maybe() {
				x.Expr = oneOf(g, "b.c", `["b c"]`, "b[0].c", `[1]["\"]"]`)
			}
			x.Path, _ = parsePath(x.Expr)
		}
		all = append(all, x)
	}
	return all
}

func (g *generator) lineFilter() *LineFilter {
	f := &LineFilter{Op: LineOp(g.IntN(6))}
	f.Texts = list(g, 1, 3, func() LineText {
		switch text := (LineText{Text: g.text()}); f.Op {
		case LineRegexp, LineNotRegexp:
			text.Text = g.expression()
			text.Regexp = regexp.MustCompile(text.Text)
			return text
		case LinePattern, LineNotPattern:
			text.Text = oneOf(g, "", "<_>", "<_>b<_>", "< <1> \"", "`<_>")
			text.Parts = pattern.Split(text.Text, false)
			return text
		default:
			return text
		}
	})
	if f.Op != LinePattern && f.Op != LineNotPattern {
		if i := g.IntN(4); i < len(f.Texts) {
			f.Texts[i] = LineText{Text: "10.0.0.0/8", IP: true}
		}
	}
	return f
}

func (g *generator) condition(depth int) Condition {
	if depth > 0 && g.IntN(2) == 0 {
		return &Junction{g.IntN(2) == 0, g.condition(depth - 1), g.condition(depth - 1)}
	}
	switch g.IntN(4) {
	case 0:
		return &IPCondition{Name: g.label(), Not: g.maybe(), Range: g.text()}
	case 1:
		c := &NumberCondition{Name: g.label(), Op: oneOf(g, OpEqual, OpNotEqual, OpGreater, OpGreaterEqual, OpLess, OpLessEqual)}
		c.Text = oneOf(g, "5", "-5", "+.5", "1e3", "0x1f", "5.", "250ms", "-1h30m", "1w2d", "1.5us", "3µs", "20MB", "1.5KiB", "0B")
		c.Unit, c.Value = quantity(c.Text)
		return c
	default:
		return &StringCondition{Matcher: g.matcher()}
	}
}

// quantity is what a condition has for its text.
func quantity(text string) (Unit, float64) {
	sign := 1.0
	switch text[0] {
	case '-':
		sign, text = -1, text[1:]
	case '+':
		text = text[1:]
	}
	if n, err := parseNumber(text); err == nil {
		return UnitNone, sign * n
	}
	if d, err := parseDuration(text); err == nil {
		return UnitDuration, sign * d.Seconds()
	}
	n, _ := parseBytes(text)
	return UnitBytes, n
}

func (g *generator) number() float64 {
	return oneOf(g, 0, 1, 0.5, 1e21, 1e-7, 12345678, math.MaxFloat64, math.SmallestNonzeroFloat64, 1.0/3)
}

func (g *generator) sample(depth int) SampleExpr {
	if depth == 0 || g.maybe() {
		switch g.IntN(5) {
		case 0:
			return &Literal{oneOf(g, g.number(), -g.number(), math.NaN(), math.Inf(1), math.Inf(-1))}
		case 1:
			return &Vector{g.number()}
		default:
			return g.rangeAggregation()
		}
	}
	switch g.IntN(6) {
	case 0, 1:
		a := &VectorAggregation{
			Op:    oneOf(g, Sum, Avg, Max, Min, Count, Stddev, Stdvar, TopK, BottomK, Sort, SortDesc, ApproxTopK),
			Inner: g.sample(depth - 1),
		}
		if a.Op.selects() {
			a.Param = 1 + g.IntN(1000)
		}
		if a.Op != Sort && a.Op != SortDesc && a.Op != ApproxTopK {
			a.Grouping = g.grouping()
		}
		return a
	case 2:
		r := &LabelReplace{Inner: g.sample(depth - 1), Dst: g.label(), Replacement: g.text(), Src: g.label(), Expr: g.expression()}
		r.Regexp = regexp.MustCompile("^(?:" + r.Expr + ")$")
		return r
	default:
		return g.binary(depth)
	}
}

func (g *generator) grouping() *Grouping {
	if g.maybe() {
		return nil
	}
	return &Grouping{Without: g.maybe(), Labels: g.labels(0, 3)}
}

func (g *generator) binary(depth int) SampleExpr {
	b := &Binary{
		Op: oneOf(g, OpOr, OpAnd, OpUnless, OpEqual, OpNotEqual, OpGreater, OpGreaterEqual, OpLess, OpLessEqual,
			OpAdd, OpSub, OpMul, OpDiv, OpMod, OpPow, OpPow),
		Left: g.sample(depth - 1), Right: g.sample(depth - 1),
	}
	_, left := b.Left.(*Literal)
	_, right := b.Right.(*Literal)
	if left && right || (left || right) && b.Op.IsSet() {
		return &Vector{1}
	}
	b.Bool = b.Op.IsComparison() && g.maybe()
	if left || right || g.maybe() {
		return b
	}
	b.Matching = &Matching{On: g.maybe(), Labels: g.labels(0, 2)}
	if g.maybe() {
		return b
	}
	b.Matching.GroupLeft = g.maybe()
	b.Matching.GroupRight = !b.Matching.GroupLeft
	b.Matching.Include = list(g, 0, 2, func() string { return oneOf(g, "many", "more") })
	return b
}

func (g *generator) rangeAggregation() SampleExpr {
	a := &RangeAggregation{
		Op: oneOf(g, Rate, CountOver, BytesRate, BytesOver, AbsentOver, RateCounter, SumOver, AvgOver, MaxOver, MinOver,
			FirstOver, LastOver, StdvarOver, StddevOver, QuantileOver),
		Range: &LogRange{Log: &LogExpr{Matchers: g.selector(), Stages: g.stages()}, Range: g.duration()},
	}
	if g.maybe() {
		a.Range.Offset = oneOf[time.Duration](g, 1, -1) * g.duration()
	}
	if !a.Op.takesLines() || a.Op.takesUnwrap() && g.maybe() {
		a.Range.Unwrap = &Unwrap{Label: g.label(), Unit: Unit(g.IntN(3)), Filters: list(g, 0, 2, g.labelFilter)}
	}
	if a.Op == QuantileOver {
		a.Param = g.number()
	}
	if a.Op.takesGrouping() {
		a.Grouping = g.grouping()
	}
	return a
}

func (g *generator) duration() time.Duration {
	return oneOf(g, 5*time.Minute, 90*time.Minute, 36*time.Hour, 7*24*time.Hour, 1500*time.Millisecond, 1, 1001*time.Microsecond,
		time.Duration(1+g.Int64N(math.MaxInt64-1)))
}

func TestRandomTrees(t *testing.T) {
	g := newGenerator(t)
	for range 5_000 {
		e := g.expr(4)
		for _, query := range []string{e.String(), Pretty(e)} {
			again, err := Parse(query)
			if err != nil {
				t.Fatalf("%s\n%v", query, err)
			}
			if !equal(e, again) {
				t.Fatalf("not equal:\n%s\n%s", query, again)
			}
			if again.String() != e.String() {
				t.Fatalf("canonical forms:\n%s\n%s", e, again)
			}
		}
	}
}
