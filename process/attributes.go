package process

import (
	"bytes"
	"slices"

	"logstow/record/attributes"
)

// attributes returns encoded attributes whose strings, bytes and numbers have no secrets; the same slice if they have none.
func (r *redactor) attributes(text []byte, seen found, kinds *[]string) []byte {
	a := attributeRedactor{redactor: r, seen: seen, kinds: kinds}
	return attributes.Rewrite(text, func(name, value []byte) []byte {
		if len(value) == 0 || isID(name, value) {
			return value
		}
		return a.redact(name, value)
	})
}

// isID reports whether an attribute is an identifier of OpenTelemetry, whose digits may look like a number of a card.
func isID(name, value []byte) bool {
	const traceSize, spanSize = 32, 16
	switch string(name) {
	case "trace_id":
		return len(value) == traceSize && !slices.ContainsFunc(value, func(c byte) bool { return !isHex(c) })
	case "span_id":
		return len(value) == spanSize && !slices.ContainsFunc(value, func(c byte) bool { return !isHex(c) })
	}
	return false
}

// attributeRedactor redacts the attributes of one record.
type attributeRedactor struct {
	*redactor
	seen  found
	kinds *[]string
	pair  []byte // memory for NAME=VALUE
}

// redact returns a value without secrets: it is searched as it is, and as NAME=VALUE. A value that is a secret because of its name is
// replaced as a whole.
func (a *attributeRedactor) redact(name, value []byte) []byte {
	var few [8]span
	if i := a.named(name, value); i >= 0 {
		a.seen = a.report(a.seen, i, a.kinds)
		value = []byte(marked + ":" + a.secrets[i].name + "]")
	} else if spans := a.find(value, few[:0]); len(spans) > 0 {
		a.seen = a.reportAll(a.seen, spans, a.kinds)
		value = a.replace(value, spans)
	}
	for i := range a.expressions {
		if changed, ok := a.expression(&a.expressions[i], name, value); ok {
			a.seen = a.report(a.seen, len(a.secrets)+i, a.kinds)
			value = changed
		}
	}
	return value
}

// named returns the index of the kind of secret that a value is because of its name; -1 if it is none.
func (r *redactor) named(name, value []byte) int {
	if bytes.HasPrefix(value, []byte(marked)) {
		return -1
	}
	return slices.IndexFunc(r.secrets, func(s secret) bool {
		return endsWith(name, s.keys) && (s.isValue == nil || s.isValue(value))
	})
}

// expression replaces the matches of an expression in a value, and the one in NAME=VALUE that begins in the name and ends in the value.
// It is not ok if there are none.
func (a *attributeRedactor) expression(e *expression, name, value []byte) (changed []byte, ok bool) {
	a.pair = append(append(append(a.pair[:0], name...), '='), value...)
	start := len(a.pair) - len(value)
	done := 0 // what is replaced of the value
	for _, at := range e.re.FindAllSubmatchIndex(a.pair, -1) {
		if at[0] < start && at[1] > start {
			with := e.re.Expand(nil, e.with, a.pair, at)
			changed, done = bytes.TrimPrefix(with, a.pair[at[0]:start]), at[1]-start
		}
	}
	for _, at := range e.re.FindAllSubmatchIndex(value, -1) {
		ok = true
		if at[0] >= done {
			changed = e.re.Expand(append(changed, value[done:at[0]]...), e.with, value, at)
		}
		done = max(done, at[1]) // it may overlap the one that begins in the name
	}
	return append(changed, value[done:]...), ok || done > 0
}
