package multiline

import (
	"bytes"

	"logstow/record/recognize"
)

// isReport reports whether a line begins a report of Erlang: =ERROR REPORT==== 20-Nov-2026::15:04:05 === .
func isReport(line []byte) bool {
	return hasSuffix(line, " ===") && bytes.Contains(line, []byte(" REPORT==== "))
}

// isDiagnosis reports whether a line begins a record of DB2: 2026-11-20-15.04.05.123456+060 I1234E567  LEVEL: Error.
func isDiagnosis(line []byte) bool {
	const time = len("2026-11-20-15.04.05")
	return len(line) > time && line[10] == '-' && line[13] == '.' && bytes.Contains(line[time:], []byte(" LEVEL: "))
}

// isWebLogic reports whether a line begins a record of WebLogic that goes on: ####<Nov 20, 2026 3:04:05 PM CET> <Error> <HTTP> <text.
func isWebLogic(line []byte) bool {
	return hasPrefix(line, "####<") && !hasSuffix(bytes.TrimRight(line, " "), ">")
}

// afterBlock decides about a line of a record that ends with an empty line, or in the line with its end.
func (s state) afterBlock(line []byte) (action, state) {
	ended, hasEnd := false, true
	switch s {
	case brackets:
		ended = hasSuffix(line, "]]")
	case webLogic:
		ended = hasSuffix(bytes.TrimRight(line, " "), ">")
	case clientLog:
		_, ended = recognize.IsClientLog(line)
	default:
		hasEnd = false
	}
	switch {
	case ended:
		return joins, closed
	case isRecord(line) || len(line) == 0 && !hasEnd || s == report && line[0] == '=':
		return begins, plain
	}
	return joins, s
}

// isJavaHeader reports whether a text is the first line of a record of java.util.logging, whose date may be in another language:
// Nov 20, 2026 3:04:05 PM shop.Orders place.
func isJavaHeader(text []byte) bool {
	const maxDay, year, clock = 32, " 2026 ", "3:04:05"
	i := bytes.IndexByte(text[:min(len(text), maxDay)], ',')
	if i < len("Nov 2") || !isDigit(text[i-1]) || bytes.IndexByte(text, '\n') >= 0 {
		return false
	}
	rest := text[i+1:]
	if len(rest) < len(year+clock) || rest[0] != ' ' || !isDigit(rest[1]) || rest[5] != ' ' {
		return false
	}
	rest = bytes.TrimLeft(rest[len(year):], "0123456789")
	return len(rest) > len(":04:05") && rest[0] == ':' && rest[3] == ':'
}

// isSamba reports whether a text begins with the head of a record of Samba: [2026/11/20 15:04:05.123456,  0] server.c:1734(main).
func isSamba(text []byte) bool {
	const shortest = len("[2026/11/20 15:04:05,  0] ")
	if len(text) < shortest || text[0] != '[' || text[5] != '/' || text[8] != '/' {
		return false
	}
	if end := bytes.IndexByte(text, '\n'); end >= 0 {
		text = text[:end]
	}
	return hasSuffix(trimmed(text), ")") && bytes.Contains(text[shortest:], []byte(".c:"))
}

// isNodePlace reports whether a line is the place of a program at which Node ended: /app/shop.js:3.
func isNodePlace(line []byte) bool {
	n := len(line)
	for n > 0 && isDigit(line[n-1]) {
		n--
	}
	if n == len(line) || n == 0 || line[n-1] != ':' || bytes.IndexByte(line, ' ') >= 0 {
		return false
	}
	path := line[:n-1]
	return hasPrefix(path, "node:") || hasSuffix(path, ".js") || hasSuffix(path, ".ts") || hasSuffix(path, ".mjs") ||
		hasSuffix(path, ".cjs")
}

// afterNode decides about a line of Node's report of an uncaught exception: place, line of the program, "^", empty line, exception.
func (s state) afterNode(line []byte) (action, state) {
	switch {
	case len(line) == 0:
		if s == nodeCaret {
			return undecided, nodeBlank
		}
	case s == nodeHead:
		return undecided, nodeSource
	case s == nodeSource:
		if rest := bytes.Trim(line, " \t"); len(rest) > 0 && len(bytes.Trim(rest, "^")) == 0 {
			return joins, nodeCaret
		}
	case s == nodeBlank:
		return undecided, header
	case s == nodeEnd && hasPrefix(line, "Node.js v"):
		return joins, nodeEnd
	}
	return begins, plain
}

// isFPM reports whether a line begins an entry of PHP-FPM's slow log: [20-Nov-2026 15:04:05]  [pool www] pid 4711.
func isFPM(line []byte) bool {
	return bytes.Contains(line, []byte("]  [pool ")) && bytes.Contains(line, []byte("] pid "))
}

// hasOpenQuote reports whether a line has an odd number of quotes.
func hasOpenQuote(line []byte) bool { return bytes.Count(line, []byte{'"'})%2 == 1 }

// isClickHouse reports whether the frames of ClickHouse follow a line.
func isClickHouse(line []byte) bool {
	return hasSuffix(line, "Stack trace (when copying this message, always include the lines below):")
}

// afterClickHouse decides about a line of such a stack trace: 0. DB::Exception::Exception() @ 0xa1b2 in /usr/bin/clickhouse.
func afterClickHouse(line []byte) (action, state) {
	digits := bytes.TrimLeft(line, "0123456789")
	switch {
	case len(line) == 0:
		return undecided, clickHouse
	case len(digits) < len(line) && hasPrefix(digits, ". "):
		return joins, clickHouse
	case hasPrefix(line, " (version "):
		return joins, closed
	}
	return begins, plain
}

// isPinoPretty reports whether a text begins like a record of pino-pretty, perhaps coloured: [15:04:05.123] INFO (4711): order placed.
func isPinoPretty(text []byte) bool {
	const maxHead = 128
	text = withoutColors(text[:min(len(text), maxHead)])
	if !hasPrefix(text, "[") || len(text) < 2 || !isDigit(text[1]) {
		return false
	}
	_, rest, _ := bytes.Cut(text, []byte("] "))
	level := bytes.TrimLeft(rest, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
	return len(level) < len(rest) && (hasPrefix(level, ":") || hasPrefix(level, " (") && bytes.Contains(level, []byte("):")))
}
