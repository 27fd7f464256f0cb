package parse

import (
	"bytes"
	"iter"
	"strings"

	"logstow/field"
)

// W3C finds the fields of the lines of a file in W3C's extended log format, as IIS writes it. They
// depend on the last line "#Fields: …" before them. The zero value knows no fields yet. Not safe
// for concurrent use.
type W3C struct {
	names []string
}

// Directive reports whether a line is a directive, and reads it. #Fields determines the fields of
// the lines that follow; a directive that is cut off, or of another name, changes nothing.
func (w *W3C) Directive(line []byte) bool {
	if len(line) == 0 || line[0] != '#' {
		return false
	}
	if columns, ok := bytes.CutPrefix(line, []byte("#Fields:")); ok {
		w.names = w.names[:0]
		for column := range strings.FieldsSeq(string(columns)) {
			w.names = append(w.names, w3cName(column))
		}
	}
	return true
}

// All yields the fields of a line in their order; none of a directive, and none before the first
// line #Fields. A value "-" is missing. IIS writes spaces as "+".
func (w *W3C) All(line []byte) iter.Seq2[string, field.Value] {
	return func(yield func(string, field.Value) bool) {
		if len(line) > 0 && line[0] == '#' {
			return
		}
		line, cut := firstLine(line)
		for _, name := range w.names {
			line = bytes.TrimLeft(line, " \t")
			end := bytes.IndexAny(line, " \t")
			if end < 0 {
				end = len(line)
			}
			if end == 0 || end == len(line) && cut {
				return
			}
			if text := line[:end:end]; string(text) != "-" && !yield(name, field.Value{Kind: field.Bare, Text: text}) {
				return
			}
			line = line[end:]
		}
	}
}

// w3cName is the name of the field in a column: the shared one, otherwise the column's in lower
// case with underscores.
func w3cName(column string) string {
	column = strings.ToLower(column)
	switch column {
	case "c-ip":
		return "ip"
	case "cs-username":
		return "user"
	case "cs-method":
		return "method"
	case "cs-uri-stem":
		return "path"
	case "cs-uri-query":
		return "query"
	case "cs-version":
		return "protocol"
	case "sc-status":
		return "status"
	case "sc-bytes":
		return "bytes"
	case "cs(referer)":
		return "referer"
	case "cs(user-agent)":
		return "user_agent"
	case "time-taken":
		return "duration"
	}
	return strings.Trim(strings.Map(func(r rune) rune {
		if r == '-' || r == '(' || r == ')' {
			return '_'
		}
		return r
	}, column), "_")
}
