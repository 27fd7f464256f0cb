package main

import (
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// truth is what a condition is: false, unknown or true.
type truth int

const (
	isFalse truth = iota
	isUnknown
	isTrue
)

func truthIs(b bool) truth {
	if b {
		return isTrue
	}
	return isFalse
}

// condition is a text for --where with its meaning.
type condition struct {
	text string
	// loose is how loosely the text binds: 0 is an operand, 1 "and", 2 "or", 3 "? :".
	loose int
	of    func(*stored) truth
}

// within is the text where nothing looser than that may stand.
func (c condition) within(loose int) string {
	if c.loose > loose {
		return "(" + c.text + ")"
	}
	return c.text
}

// randomCondition makes a condition of parts.
func randomCondition(rnd *rand.Rand, depth int) condition {
	if depth == 0 || rnd.IntN(3) == 0 {
		return randomTest(rnd)
	}
	a, b := randomCondition(rnd, depth-1), randomCondition(rnd, depth-1)
	switch rnd.IntN(7) {
	case 0, 1:
		return condition{oneOf(rnd, "not (", "!(", "not(") + a.text + ")", 0, func(r *stored) truth { return isTrue - a.of(r) }}
	case 2, 3:
		return condition{a.within(1) + oneOf(rnd, " and ", " && ") + b.within(1), 1, func(r *stored) truth { return min(a.of(r), b.of(r)) }}
	case 4, 5:
		return condition{a.within(2) + oneOf(rnd, " or ", " || ") + b.within(2), 2, func(r *stored) truth { return max(a.of(r), b.of(r)) }}
	}
	c := randomTest(rnd)
	return condition{c.within(0) + " ? " + a.within(0) + " : " + b.within(0), 3, func(r *stored) truth {
		switch c.of(r) {
		case isTrue:
			return a.of(r)
		case isFalse:
			return b.of(r)
		}
		return isUnknown
	}}
}

// fieldText is a field as an expression names it.
func fieldText(name string) string {
	if name == "a,b" {
		return fmt.Sprintf("field(%q)", name)
	}
	return name
}

// randomField is a field's name: "level" is that of a column.
func randomField(rnd *rand.Rand) string {
	names := slices.DeleteFunc(fieldNames(), func(name string) bool { return name == "level" })
	return oneOf(rnd, append(names, "nosuch", "status", "user", "id")...)
}

// randomTest is one operation.
func randomTest(rnd *rand.Rand) condition {
	name := randomField(rnd)
	text := fieldText(name)
	test := func(of func(v any, ok bool) truth, format string, args ...any) condition {
		return condition{fmt.Sprintf(format, args...), 0, func(r *stored) truth {
			v, ok := r.fields[name]
			return of(v, ok)
		}}
	}
	switch rnd.IntN(14) {
	case 0:
		return test(func(_ any, ok bool) truth { return truthIs(ok) }, "has(%s)", text)
	case 1:
		op := oneOf(rnd, "==", "!=")
		return test(func(v any, ok bool) truth {
			if !ok {
				return isUnknown
			}
			return truthIs((v == nil) == (op == "=="))
		}, "%s %s nil", text, op)
	case 2:
		low, high := rnd.IntN(500), rnd.IntN(600)
		return test(func(v any, _ bool) truth {
			n := number(v)
			if n == nil {
				return isUnknown
			}
			return truthIs(n.IsInt() && n.Cmp(big.NewRat(int64(low), 1)) >= 0 && n.Cmp(big.NewRat(int64(high), 1)) <= 0)
		}, "%s in %d..%d", text, low, high)
	case 3, 4:
		return randomSearch(rnd, text, func(r *stored) (string, bool) { return asText(r.fields[name]) })
	case 5:
		return randomList(rnd, name)
	case 6:
		return randomColumn(rnd)
	case 7:
		other := randomField(rnd)
		op := oneOf(rnd, "==", "!=", "<", ">=")
		return condition{text + " " + op + " " + fieldText(other), 0, func(r *stored) truth {
			a, aOK := r.fields[name]
			b, bOK := r.fields[other]
			if !aOK || !bOK {
				return isUnknown
			}
			return related(op, a, b)
		}}
	case 8:
		return condition{oneOf(rnd, "ok", "ok == true", "true == ok", "ok != false"), 0, func(r *stored) truth {
			if b, known := asBool(r.fields["ok"]); known {
				return truthIs(b)
			}
			return isUnknown
		}}
	}
	constant, typed := constantFor(rnd, name)
	op := oneOf(rnd, "==", "!=", "<", "<=", ">", ">=")
	mirrored := map[string]string{"<": ">", ">": "<", "<=": ">=", ">=": "<="}
	shown := text + oneOf(rnd, " ", "") + op + " " + typed
	if rnd.IntN(3) == 0 {
		turned := op
		if m := mirrored[op]; m != "" {
			turned = m
		}
		shown = typed + " " + turned + " " + text
	}
	return test(func(v any, ok bool) truth {
		if !ok {
			return isUnknown
		}
		return related(op, v, constant)
	}, "%s", shown)
}

// constantFor is mostly one of the values that a field has.
func constantFor(rnd *rand.Rand, name string) (any, string) {
	if values := fieldValues()[name]; len(values) > 0 && rnd.IntN(3) > 0 {
		switch v := oneOf(rnd, values...).(type) {
		case json.Number:
			return v, string(v)
		case string:
			return v, strconv.Quote(v)
		}
	}
	return randomConstant(rnd)
}

func randomConstant(rnd *rand.Rand) (any, string) {
	if rnd.IntN(5) < 3 {
		n := oneOf(rnd, "404", "500", "503", "200", "200.0", "1234567890123456789", "18446744073709551615", "-9223372036854775808", "12.25", "1000", "0", "7")
		return json.Number(n), n
	}
	s := oneOf(rnd, "ann", "bob", "", "a,b", " ann", "503", "GET", "order-12345", "Zoë")
	return s, strconv.Quote(s)
}

// randomSearch looks into a text.
func randomSearch(rnd *rand.Rand, name string, of func(*stored) (string, bool)) condition {
	op := oneOf(rnd, "contains", "startsWith", "endsWith", "matches")
	part := oneOf(rnd, "an", "b", "", "50", "order", "order-12345", "G", " ", ",")
	return condition{fmt.Sprintf("%s %s %q", name, op, part), 0, func(r *stored) truth {
		s, ok := of(r)
		if !ok {
			return isUnknown
		}
		switch op {
		case "startsWith":
			return truthIs(strings.HasPrefix(s, part))
		case "endsWith":
			return truthIs(strings.HasSuffix(s, part))
		case "matches":
			return truthIs(regexp.MustCompile(part).MatchString(s))
		}
		return truthIs(strings.Contains(s, part))
	}}
}

// randomList is "in" or "not in" a list.
func randomList(rnd *rand.Rand, name string) condition {
	var list []any
	var texts []string
	for range 1 + rnd.IntN(3) {
		v, typed := constantFor(rnd, name)
		if rnd.IntN(6) == 0 {
			v, typed = nil, "nil"
		}
		list, texts = append(list, v), append(texts, typed)
	}
	not := rnd.IntN(3) == 0
	op := " in ["
	if not {
		op = " not in ["
	}
	return condition{fieldText(name) + op + strings.Join(texts, ", ") + "]", 0, func(r *stored) truth {
		v, ok := r.fields[name]
		if !ok {
			return isUnknown
		}
		t := isFalse
		for _, one := range list {
			if one == nil {
				t = max(t, truthIs(v == nil))
			} else {
				t = max(t, related("==", v, one))
			}
		}
		if not {
			t = isTrue - t
		}
		return t
	}}
}

// randomColumn is a test of what is no field of the message.
func randomColumn(rnd *rand.Rand) condition {
	op := oneOf(rnd, "==", "!=", "<", "<=", ">", ">=")
	switch rnd.IntN(4) {
	case 0:
		levels := []string{"-", "TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"}
		i := rnd.IntN(len(levels))
		text := strings.ToLower(levels[i])
		return condition{fmt.Sprintf("level %s %q", op, text), 0, func(r *stored) truth {
			return ordered(op, slices.Index(levels, r.level)-i)
		}}
	case 1:
		at := worldNow().Add(time.Duration(rnd.IntN(240)-180) * time.Minute)
		return condition{fmt.Sprintf("time %s %q", op, at.Format(time.RFC3339)), 0, func(r *stored) truth { return ordered(op, r.at.Compare(at)) }}
	case 2:
		text := oneOf(rnd, "web", "shop", "web-api")
		return condition{fmt.Sprintf("service %s %q", op, text), 0, func(r *stored) truth { return ordered(op, strings.Compare(r.service, text)) }}
	}
	if rnd.IntN(3) == 0 {
		return randomInstance(rnd, op)
	}
	name := oneOf(rnd, "message", "source", "service", "instance")
	return randomSearch(rnd, name, func(r *stored) (string, bool) {
		return map[string]string{"message": r.message, "source": r.source, "service": r.service, "instance": r.instance}[name], true
	})
}

// randomInstance is a test of the instance.
func randomInstance(rnd *rand.Rand, op string) condition {
	text := oneOf(rnd, "pod-1", "pod-2", "pod-3")
	if rnd.IntN(2) == 0 {
		return condition{fmt.Sprintf("instance in [%q, %q]", text, "pod-3"), 0, func(r *stored) truth { return truthIs(r.instance == text || r.instance == "pod-3") }}
	}
	return condition{fmt.Sprintf("instance %s %q", op, text), 0, func(r *stored) truth { return ordered(op, strings.Compare(r.instance, text)) }}
}

func number(v any) *big.Rat {
	switch v.(type) {
	case json.Number, bare:
		if n, ok := new(big.Rat).SetString(fmt.Sprint(v)); ok {
			return n
		}
	}
	return nil
}

func asText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bare:
		return string(v), true
	}
	return "", false
}

func asBool(v any) (value, ok bool) {
	switch v {
	case true, bare("true"):
		return true, true
	case false, bare("false"):
		return false, true
	}
	return false, false
}

// related compares two values that are there.
func related(op string, a, b any) truth {
	if x, y := number(a), number(b); x != nil && y != nil {
		return ordered(op, x.Cmp(y))
	}
	x, xOK := asText(a)
	y, yOK := asText(b)
	if xOK && yOK {
		return ordered(op, strings.Compare(x, y))
	}
	p, pOK := asBool(a)
	q, qOK := asBool(b)
	if pOK && qOK && (op == "==" || op == "!=") {
		return truthIs((p == q) == (op == "=="))
	}
	return isUnknown
}

func ordered(op string, c int) truth {
	return truthIs(map[string]bool{"==": c == 0, "!=": c != 0, "<": c < 0, "<=": c <= 0, ">": c > 0, ">=": c >= 0}[op])
}
