package parse

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"logstow/internal/ansi"
)

// Separators of the columns of CSV, as programs and spreadsheets write it.
const separators = ",;\t|"

// separator returns the separator that occurs most often in a header.
func separator(header string) byte {
	best, most := separators[0], 0
	for i := range len(separators) {
		if n := strings.Count(header, separators[i:i+1]); n > most {
			best, most = separators[i], n
		}
	}
	return best
}

// Header returns the parser of the lines after a line that names their columns, where stored is the configured parser: with auto, a
// directive of W3C's extended log format; with csv without columns, the first line of a file. It is not ok for other lines, and for a
// line that is truncated, has no columns, or is longer than [MaxExpression].
func Header(stored string, line []byte, first bool) (p *Parser, ok bool) {
	switch stored {
	case "":
		return w3c(line)
	case nameCSV + "/" + version:
		if !first {
			return nil, false
		}
		return csvHeader(line)
	}
	return nil, false
}

// NeedsHeader reports whether this is the parser csv without columns.
func (p *Parser) NeedsHeader() bool { return p.name == nameCSV && p.expression == "" }

// IsHeaderOf reports whether the parser may be the result of [Header] with a configured one.
func (p *Parser) IsHeaderOf(stored string) bool {
	return stored == "" && p.name == nameW3C || stored == nameCSV+"/"+version && p.name == nameCSV
}

// csvHeader returns the parser of the lines after a header.
func csvHeader(line []byte) (p *Parser, ok bool) {
	const mark = "\ufeff" // of byte order
	text, cut := firstLine(ansi.Strip(nil, bytes.TrimPrefix(line, []byte(mark))))
	if cut || len(bytes.TrimSpace(text)) == 0 || !utf8.Valid(text) {
		return nil, false
	}
	by := separator(string(text))
	var names []string
	for rest := text; ; {
		cell, _, next, more := cell(rest, by)
		names = append(names, csvName(string(cell)))
		if !more {
			break
		}
		rest = rest[next:]
	}
	p, err := compile(nameCSV, strings.Join(names, string(by)), 1)
	return p, err == nil
}

// csvName returns the name of a column without quotes, separators and other characters that a stored parser cannot have.
func csvName(cell string) string {
	return strings.Map(func(r rune) rune {
		if r == '"' || r == '\'' || r == '`' || strings.ContainsRune(separators, r) || unicode.IsControl(r) {
			return '_'
		}
		return r
	}, strings.ReplaceAll(strings.TrimSpace(cell), `""`, `"`))
}

// csvColumns returns the names of columns.
func csvColumns(expression string) (names []string) {
	for name := range strings.SplitSeq(expression, string(separator(expression))) {
		names = append(names, strings.TrimSpace(name))
	}
	return names
}

// distinct returns names with "" for those that occur before.
func distinct(names []string) []string {
	all := slices.Clone(names)
	for i, name := range all {
		if slices.Contains(all[:i], name) {
			all[i] = ""
		}
	}
	return all
}

// cell returns the first cell of a line, without the quotes around it but with those in it doubled, and the start of the next one. It is
// the last cell if there are no more.
func cell(line []byte, by byte) (text []byte, quoted bool, next int, more bool) {
	end := 0
	if len(line) > 0 && line[0] == '"' {
		for end = 1; end < len(line); end++ {
			if line[end] != '"' {
				continue
			}
			if end+1 == len(line) || line[end+1] != '"' {
				text, quoted = line[1:end], true
				break
			}
			end++
		}
	}
	if quoted {
		end++ // what stands between the quote and the separator is not part of the cell
	} else {
		end = 0
	}
	n := bytes.IndexByte(line[end:], by)
	if n < 0 {
		n = len(line) - end
	}
	if !quoted {
		text = line[:n]
	}
	end += n
	return text, quoted, end + 1, end < len(line)
}

// matchCSV appends the columns of a line. An empty cell is a missing value. The header has none.
func matchCSV(dst places, line []byte, by byte, names []string) places {
	line = bytes.TrimRight(line, "\r\n")
	line, cut := withoutMark(line)
	header := true
	at := 0
	for _, name := range names {
		text, quoted, next, more := cell(line[at:], by)
		if cut && !more {
			break
		}
		start := at
		if quoted {
			start++
		}
		header = header && csvName(string(text)) == name
		if len(text) == 0 {
			start = -1
		}
		dst = append(dst, start, start+len(text))
		if !more {
			break
		}
		at += next
	}
	if header {
		return nil
	}
	return dst
}
