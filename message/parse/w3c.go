package parse

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// w3cDirective is the start of a line that names the columns of the lines after it.
const w3cDirective = "#Fields:"

// IsW3CDirective reports whether a line names the columns of the lines that follow it in a file in
// W3C's extended log format.
func IsW3CDirective(line []byte) bool {
	return len(line) > 0 && line[0] == '#' && bytes.HasPrefix(line, []byte(w3cDirective))
}

// W3C returns the parser of the lines after a directive in a file in W3C's extended log format, as IIS writes it. It is not ok if the
// line is not a directive, truncated, without columns, or longer than [MaxExpression].
func W3C(directive []byte) (p *Parser, ok bool) {
	text, cut := firstLine(directive)
	if cut || !IsW3CDirective(directive) || !utf8.Valid(text) {
		return nil, false
	}
	columns := strings.Join(strings.Fields(string(text[len(w3cDirective):])), " ")
	p, err := compile(nameW3C, columns, 1)
	return p, err == nil
}

// matchW3C finds the columns of a line. "-" is a missing value. A directive has no columns.
func matchW3C(line []byte, out []span) {
	if len(line) > 0 && line[0] == '#' {
		return
	}
	line, cut := firstLine(line)
	at := 0
	for i := range out {
		for at < len(line) && (line[at] == ' ' || line[at] == '\t') {
			at++
		}
		end := at
		for end < len(line) && line[end] != ' ' && line[end] != '\t' {
			end++
		}
		if end == at || end == len(line) && cut {
			return
		}
		if string(line[at:end]) != "-" {
			out[i] = span{set: true, start: at, end: end}
		}
		at = end
	}
}

// w3cName returns the name of the field in a column: the name that formats share, or that of the column in lower case with underscores.
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
