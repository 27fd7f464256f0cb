package where_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"logstow/record"
)

// record makes a record: of JSON, of logfmt or of plain text.
func (g *generator) record() *refRecord {
	g.wrapped = nil
	r := &refRecord{
		level: record.Level(g.IntN(record.Levels)), service: "api", source: g.one("-", "app.log"), instance: g.one("a", "app.log"), lets: map[string]refValue{},
		time: time.Date(2026, 11, 20, 12, 0, g.IntN(3), g.IntN(2)*500, time.UTC).UnixNano(),
	}
	switch g.IntN(6) {
	case 0, 1:
		r.fields = g.logfmt()
		var pairs []string
		for i, name := range r.fields.names {
			v := r.fields.items[i].s
			if r.fields.items[i].kind == text {
				v = strconv.Quote(v)
			}
			pairs = append(pairs, name+"="+v)
		}
		r.message = strings.Join(pairs, " ")
	case 2:
		r.fields, r.message = refValue{}, g.one("", "plain ann 500", "warn: a b c")
	default:
		r.fields = g.object(3)
		if g.IntN(4) == 0 {
			inner, line := g.line()
			g.wrapped = map[string]refValue{line: inner}
			at := g.IntN(len(r.fields.names) + 1)
			r.fields.names = slices.Insert(r.fields.names, at, g.one("log", "message", "body"))
			r.fields.items = slices.Insert(r.fields.items, at, refValue{kind: text, s: line})
		}
		r.message = g.json(r.fields)
		r.wrapped = g.lineIn(r.fields)
		if g.IntN(8) == 0 {
			r.message, r.wrapped = "<34>1 host - "+r.message, refValue{}
		}
	}
	return r
}

// line makes a line that JSON may wrap.
func (g *generator) line() (refValue, string) {
	switch g.IntN(4) {
	case 0:
		path, status := g.one("/a", "/b"), g.one("200", "500")
		v := refValue{kind: object}
		items := map[string]refValue{
			"ip": {kind: bare, s: "10.0.0.7"}, "time": {}, "method": {kind: text, s: "GET"}, "path": {kind: text, s: path}, "protocol": {kind: text, s: "HTTP/1.1"},
			"status": {kind: bare, s: status}, "bytes": {kind: bare, s: "12"}, "a": {kind: bare, s: "7"},
		}
		for _, name := range slices.Sorted(maps.Keys(items)) {
			v.names, v.items = append(v.names, name), append(v.items, items[name])
		}
		return v, fmt.Sprintf("10.0.0.7 - - [20/Nov/2026:12:00:00 +0000] \"GET %s HTTP/1.1\" %s 12 \"-\" \"-\" a=7\n", path, status)
	case 1:
		return refValue{kind: object, names: []string{"a", "b"}, items: []refValue{{kind: bare, s: "12"}, {kind: text, s: "q\" \\"}}}, `a=12 b="q\" \\"`
	}
	v := g.object(2)
	return v, g.json(v)
}

// lineIn are the fields of the line that an object wraps.
func (g *generator) lineIn(outer refValue) refValue {
	for i, name := range outer.names {
		if (name == "log" || name == "message" || name == "body" && i == 0) && outer.items[i].kind == text && outer.items[i].s != "" {
			if outer.items[i].s == "a=1" {
				return refValue{kind: object, names: []string{"a"}, items: []refValue{{kind: bare, s: "1"}}}
			}
			return g.wrapped[outer.items[i].s]
		}
	}
	return refValue{}
}

func (g *generator) logfmt() refValue {
	v := refValue{kind: object}
	for range g.IntN(8) {
		name := g.one("a", "b", "c", "d", "a.b", "k-1")
		item := refValue{kind: bare, s: g.one(g.number(), "-"+g.number(), g.quantity(), "-"+g.quantity(), "ann", "x", "true", "false", "007", "")}
		if g.IntN(4) == 0 {
			item = refValue{kind: text, s: g.one("ann", "007", "true", "a b=1", `q"`, "")}
		}
		v.names, v.items = append(v.names, name), append(v.items, item)
	}
	return v
}

func (g *generator) object(depth int) refValue {
	v := refValue{kind: object}
	for range g.IntN(9) {
		v.names = append(v.names, g.one("a", "b", "c", "d", "a", "b", "c", "d", "a.b", "b.c", "k-1", "message", "é\""))
		v.items = append(v.items, g.item(depth-1))
	}
	return v
}

func (g *generator) item(depth int) refValue {
	switch n := g.IntN(10); {
	case n == 0:
		return refValue{kind: null, s: "null"}
	case n == 1:
		return refValue{kind: boolean, s: g.one("true", "false")}
	case n < 5:
		return refValue{kind: number, s: g.one("", "-") + g.number()}
	case n < 7 && depth > 0:
		v := refValue{kind: array}
		for range g.IntN(4) {
			v.items = append(v.items, g.item(depth-1))
		}
		return v
	case n == 7 && depth > 0:
		return g.object(depth)
	}
	return refValue{kind: text, s: g.text()}
}

// json writes a value as JSON, some of it with blanks and needless escapes.
func (g *generator) json(v refValue) string {
	blank := func() string {
		if g.IntN(12) == 0 {
			return g.one(" ", "\t", "  ")
		}
		return ""
	}
	switch v.kind {
	case text:
		return g.quote(v.s)
	case array, object:
		var parts []string
		for i, item := range v.items {
			part := blank() + g.json(item) + blank()
			if v.kind == object {
				name := g.quote(v.names[i])
				if v.names[i] == "log" || v.names[i] == "message" || v.names[i] == "body" { // in which lines are looked for
					name = strconv.Quote(v.names[i])
				}
				part = blank() + name + blank() + ":" + part
			}
			parts = append(parts, part)
		}
		all := strings.Join(parts, ",")
		if v.kind == array {
			return "[" + all + "]"
		}
		return "{" + all + "}"
	}
	return v.s
}

func (g *generator) quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	needless := g.IntN(5) == 0
	for _, c := range s {
		switch {
		case c == '"' || c == '\\' || c == '/' && needless:
			b.WriteString(`\` + string(c))
		case c == '\n':
			b.WriteString(`\n`)
		case needless && g.IntN(2) == 0:
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteRune(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
