package logql_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
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
	open  []byte // the text from the value on, if the value does not end
}

// members are those of an object in their order, up to the first mistake; ok is false if there is one. A comma may follow the last.
func members(text []byte) (all []member, ok bool) {
	text = bytes.TrimLeft(text, " \t\r\n")
	if len(text) == 0 || text[0] != '{' {
		return nil, false
	}
	text = text[1:]
	for {
		text = bytes.TrimLeft(text, " \t\r\n")
		if len(all) > 0 && len(text) > 0 && text[0] == ',' {
			text = bytes.TrimLeft(text[1:], " \t\r\n")
		} else if len(all) > 0 && (len(text) == 0 || text[0] != '}') {
			return all, false
		}
		if len(text) > 0 && text[0] == '}' {
			return all, true
		}
		found := compiled(`^("(?:[^"\\]|\\.)*")\s*:\s*`).FindSubmatch(text)
		if found == nil {
			return all, false
		}
		text = text[len(found[0]):]
		m := member{value: valueOf(text)}
		if _ = json.Unmarshal(found[1], &m.key); m.value == nil {
			m.open = text
			return append(all, m), false
		}
		all, text = append(all, m), text[len(m.value):]
	}
}

// valueOf is the JSON value that a text starts with, nil if it does not end.
func valueOf(text []byte) []byte {
	depth := 0
	for i := 0; i < len(text); {
		token := compiled(`^(?:[{}\[\]]|"(?:[^"\\]|\\.)*"|[^"{}\[\]]?)`).Find(text[i:])
		if depth == 0 {
			if word := compiled(`^(?:-?[0-9][-+.0-9eE]*|true|false|null|"(?:[^"\\]|\\.)*")`).Find(text); word != nil {
				return word
			}
		}
		switch string(token) {
		case "":
			return nil
		case "{", "[":
			depth++
		case "}", "]":
			depth--
		}
		if i += len(token); depth == 0 {
			if i == 1 {
				return nil
			}
			return text[:i]
		}
	}
	return nil
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
	if len(s.Extractions) == 0 {
		if !w.foundAll() && !w.flatten("", []byte(w.line)) {
			w.fail("JSONParserErr")
		}
		return
	}
	// An array is a document that expressions may find nothing in. What follows the start of the line may be wrong.
	if !compiled(`^\s*[{\[]`).MatchString(w.line) {
		w.fail("JSONParserErr")
		return
	}
	for _, e := range s.Extractions {
		value := follow([]byte(strings.TrimLeft(w.line, " \t\r\n")), e.Expr)
		if value == nil {
			value = []byte("null")
		}
		w.extract(e.Label, scalar(value))
	}
}

// flatten makes labels of an object; it returns false if it is not valid up to the last label that is wanted.
func (w *row) flatten(prefix string, object []byte) bool {
	all, ok := members(object)
	for _, m := range all {
		switch {
		case m.value == nil:
			return false
		case m.value[0] == '{':
			if !w.flatten(prefix+m.key+"_", m.value) {
				return false
			}
		case m.value[0] == '[', m.value[0] == 'n':
		default:
			w.extract(sanitize(prefix+m.key), scalar(m.value))
		}
		if w.foundAll() {
			return true
		}
	}
	return ok
}

// follow finds what an expression such as a.b[0]["c d"] names, nil if there is nothing or it does not end.
func follow(value []byte, expr string) []byte {
	step := compiled(`^(?:\.?([A-Za-z_][A-Za-z0-9_]*)|\["([^"]*)"\]|\[([0-9]+)\])`)
	for expr != "" {
		parts := step.FindStringSubmatch(expr)
		if parts == nil {
			panic("expression not understood: " + expr)
		}
		expr = expr[len(parts[0]):]
		if parts[3] != "" { // as the n-th member of an object
			if len(value) == 0 || value[0] != '[' {
				return nil
			}
			parts[1], value = parts[3], numbered(value)
		}
		all, _ := members(value)
		i := slices.IndexFunc(all, func(m member) bool { return m.key == parts[1]+parts[2] })
		if i < 0 {
			return nil
		}
		if value = all[i].value; value == nil {
			value = all[i].open
		}
	}
	return valueOf(value)
}

// numbered is an array as an object whose keys are the indexes.
func numbered(array []byte) []byte {
	object, rest := []byte("{"), array[1:]
	for i := 0; ; i++ {
		rest = bytes.TrimLeft(rest, " ,\t\r\n")
		value := valueOf(rest)
		object = fmt.Appendf(object, `"%d":`, i)
		if value == nil {
			return append(object, rest...)
		}
		object, rest = append(append(object, value...), ','), rest[len(value):]
	}
}

func (w *row) unpack() {
	all, ok := members([]byte(w.line))
	if !ok {
		w.fail("JSONParserErr")
		return
	}
	if !slices.ContainsFunc(all, func(m member) bool { return m.key == "_entry" && m.value[0] == '"' }) {
		return // not packed
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
	for _, e := range s.Extractions {
		delete(w.fields, e.Label)
	}
	last := map[string]string{} // of the values of duplicates
	defer func() {
		for _, e := range s.Extractions {
			if value, ok := last[e.Expr]; ok {
				w.extract(e.Label, value)
			}
		}
	}()
	rest := w.line
	for {
		rest = strings.TrimLeft(rest, " \t\n")
		if rest == "" || w.foundAll() {
			return
		}
		p := pair(rest)
		rest = p.rest
		switch {
		case p.wrong && s.Strict:
			w.fail("LogfmtParserErr")
			return
		case p.wrong:
		case len(s.Extractions) > 0:
			if p.value != "" || p.alone || s.KeepEmpty {
				last[p.key] = p.value
			}
		case p.value != "" || s.KeepEmpty:
			w.extract(sanitize(p.key), p.value)
		}
	}
}

// logfmtPair is key=value, or a key alone, and the rest of the line.
type logfmtPair struct {
	key, value, rest string
	alone, wrong     bool
}

// pair scans a pair; what is none ends at the next space, or with the line if it is a quote that does not end.
func pair(s string) logfmtPair {
	if m := compiled(`^([^\s="]+)="((?:[^"\\]|\\.)*)"`).FindStringSubmatch(s); m != nil {
		value, err := strconv.Unquote(`"` + m[2] + `"`)
		return logfmtPair{key: m[1], value: value, rest: s[len(m[0]):], wrong: err != nil}
	}
	if compiled(`^[^\s="]+="`).MatchString(s) {
		return logfmtPair{wrong: true}
	}
	word := compiled(`^\S+`).FindString(s)
	p := logfmtPair{rest: s[len(word):]}
	m := compiled(`^([^="]+)(=[^="]*)?$`).FindStringSubmatch(word)
	if p.wrong = m == nil; !p.wrong {
		p.key, p.value, p.alone = m[1], strings.TrimPrefix(m[2], "="), m[2] == ""
	}
	return p
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
