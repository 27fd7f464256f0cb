package parse

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// w3cDirective is the start of a line that names the columns of the lines after it.
const w3cDirective = "#Fields:"

// w3c returns the parser of the lines after a directive in a file in W3C's extended log format, as IIS and CloudFront write it.
func w3c(directive []byte) (p *Parser, ok bool) {
	if !bytes.HasPrefix(directive, []byte(w3cDirective)) {
		return nil, false
	}
	text, cut := firstLine(directive)
	if cut || !utf8.Valid(text) {
		return nil, false
	}
	columns := strings.Join(strings.Fields(string(text[len(w3cDirective):])), " ")
	p, err := compile(nameW3C, columns, 1)
	return p, err == nil
}

// matchW3C appends the columns of a line, which are separated by blanks, or by single tabs if there is one. "-" is a missing value. A
// directive has no columns.
func matchW3C(dst places, line []byte, columns int) places {
	if len(line) > 0 && line[0] == '#' {
		return dst
	}
	line, cut := firstLine(line)
	by := byte(' ')
	if bytes.IndexByte(line, '\t') >= 0 {
		by = '\t'
	}
	at := 0
	for range columns {
		for by == ' ' && at < len(line) && line[at] == by {
			at++
		}
		end := len(line)
		if n := bytes.IndexByte(line[at:], by); n >= 0 {
			end = at + n
		}
		if end == len(line) && cut {
			break
		}
		start := at
		if end == at || string(line[at:end]) == "-" {
			start = -1
		}
		dst = append(dst, start, end)
		if end == len(line) {
			break
		}
		at = end + 1
	}
	return dst
}

// w3cName returns the name of the field in a column: the name that formats share, or that of the column in lower case with underscores.
func w3cName(column string) string {
	column = strings.ToLower(column)
	shared := map[string]string{
		"c-ip":           "ip",
		"cs-username":    "user",
		"cs-method":      "method",
		"cs-uri-stem":    "path",
		"cs-uri-query":   "query",
		"cs-version":     "protocol",
		"sc-status":      "status",
		"sc-bytes":       "bytes",
		"cs(referer)":    "referer",
		"cs(user-agent)": "user_agent",
		"time-taken":     "duration",
	}
	if name := shared[column]; name != "" {
		return name
	}
	return strings.Trim(strings.Map(func(r rune) rune {
		if r == '-' || r == '(' || r == ')' {
			return '_'
		}
		return r
	}, column), "_")
}
