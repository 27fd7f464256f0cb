package logql_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"logstow/logql/syntax"
)

// sanitize makes a label name of a key: what is no letter, digit or underscore becomes one.
func sanitize(key string) string {
	var b strings.Builder
	for i, r := range key {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r == '_':
			b.WriteRune(r)
		case r >= '0' && r <= '9':
			if i == 0 {
				b.WriteByte('_')
			}
			b.WriteRune(r)
		default:
			b.WriteByte('_')
		}
	}
	return b.String()
}

// member is a key of a JSON object with its value as written.
type member struct {
	key   string
	value json.RawMessage
}

// members are those of an object in their order; ok is false if the text is no object.
func members(text []byte) (all []member, ok bool) {
	if !json.Valid(text) || bytes.TrimSpace(text)[0] != '{' {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader(text))
	_, _ = d.Token()
	for d.More() {
		key, _ := d.Token()
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, false
		}
		all = append(all, member{key.(string), value})
	}
	return all, true
}

// scalar is the text of a JSON value: null is nothing, objects and arrays are as written.
func scalar(value json.RawMessage) string {
	switch value[0] {
	case '"':
		var s string
		_ = json.Unmarshal(value, &s)
		return s
	case 'n':
		return ""
	}
	return string(value)
}

func (w *row) json(s *syntax.JSONParser) {
	for _, e := range s.Extractions {
		delete(w.fields, e.Label)
	}
	// An array is a document that expressions may find nothing in.
	_, ok := members([]byte(w.line))
	if !ok && (len(s.Extractions) == 0 || !json.Valid([]byte(w.line))) {
		w.fail("JSONParserErr")
		return
	}
	if len(s.Extractions) == 0 {
		w.flatten("", []byte(w.line))
		return
	}
	for _, e := range s.Extractions {
		if value, ok := follow([]byte(w.line), e.Expr); ok {
			w.extract(e.Label, scalar(value))
		}
	}
}

func (w *row) flatten(prefix string, object []byte) {
	all, _ := members(object)
	for _, m := range all {
		switch m.value[0] {
		case '{':
			w.flatten(prefix+m.key+"_", m.value)
		case '[':
		default:
			w.extract(sanitize(prefix+m.key), scalar(m.value))
		}
	}
}

// follow finds what an expression such as a.b[0]["c d"] names.
func follow(value json.RawMessage, expr string) (json.RawMessage, bool) {
	step := compiled(`^(?:\.?([A-Za-z_][A-Za-z0-9_]*)|\["([^"]*)"\]|\[([0-9]+)\])`)
	for expr != "" {
		parts := step.FindStringSubmatch(expr)
		if parts == nil {
			panic("expression not understood: " + expr)
		}
		expr = expr[len(parts[0]):]
		if parts[3] != "" {
			var list []json.RawMessage
			n, _ := strconv.Atoi(parts[3])
			if json.Unmarshal(value, &list) != nil || n >= len(list) {
				return nil, false
			}
			value = list[n]
			continue
		}
		all, _ := members(value)
		found := false
		for _, m := range all {
			if m.key == parts[1]+parts[2] && !found {
				found, value = true, m.value
			}
		}
		if !found {
			return nil, false
		}
	}
	return value, true
}

func (w *row) unpack() {
	all, ok := members([]byte(w.line))
	if !ok {
		w.fail("JSONParserErr")
		return
	}
	for _, m := range all {
		switch {
		case m.value[0] != '"':
		case m.key == "_entry":
			w.line = scalar(m.value)
		default:
			w.extract(sanitize(m.key), scalar(m.value))
		}
	}
}

func (w *row) logfmt(s *syntax.LogfmtParser) {
	w.keepEmpty = s.KeepEmpty || len(s.Extractions) > 0
	for _, e := range s.Extractions {
		delete(w.fields, e.Label)
	}
	defer func() { w.keepEmpty = false }()
	rest := w.line
	for {
		rest = strings.TrimLeft(rest, " \t\n")
		if rest == "" {
			return
		}
		key, value, behind, ok := pair(rest)
		rest = behind
		if !ok {
			if s.Strict {
				w.fail("LogfmtParserErr")
				return
			}
			continue
		}
		if len(s.Extractions) == 0 {
			w.extract(sanitize(key), value)
			continue
		}
		for _, e := range s.Extractions {
			if e.Expr == key {
				w.extract(e.Label, value)
			}
		}
	}
}

// pair scans key=value; what is no such pair ends at the next space.
func pair(s string) (key, value, rest string, ok bool) {
	if m := compiled(`^([^\s="]+)="((?:[^"\\]|\\.)*)"(\s|$)`).FindStringSubmatch(s); m != nil {
		value, err := strconv.Unquote(`"` + m[2] + `"`)
		return m[1], value, s[len(m[0]):], err == nil
	}
	word := compiled(`^\S+`).FindString(s)
	rest = s[len(word):]
	if m := compiled(`^([^="]+)(?:=([^="]*))?$`).FindStringSubmatch(word); m != nil {
		return m[1], m[2], rest, true
	}
	return "", "", rest, false
}

func (w *row) regexp(s *syntax.RegexpParser) {
	re := compiled(s.Expr)
	m := re.FindStringSubmatch(w.line)
	for _, name := range re.SubexpNames() {
		delete(w.fields, name)
	}
	if m == nil {
		return
	}
	for i, name := range re.SubexpNames() {
		if name != "" {
			w.extract(name, m[i])
		}
	}
}

// pattern: a capture ends where the next literal begins, or at the end of the line, and then the parser stops.
func (w *row) pattern(s *syntax.PatternParser) {
	tokens := compiled(`<[A-Za-z_][A-Za-z0-9_]*>`)
	names := tokens.FindAllString(s.Expr, -1)
	literals := tokens.Split(s.Expr, -1)
	for _, name := range names {
		delete(w.fields, strings.Trim(name, "<>"))
	}
	if w.line == "" || !strings.HasPrefix(w.line, literals[0]) {
		return
	}
	rest := w.line[len(literals[0]):]
	for i, name := range names {
		value, behind, found := rest, "", false
		if literal := literals[i+1]; literal != "" {
			value, behind, found = strings.Cut(rest, literal)
		}
		if name != "<_>" {
			w.extract(strings.Trim(name, "<>"), value)
		}
		if !found {
			return
		}
		rest = behind
	}
}

// compiledExpressions are those that compiled has compiled.
var compiledExpressions sync.Map

// compiled compiles an expression once.
func compiled(expr string) *regexp.Regexp {
	if re, ok := compiledExpressions.Load(expr); ok {
		return re.(*regexp.Regexp)
	}
	re := regexp.MustCompile(expr)
	compiledExpressions.Store(expr, re)
	return re
}
