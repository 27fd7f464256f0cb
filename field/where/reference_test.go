package where_test

import (
	"bytes"
	"math/big"
	"regexp"
	"strings"
	"time"

	"logstow/record"
)

// The reference: a plain evaluator of expressions, after docs/where.md, over values that the test
// made and numbers of math/big. It shares nothing with the package.

type refKind int

const (
	absent refKind = iota
	null
	boolean
	number
	text // a string
	bare // a logfmt value without quotes
	array
	object
	quantity // a constant with a unit
)

// A refValue is a value: s is that of a string, or what is written; items are those of an array, or
// the values of an object, of which names are the names.
type refValue struct {
	kind  refKind
	s     string
	names []string
	items []refValue
}

// The truths are in the order in which "and" is the least.
const (
	isFalse = iota
	isUnknown
	isTrue
)

func refTruth(b bool) int {
	if b {
		return isTrue
	}
	return isFalse
}

// A term is an expression. Args are its parts; s is its constant or its name.
type term struct {
	op   string
	s    string
	args []term
}

// A refRecord is a record of the reference.
type refRecord struct {
	fields   refValue
	wrapped  refValue // the fields of the line that the message wraps
	time     int64
	level    record.Level
	service  string
	source   string
	instance string
	message  string
	item     refValue // what # is
	index    int
	lets     map[string]refValue
}

var numberForm = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

func (v refValue) rat() *big.Rat {
	if v.kind != number && (v.kind != bare || !numberForm.MatchString(v.s)) {
		return nil
	}
	r, ok := new(big.Rat).SetString(v.s)
	if !ok {
		return nil
	}
	return r
}

var (
	quantityForm = regexp.MustCompile(`^(-?)((?:[0-9]+(?:\.[0-9]+)? ?(?:ns|us|µs|μs|ms|s|m|h|d|w))+|[0-9]+(?:\.[0-9]+)? ?(?:B|[kKMGT]B|[KMGT]iB))$`)
	partForm     = regexp.MustCompile(`([0-9.]+) ?([a-zA-Zµμ]+)`)
)

// measure is the number of nanoseconds or bytes of a text with units.
func (v refValue) measure() (n *big.Rat, size bool) {
	m := quantityForm.FindStringSubmatch(v.s)
	if m == nil || !v.isText() && v.kind != quantity {
		return nil, false
	}
	total := new(big.Rat)
	for _, part := range partForm.FindAllStringSubmatch(m[2], -1) {
		unit := map[string]string{
			"ns": "1", "us": "1e3", "µs": "1e3", "μs": "1e3", "ms": "1e6", "s": "1e9", "m": "60e9", "h": "3600e9", "d": "86400e9", "w": "604800e9",
			"B": "1", "kB": "1e3", "KB": "1e3", "MB": "1e6", "GB": "1e9", "TB": "1e12", "KiB": "1024", "MiB": "1048576", "GiB": "1073741824", "TiB": "1099511627776",
		}[part[2]]
		size = strings.HasSuffix(part[2], "B")
		x, ok := new(big.Rat).SetString(part[1])
		y, too := new(big.Rat).SetString(unit)
		if !ok || !too {
			panic(v.s)
		}
		total.Add(total, x.Mul(x, y))
	}
	if m[1] == "-" {
		total.Neg(total)
	}
	return total, size
}

func (v refValue) isText() bool { return v.kind == text || v.kind == bare }

func (v refValue) truth() int {
	if (v.kind == boolean || v.kind == bare) && (v.s == "true" || v.s == "false") {
		return refTruth(v.s == "true")
	}
	return isUnknown
}

// find is the first field of a name, which may go through objects by dots.
func (v refValue) find(name string) refValue {
	for i, key := range v.names {
		if key == name {
			return v.items[i]
		}
		if rest, ok := strings.CutPrefix(name, key+"."); ok && v.items[i].kind == object {
			if found := v.items[i].find(rest); found.kind != absent {
				return found
			}
		}
	}
	return refValue{}
}

func (r *refRecord) field(name string) refValue {
	switch name {
	case "time":
		return refValue{kind: text, s: time.Unix(0, r.time).UTC().Format("2006-01-02T15:04:05.000000000Z")}
	case "level":
		return refValue{kind: text, s: r.level.String()}
	case "service":
		return refValue{kind: text, s: r.service}
	case "source":
		return refValue{kind: text, s: r.source}
	case "instance":
		return refValue{kind: text, s: r.instance}
	}
	v := r.wrapped.find(name)
	for own, ok := name, true; ok && v.kind == absent; own, ok = strings.CutPrefix(own, "message.") {
		if v = r.fields.find(own); v.kind == absent && own != name {
			v = r.wrapped.find(own)
		}
	}
	if v.kind == absent && name == "message" {
		return refValue{kind: text, s: r.message}
	}
	return v
}

