package where_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"logstow/field/where"
	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
	"logstow/message/parse"
)

// Random expressions give the result of the reference for random records, and the texts of
// Required and Groups are in those that match.
func TestLongAgreesWithReference(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "many conditions")
	expressions := effort.Cases{Test: 3000, Full: 20_000, Long: 1_000_000}.N()
	seed := testrand.Seed(t)
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 4))}
	compiled, matched, unknown := 0, 0, 0
	for range expressions {
		g.vars, g.inside = nil, 0
		n := g.condition(1 + g.IntN(4))
		source := n.source()
		p, err := where.Compile(source, now)
		if err != nil {
			if !strings.Contains(err.Error(), "cannot ") && !strings.Contains(err.Error(), " requires ") &&
				!strings.Contains(err.Error(), "is not ") && !strings.Contains(err.Error(), " has no ") {
				t.Fatalf("%s: %v", source, err)
			}
			continue
		}
		compiled++
		e, negated := p.Evaluator(), compileNot(t, source)
		for range 8 {
			r := g.record()
			want := n.truth(r)
			in := where.Record{Time: r.time, Level: r.level, Service: r.service, Source: []byte(r.source), Instance: r.instance, Message: []byte(r.message)}
			if e.Holds(&in) != (want == isTrue) || negated.Holds(&in) != (want == isFalse) {
				t.Fatalf("%s\nof %s: %v, of its negation %v; want %d", source, r.message, e.Holds(&in), negated.Holds(&in), want)
			}
			if want == isTrue && !mayHold(p, r.service, r.instance) {
				t.Fatalf("%s\nmatches %s of %s of %s, whose records are excluded", source, r.message, r.instance, r.service)
			}
			if want == isUnknown {
				unknown++
			}
			if want == isTrue {
				matched++
				checkRequired(t, p, source, r.message)
			}
		}
	}
	t.Logf("%d expressions, %d matches, %d unknown", compiled, matched, unknown)
	if compiled < expressions/2 || matched < expressions/2 || unknown < expressions/2 {
		t.Error("too few")
	}
}

func compileNot(t *testing.T, source string) *where.Evaluator {
	t.Helper()
	p, err := where.Compile("not ("+source+")", now)
	if err != nil {
		t.Fatal(err)
	}
	return p.Evaluator()
}

// mayHold reports whether an expression can be true of an instance of a service.
func mayHold(p *where.Program, service, instance string) bool {
	holds := p.OfOrigins()
	return holds == nil || holds(service, instance)
}

func checkRequired(t *testing.T, p *where.Program, source, message string) {
	t.Helper()
	if strings.Contains(message, `\u`) {
		return
	}
	for _, text := range p.Required(parse.Auto()) {
		if !strings.Contains(message, text) {
			t.Fatalf("%s\nmatches %s without %q", source, message, text)
		}
	}
	for _, group := range p.Groups(parse.Auto()) {
		if !slices.ContainsFunc(group, func(t where.Text) bool { return strings.Contains(message, t.Value) }) {
			t.Fatalf("%s\nmatches %s without any of %v", source, message, group)
		}
	}
}

// source is an expression as it is typed.
func (n term) source() string {
	args := make([]string, len(n.args))
	for i, a := range n.args {
		args[i] = a.source()
	}
	switch n.op {
	case "field":
		if strings.ContainsAny(n.s, "-") {
			return fmt.Sprintf("field(%q)", n.s)
		}
		return n.s
	case "text":
		return strconv.Quote(n.s)
	case "number", "quantity":
		return n.s
	case "bool", "variable":
		return n.s
	case "nil", "#", "#index":
		return n.op
	case "not":
		return "(not (" + args[0] + "))"
	case "neg":
		return "(-(" + args[0] + "))"
	case "list":
		return "[" + strings.Join(args, ", ") + "]"
	case "inrange":
		return fmt.Sprintf("(%s in %s..%s)", args[0], args[1], args[2])
	case "?:":
		return fmt.Sprintf("(%s ? %s : %s)", args[0], args[1], args[2])
	case "let":
		return fmt.Sprintf("(let %s = %s; %s)", n.s, args[0], args[1])
	case "has", "any", "all", "none", "one", "filter", "find", "map", "count", "sum":
		return n.op + "(" + strings.Join(args, ", ") + ")"
	case "call":
		if n.s == "at" {
			return args[0] + "[" + args[1] + "]"
		}
		return n.s + "(" + strings.Join(args, ", ") + ")"
	}
	return "(" + args[0] + " " + n.op + " " + args[1] + ")"
}

