package multiline

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"logstow/record/recognize"
)

func isPHPHeader(line []byte) bool {
	return string(line) == "Stack trace:" || string(line) == "PHP Stack trace:"
}

// isPHPFrame reports whether a line is "#0 file(1): call()", "  thrown in …" or "PHP   1. call() …".
func isPHPFrame(line []byte) bool {
	return len(line) > 1 && line[0] == '#' && isDigit(line[1]) || hasPrefix(line, "  thrown in ") || hasPrefix(line, "PHP   ")
}

// isLaravelHeader reports whether a line begins a stack trace of Monolog, which Laravel uses.
func isLaravelHeader(line []byte) bool { return string(line) == "[stacktrace]" }

func (s state) afterPHP(line []byte) (action, state) {
	switch s {
	case php:
		switch {
		case isPHPFrame(line):
			return joins, php
		case len(line) == 0:
			return undecided, phpBlank
		}
	case phpBlank:
		if hasPrefix(line, "Next ") {
			return undecided, phpNext
		}
	case phpNext:
		if isPHPHeader(line) {
			return joins, php
		}
		if !isRecord(line) {
			return undecided, phpNext
		}
	case laravel:
		switch {
		case len(line) > 1 && line[0] == '#' && isDigit(line[1]), isLaravelHeader(line):
			return joins, laravel
		case len(line) == 0:
			return undecided, laravel
		case hasPrefix(line, "[previous exception] "):
			return joins, header
		case hasPrefix(line, `"}`):
			return joins, closed
		}
	}
	return begins, plain
}

// isPostgresField reports whether a line has the prefix of a message of PostgreSQL, the text, and then one of its
// further fields: DETAIL, HINT, STATEMENT, CONTEXT, QUERY or LOCATION.
func isPostgresField(text, line []byte) bool {
	n := commonPrefix(text, line)
	for n > 0 && isFieldLetter(line[n-1]) { // DEBUG1 and DETAIL
		n--
	}
	if n == len(line) || !isFieldLetter(line[n]) {
		return false
	}
	return severity(line[n:]) == recognize.Continued && severity(text[n:]) != recognize.NoSeverity
}

// isFieldLetter reports whether a byte is of a capital letter, or of a letter outside ASCII.
func isFieldLetter(c byte) bool { return isUpper(c) || c >= 0x80 }

// severity returns the meaning of the word with which a text begins, if it is one of PostgreSQL: "ERROR:  message".
func severity(text []byte) recognize.Severity {
	const longest = len("ПРЕДУПРЕЖДЕНИЕ:")
	end := bytes.IndexByte(text[:min(len(text), longest)], ':')
	if end <= 0 || !hasPrefix(text[end:], ":  ") {
		return recognize.NoSeverity
	}
	kind, _ := recognize.PostgresWord(text[:end])
	return kind
}

// isPostgres reports whether a text is a message of PostgreSQL, whose further lines begin with a TAB.
func isPostgres(text []byte) bool {
	const maxPrefix = 256
	text = text[:min(len(text), maxPrefix)]
	for at := 0; ; {
		n := bytes.Index(text[at:], []byte(":  "))
		if n < 0 {
			return false
		}
		start := at + n
		for start > at && (isFieldLetter(text[start-1]) || isDigit(text[start-1])) {
			start--
		}
		if severity(text[start:]) != recognize.NoSeverity {
			return true
		}
		at += n + 1
	}
}

// commonPrefix returns the length of the longest common prefix.
func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for ; i+8 <= n; i += 8 {
		if diff := binary.LittleEndian.Uint64(a[i:i+8]) ^ binary.LittleEndian.Uint64(b[i:i+8]); diff != 0 {
			return i + bits.TrailingZeros64(diff)/8
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }

// rustPanic is the state after a line that may be "thread 'main' panicked at …".
func rustPanic(line []byte) state {
	switch {
	case !hasPrefix(line, "thread '") || !bytes.Contains(line, []byte(" panicked at ")):
		return plain
	case hasSuffix(line, ":"):
		return rustHead
	}
	return rustMessage
}

func (s state) afterRust(line []byte) (action, state) {
	switch {
	case hasPrefix(line, "note: "):
		return joins, closed
	case string(line) == "stack backtrace:":
		return joins, rustFrames
	case s == rustFrames:
		if isRustFrame(line) {
			return joins, rustFrames
		}
	case isRecord(line) || rustPanic(line) != plain:
	case s == rustHead && len(line) > 0, hasPrefix(line, " "):
		return joins, rustMessage
	default:
		return undecided, rustMessage
	}
	return begins, plain
}

// isRustFrame reports whether a line is "   1: function" or "             at file:1:2".
func isRustFrame(line []byte) bool {
	rest := bytes.TrimLeft(line, " ")
	if len(rest) == len(line) {
		return false
	}
	digits := bytes.TrimLeft(rest, "0123456789")
	return hasPrefix(rest, "at ") || len(digits) < len(rest) && hasPrefix(digits, ": ")
}

// afterSlow decides about a line of MySQL's slow log.
func (s state) afterSlow(line []byte) (action, state) {
	switch {
	case hasPrefix(line, "# Time: "):
	case hasPrefix(line, "# User@Host: "):
		if s == slowTime {
			return joins, slowHead
		}
	case s == slowTime || isRecord(line):
	case len(line) == 0:
		return undecided, slowStatement
	case hasPrefix(line, "# administrator command: "):
		return joins, closed
	case hasPrefix(line, "# "):
		if s == slowHead {
			return joins, slowHead
		}
	case hasSuffix(line, ";") && !hasPrefix(line, "SET timestamp=") && !hasPrefix(line, "use "):
		return joins, closed
	default:
		return joins, slowStatement
	}
	return begins, plain
}

// afterApt decides about a line of apt's history.
func afterApt(line []byte) (action, state) {
	if hasPrefix(line, "End-Date: ") {
		return joins, closed
	}
	if end := word(line); end > 0 && hasPrefix(line[end:], ": ") && !hasPrefix(line, "Start-Date: ") {
		return joins, apt
	}
	return begins, plain
}