// Signs of what is equal or not, but neither less nor greater.
const (
	same      = 10
	different = 11
)

// refCompare is the sign of a - b for numbers and strings, same or different for true and false.
func refCompare(a, b refValue) (sign int, comparable bool) {
	x, y := a.rat(), b.rat()
	if a.kind == quantity || b.kind == quantity {
		x, inBytes := a.measure()
		y, bytesToo := b.measure()
		if x == nil || y == nil || inBytes != bytesToo {
			return 0, false
		}
		return x.Cmp(y), true
	}
	switch {
	case x != nil && y != nil:
		return x.Cmp(y), true
	case a.isText() && b.isText():
		return bytes.Compare([]byte(a.s), []byte(b.s)), true
	case a.kind == boolean && b.truth() != isUnknown, b.kind == boolean && a.truth() != isUnknown:
		if a.s == b.s {
			return same, true
		}
		return different, true
	}
	return 0, false
}

func refRelation(op string, sign int, comparable bool) int {
	switch {
	case !comparable:
		return isUnknown
	case op == "==":
		return refTruth(sign == 0 || sign == same)
	case op == "!=":
		return refTruth(sign != 0 && sign != same)
	case sign == same || sign == different:
		return isUnknown
	case op == "<":
		return refTruth(sign < 0)
	case op == "<=":
		return refTruth(sign <= 0)
	case op == ">":
		return refTruth(sign > 0)
	}
	return refTruth(sign >= 0)
}

// truth is what an expression is as a condition.
func (n term) truth(r *refRecord) int {
	switch n.op {
	case "not":
		return isTrue - n.args[0].truth(r)
	case "and":
		return min(n.args[0].truth(r), n.args[1].truth(r))
	case "or":
		return max(n.args[0].truth(r), n.args[1].truth(r))
	case "==", "!=", "<", "<=", ">", ">=":
		return n.relate(r)
	case "in":
		return n.in(r)
	case "inrange":
		x, low, high := n.args[0].value(r).rat(), n.args[1].value(r).rat(), n.args[2].value(r).rat()
		if x == nil || low == nil || high == nil {
			return isUnknown
		}
		return refTruth(x.IsInt() && x.Cmp(low) >= 0 && x.Cmp(high) <= 0)
	case "contains", "startsWith", "endsWith", "matches":
		a, b := n.args[0].value(r), n.args[1].value(r)
		if !a.isText() || !b.isText() {
			return isUnknown
		}
		switch n.op {
		case "contains":
			return refTruth(strings.Contains(a.s, b.s))
		case "startsWith":
			return refTruth(strings.HasPrefix(a.s, b.s))
		case "endsWith":
			return refTruth(strings.HasSuffix(a.s, b.s))
		}
		re, err := regexp.Compile(b.s)
		if err != nil {
			return isUnknown
		}
		return refTruth(re.MatchString(a.s))
	case "has":
		return refTruth(n.args[0].value(r).kind != absent)
	case "any", "all", "none", "one":
		return n.quantify(r)
	}
	return n.value(r).truth()
}

func (n term) relate(r *refRecord) int {
	a, b := n.args[0], n.args[1]
	if b.op == "nil" {
		v := a.value(r)
		if v.kind == absent {
			return isUnknown
		}
		return refTruth((v.kind == null) == (n.op == "=="))
	}
	if b.op == "field" && a.op == "text" {
		mirrored := strings.NewReplacer("<", ">", ">", "<").Replace(n.op)
		return term{op: mirrored, args: []term{b, a}}.relate(r)
	}
	if a.op == "field" && b.op == "text" {
		switch a.s {
		case "level":
			return refRelation(n.op, int(r.level)-int(record.LevelFromAlias(b.s)), true)
		case "time":
			at, err := time.Parse(time.RFC3339Nano, b.s)
			if err != nil {
				panic(err)
			}
			return refRelation(n.op, time.Unix(0, r.time).Compare(at), true)
		}
	}
	sign, ok := refCompare(a.value(r), b.value(r))
	return refRelation(n.op, sign, ok)
}