// A generator makes expressions and records.
type generator struct {
	*rand.Rand
	vars    []string
	inside  int                 // predicates
	wrapped map[string]refValue // the fields of texts that are lines
}

func (g *generator) one(from ...string) string { return from[g.IntN(len(from))] }

func (g *generator) field() term {
	return term{op: "field", s: g.one("a", "b", "c", "d", "status", "path", "a.b", "b.c.d", "k-1", "message", "source", "instance", "service", "level", "gone", "log", "message.a", "message.b.c", "message.message")}
}

func (g *generator) number() string {
	return g.one("0", "0.0", "1", "1.0", "1E+0", "7", "12", "200", "500", "1.5", "0.1", "500.0", "5e2", "9007199254740992", "9007199254740993", "9007199254740992.0",
		"9223372036854775807", "9223372036854775808", "18446744073709551615", "18446744073709551614", "1234567890123456789", "1234567890123456788",
		"123456789012345678901234567890", "123456789012345678901234567891", "1e300", "1e-300", "0.30000000000000004", "12345678901234567.8")
}

func (g *generator) text() string {
	return g.one("", "7", "007", "12", "500", "true", "ann", "Ann", "an", "x", "é\"\n", "a/b", "\\", " b ", "1e2", "9007199254740993", "null", "WARN", "a=1", g.quantity())
}

func (g *generator) quantity() string {
	return g.one("0s", "100ms", "0.1s", "1.5s", "90s", "1m30s", "1h", "7ns", "0.007us", "100µs", "0B", "1KiB", "1024B", "1.5kB", "2MiB", "15000000TiB")
}

// comparand is a constant that a value can be compared with.
func (g *generator) comparand() term {
	switch g.IntN(12) {
	case 0, 1:
		return term{op: "quantity", s: g.quantity()}
	case 2:
		return term{op: "neg", args: []term{{op: "quantity", s: g.quantity()}}}
	}
	return g.constant()
}

func (g *generator) constant() term {
	switch g.IntN(5) {
	case 0, 1:
		return term{op: "number", s: g.number()}
	case 2:
		return term{op: "neg", args: []term{{op: "number", s: g.number()}}}
	case 3:
		return term{op: "text", s: g.text()}
	}
	return term{op: "bool", s: g.one("true", "false")}
}

// condition makes what is true, false or unknown.
func (g *generator) condition(depth int) term {
	if depth <= 0 {
		return g.relation(depth)
	}
	switch g.IntN(10) {
	case 0:
		return term{op: "not", args: []term{g.condition(depth - 1)}}
	case 1, 2:
		return term{op: g.one("and", "or"), args: []term{g.condition(depth - 1), g.condition(depth - 1)}}
	case 3:
		return term{op: g.one("any", "all", "none", "one"), args: []term{g.array(depth - 1), g.predicate(depth - 1)}}
	case 4:
		return term{op: "?:", args: []term{g.condition(depth - 1), g.condition(depth - 1), g.condition(depth - 1)}}
	case 5:
		return g.let(depth, g.condition)
	}
	return g.relation(depth)
}

