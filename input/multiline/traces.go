package multiline

import "bytes"

// unhandled is the line with which Dart begins the report of an exception.
const unhandled = "Unhandled exception:"

// isTrace is the state after a line that begins a trace which follows the line of an error; plain if it does not.
func isTrace(line []byte) state {
	switch line[0] {
	case 's':
		if string(line) == "stack traceback:" {
			return indented
		}
	case 'A':
		if hasPrefix(line, "At ") && isDigit(line[len(line)-1]) && bytes.Contains(line, []byte(" char:")) {
			return powerShell
		}
	case '*':
		if hasPrefix(line, "** (") {
			return elixir
		}
	case '#':
		if isDartFrame(line) {
			return dart
		}
	case 'U':
		if string(line) == unhandled {
			return dartHead
		}
	}
	return plain
}

// afterBlank decides about a line behind an empty one, which follows the line of an error.
func afterBlank(line []byte) (action, state) {
	switch {
	case len(line) == 0:
		return undecided, blank
	case string(line) == "Caused by:":
		return joins, indented
	case isAsterisks(line):
		return undecided, springHead
	case isHeader(line, word(line)):
		return undecided, header
	}
	return begins, plain
}

// afterTrace decides about a line of the traces of isTrace, and of a report of Spring Boot.
func (s state) afterTrace(line []byte) (action, state) {
	switch s {
	case indented:
		if hasPrefix(line, "\t") || hasPrefix(line, "  ") || hasPrefix(line, "coroutine ") && hasSuffix(line, ":") { // of OpenResty
			return joins, indented
		}
	case powerShell:
		if hasPrefix(line, "+ ") || hasPrefix(line, "    + ") {
			return joins, powerShell
		}
	case elixir:
		if hasPrefix(line, "    ") || hasPrefix(line, "Last message") || hasPrefix(line, "State: ") {
			return joins, elixir
		}
	case springHead:
		if string(line) == "APPLICATION FAILED TO START" {
			return joins, spring
		}
	case spring:
		if !isRecord(line) {
			return joins, spring
		}
	case dartHead:
		if isDartFrame(line) {
			return joins, dart
		}
		if len(line) > 0 && !isRecord(line) {
			return undecided, dartHead
		}
	case dart:
		if isDartFrame(line) || string(line) == "<asynchronous suspension>" {
			return joins, dart
		}
	}
	return begins, plain
}

// isAsterisks reports whether a line consists of asterisks.
func isAsterisks(line []byte) bool {
	return len(line) > 2 && len(bytes.Trim(line, "*")) == 0
}

// isPerlFrame reports whether a line is a frame of Perl: TAB main::place(7) called at shop.pl line 12.
func isPerlFrame(line []byte) bool {
	return line[0] == '\t' && bytes.Contains(line, []byte(" called at ")) && bytes.Contains(line, []byte(" line "))
}

// isDartFrame reports whether a line is a frame of Dart: #0      main (file:///srv/shop.dart:7:9).
func isDartFrame(line []byte) bool {
	if len(line) < 4 || line[0] != '#' || !isDigit(line[1]) || !hasSuffix(line, ")") {
		return false
	}
	rest := bytes.TrimLeft(line[1:], "0123456789")
	return hasPrefix(rest, "   ") && bytes.IndexByte(rest, '(') > 0
}