// in is the "or" of ==.
func (n term) in(r *refRecord) int {
	left, list := n.args[0], n.args[1]
	if list.op == "list" {
		if left.value(r).kind == absent {
			return isUnknown
		}
		t := isFalse
		for _, element := range list.args {
			t = max(t, term{op: "==", args: []term{left, element}}.relate(r))
		}
		return t
	}
	v, all := left.value(r), list.value(r)
	if v.kind == absent || all.kind != array && (all.kind != object || !v.isText()) {
		return isUnknown
	}
	elements := all.items
	if all.kind == object {
		elements = nil
		for _, name := range all.names {
			elements = append(elements, refValue{kind: text, s: name})
		}
	}
	t := isFalse
	for _, element := range elements {
		sign, ok := refCompare(v, element)
		t = max(t, refRelation("==", sign, ok))
	}
	return t
}

// each evaluates the predicate for all elements.
func (n term) each(r *refRecord, f func(v refValue, predicate term)) bool {
	v := n.args[0].value(r)
	if v.kind != array {
		return false
	}
	item, index := r.item, r.index
	for i, element := range v.items {
		r.item, r.index = element, i
		f(element, n.args[1])
	}
	r.item, r.index = item, index
	return true
}

func (n term) quantify(r *refRecord) int {
	any, all, count, doubt := isFalse, isTrue, 0, 0
	if !n.each(r, func(_ refValue, p term) {
		t := p.truth(r)
		any, all = max(any, t), min(all, t)
		if t == isTrue {
			count++
		}
		if t == isUnknown {
			doubt++
		}
	}) {
		return isUnknown
	}
	switch n.op {
	case "any":
		return any
	case "all":
		return all
	case "none":
		return isTrue - any
	}
	switch {
	case count > 1:
		return isFalse
	case doubt > 0:
		return isUnknown
	}
	return refTruth(count == 1)
}

// value is what an expression is as a value.
func (n term) value(r *refRecord) refValue {
	switch n.op {
	case "field":
		return r.field(n.s)
	case "nil":
		return refValue{kind: null}
	case "text":
		return refValue{kind: text, s: n.s}
	case "number":
		return refValue{kind: number, s: n.s}
	case "quantity":
		return refValue{kind: quantity, s: n.s}
	case "bool":
		return refValue{kind: boolean, s: n.s}
	case "#":
		return r.item
	case "#index":
		return refInt(r.index)
	case "variable":
		return r.lets[n.s]
	case "let":
		old := r.lets[n.s]
		r.lets[n.s] = n.args[0].value(r)
		v := n.args[1].value(r)
		r.lets[n.s] = old
		return v
	case "list":
		v := refValue{kind: array}
		for _, a := range n.args {
			v.items = append(v.items, a.value(r))
		}
		return v
	case "??":
		if v := n.args[0].value(r); v.kind != absent && v.kind != null {
			return v
		}
		return n.args[1].value(r)
	case "?:":
		switch n.args[0].truth(r) {
		case isTrue:
			return n.args[1].value(r)
		case isFalse:
			return n.args[2].value(r)
		}
		return refValue{}
	case "neg":
		x := n.args[0].value(r)
		if x.kind == quantity {
			return refValue{kind: quantity, s: "-" + x.s}
		}
		if x.rat() == nil {
			return refValue{}
		}
		if rest, ok := strings.CutPrefix(x.s, "-"); ok {
			return refValue{kind: number, s: rest}
		}
		return refValue{kind: number, s: "-" + x.s}
	case "+", "-", "*", "/", "%":
		return refCalculate(n.op, n.args[0].value(r), n.args[1].value(r))
	case "filter", "find", "map", "count", "sum":
		return n.gather(r)
	case "call":
		args := make([]refValue, len(n.args))
		for i, a := range n.args {
			if args[i] = a.value(r); args[i].kind == absent {
				return refValue{}
			}
		}
		return refCall(n.s, args)
	}
	switch n.truth(r) {
	case isTrue:
		return refValue{kind: boolean, s: "true"}
	case isFalse:
		return refValue{kind: boolean, s: "false"}
	}
	return refValue{}
}

func (n term) gather(r *refRecord) refValue {
	out, total := refValue{kind: array}, refInt(0)
	if !n.each(r, func(v refValue, p term) {
		switch n.op {
		case "map":
			out.items = append(out.items, p.value(r))
		case "sum":
			total = refCalculate("+", total, p.value(r))
		default:
			if p.truth(r) == isTrue {
				out.items = append(out.items, v)
			}
		}
	}) {
		return refValue{}
	}
	switch {
	case n.op == "sum":
		return total
	case n.op == "count":
		return refInt(len(out.items))
	case n.op == "find" && len(out.items) > 0:
		return out.items[0]
	case n.op == "find":
		return refValue{}
	}
	return out
}