func (g *generator) relation(depth int) term {
	left, right := g.value(depth-1), g.comparand()
	if g.IntN(3) == 0 {
		right = g.value(depth - 1)
	}
	switch g.IntN(12) {
	case 0:
		return term{op: g.one("==", "!="), args: []term{left, {op: "nil"}}}
	case 1:
		return term{op: "has", args: []term{g.field()}}
	case 2:
		list := term{op: "list"}
		for range g.IntN(4) {
			list.args = append(list.args, g.comparand())
		}
		if g.IntN(4) == 0 {
			list.args = append(list.args, term{op: "nil"})
		}
		return term{op: "in", args: []term{left, list}}
	case 3:
		return term{op: "in", args: []term{left, g.array(depth - 1)}}
	case 4:
		return term{op: "inrange", args: []term{left, {op: "number", s: g.one("0", "1", "7", "9007199254740993")}, {op: "number", s: g.one("7", "500", "9007199254740993", "1e300")}}}
	case 5, 6:
		right = term{op: "text", s: g.text()}
		if g.IntN(4) == 0 {
			right = g.field()
		}
		op := g.one("contains", "startsWith", "endsWith", "matches")
		if op == "matches" && right.op == "text" {
			right.s = g.one("^a", "n+$", "[0-9]{2}", "(?i)ANN", "")
		}
		return term{op: op, args: []term{left, right}}
	case 7:
		return g.field()
	case 8:
		return term{op: g.one("==", "<", ">="), args: []term{{op: "field", s: "level"}, {op: "text", s: g.one("warn", "error", "-", "ERR")}}}
	case 9:
		return term{op: g.one("==", "<", ">="), args: []term{{op: "field", s: "time"}, {op: "text", s: g.one("2026-11-20T12:00:00Z", "2026-11-20T12:00:01Z")}}}
	}
	op := g.one("==", "!=", "<", "<=", ">", ">=")
	if mirrored := g.IntN(4) == 0; mirrored && right.op != "nil" {
		left, right = right, left
	}
	return term{op: op, args: []term{left, right}}
}

func (g *generator) let(depth int, body func(int) term) term {
	name := fmt.Sprintf("v%d", len(g.vars))
	v := g.value(depth - 1)
	g.vars = append(g.vars, name)
	n := term{op: "let", s: name, args: []term{v, body(depth - 1)}}
	g.vars = g.vars[:len(g.vars)-1]
	return n
}

func (g *generator) predicate(depth int) term {
	g.inside++
	defer func() { g.inside-- }()
	return g.condition(depth)
}

func (g *generator) array(depth int) term {
	switch g.IntN(5) {
	case 0:
		if depth > 0 {
			return term{op: "filter", args: []term{g.array(depth - 1), g.predicate(depth - 1)}}
		}
	case 1:
		if depth > 0 {
			array := g.array(depth - 1)
			g.inside++
			body := g.value(depth - 1)
			g.inside--
			return term{op: "map", args: []term{array, body}}
		}
	case 2:
		return term{op: "list", args: []term{g.constant(), g.field(), g.constant()}}
	}
	return term{op: "field", s: g.one("a", "b", "c", "b.c")}
}

func (g *generator) value(depth int) term {
	if len(g.vars) > 0 && g.IntN(3) == 0 {
		return term{op: "variable", s: g.vars[g.IntN(len(g.vars))]}
	}
	if g.inside > 0 && g.IntN(2) == 0 {
		return term{op: g.one("#", "#", "#", "#index")}
	}
	if depth <= 0 {
		return g.field()
	}
	switch g.IntN(12) {
	case 0, 1:
		return term{op: g.one("+", "-", "*", "/", "%"), args: []term{g.value(depth - 1), g.constant()}}
	case 2:
		return term{op: "??", args: []term{g.value(depth - 1), g.constant()}}
	case 3:
		return term{op: "?:", args: []term{g.condition(depth - 1), g.value(depth - 1), g.constant()}}
	case 4:
		return g.let(depth, g.value)
	case 5:
		return g.condition(depth - 1)
	case 6:
		return term{op: g.one("find", "count"), args: []term{g.array(depth - 1), g.predicate(depth - 1)}}
	case 7:
		array := g.array(depth - 1)
		g.inside++
		body := g.value(depth - 1)
		g.inside--
		return term{op: "sum", args: []term{array, body}}
	case 8, 9:
		return g.call(depth)
	}
	return g.field()
}

func (g *generator) call(depth int) term {
	n := term{op: "call", s: g.one("type", "len", "first", "last", "at", "min", "max", "int", "abs", "lower", "upper", "trim", "hasPrefix", "indexOf")}
	n.args = []term{g.value(depth - 1)}
	switch n.s {
	case "first", "last", "at":
		n.args[0] = term{op: "field", s: g.one("a", "b", "c", "b.c")}
		if n.s == "at" {
			n.args = append(n.args, term{op: "number", s: g.one("0", "1", "2", "1.0")})
		}
	case "min", "max":
		n.args = append(n.args, g.constant())
	case "hasPrefix", "indexOf":
		n.args = append(n.args, term{op: "text", s: g.text()})
	}
	return n
}
