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
	case 'R', 'C':
		if hasPrefix(line, "Raised at ") || hasPrefix(line, "Called from ") || hasPrefix(line, "Re-raised at ") { // OCaml
			return listed
		}
		if string(line) == "Current stack trace:" { // Swift
			return numbered
		}
	case 'S':
		if string(line) == "Stacktrace:" { // Julia
			return listed
		}
	case 'A':
		if hasPrefix(line, "At ") && isDigit(line[len(line)-1]) && bytes.Contains(line, []byte(" char:")) {
			return powerShell
		}
	case '*':
		switch {
		case hasPrefix(line, "** "):
			return elixir
		case string(line) == "*** Check failure stack trace: ***": // of glog
			return indented
		case string(line) == "*** First throw call stack:":
			return throwing
		}
	case '#':
		switch {
		case isDartFrame(line):
			return dart
		case string(line) == "#error {": // of Clojure
			return object
		}
	case 'U':
		if string(line) == unhandled {
			return dartHead
		}
	case '0':
		if isPointer(line) {
			return nativeFrames
		}
	case boxTop[0]:
		if isBox(line) {
			return box
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
	case hasSuffix(line, "(most recent call first):"): // of Python's faulthandler
		return joins, indented
	case isHeader(line, word(line)), hasPrefix(line, "! @"): // of Play
		return undecided, header
	}
	return begins, plain
}

// afterReport decides about a line of a report whose lines have a beginning of their own.
func (s state) afterReport(line []byte) (action, state) {
	switch s {
	case nodeMemory:
		switch {
		case len(line) == 0:
			return undecided, nodeMemory
		case hasPrefix(line, "<--- "), hasPrefix(line, "FATAL ERROR: "), hasPrefix(line, "----- "), hasPrefix(line, "==== "),
			line[0] == '[' && bytes.Contains(line, []byte(" ms: ")), line[0] == ' ' && bytes.Contains(line, []byte(": 0x")):
			return joins, nodeMemory
		}
	case throwing:
		switch {
		case hasPrefix(line, "("), hasPrefix(line, ")"), hasPrefix(line, "\t"), hasPrefix(line, "  "):
			return joins, throwing
		case hasPrefix(line, "libc++abi"):
			return joins, closed
		}
	case listed:
		for _, start := range [...]string{"Raised ", "Called from ", "Re-raised at ", " [", "   @ ", "in expression starting at ", "  from "} {
			if hasPrefix(line, start) {
				return joins, listed
			}
		}
	case block:
		switch {
		case len(line) == 0, hasPrefix(line, " (") && hasSuffix(line, ")"):
			return joins, closed
		case hasPrefix(line, "\t"), hasPrefix(line, textIndent):
			return joins, block
		}
	case minio:
		end := word(line)
		if end > 0 && hasPrefix(line[end:], ": ") && !hasPrefix(line, "API: ") || hasPrefix(line, textIndent) {
			return joins, minio
		}
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
		for _, start := range [...]string{"    ", "** ", "Last message", "State: ", "Function: ", "Initial Call: ", "Ancestors: "} {
			if hasPrefix(line, start) {
				return joins, elixir
			}
		}
	case elixirHead:
		if isElixirRequest(line) {
			return undecided, elixirHead
		}
		if hasPrefix(line, "** (") {
			return joins, elixir
		}
	case inner:
		if len(line) == 0 {
			return undecided, inner
		}
		return afterFrames(line)
	case tracing:
		if len(line) == 0 { // behind each record
			return joins, closed
		}
		if isTracing(line) || hasPrefix(line, "    in ") {
			return joins, tracing
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

// isElixirRequest reports whether a line is of those that Plug writes between the message of a failed request and the exception.
func isElixirRequest(line []byte) bool {
	return hasPrefix(line, "Server: ") || hasPrefix(line, "Request: ") || hasPrefix(line, "Client: ")
}

// isTracing reports whether a line is the place of a record of Rust's tracing: "    at src/main.rs:3".
func isTracing(line []byte) bool {
	return hasPrefix(line, "    at ") && bytes.Contains(line, []byte(".rs:"))
}

// isSQLClient reports whether a line is one that .NET's SqlClient appends to the frames of an exception.
func isSQLClient(line []byte) bool {
	return hasPrefix(line, "ClientConnectionId:") || hasPrefix(line, "Error Number:")
}

// railsHead is behind the time and the level of a record of Ruby's logger.
const railsHead = " FATAL -- : "

// isRails reports whether a line begins the report of a failed request of Rails: it has no text, perhaps tags in brackets:
// F, [2026-11-20T15:04:05.123456 #12] FATAL -- : [4f1c].
func isRails(line []byte) bool {
	at := bytes.Index(line, []byte(railsHead))
	if !hasPrefix(line, "F, [") || at < 0 {
		return false
	}
	tags := bytes.TrimRight(line[at+len(railsHead):], " ")
	return len(tags) == 0 || tags[0] == '[' && tags[len(tags)-1] == ']'
}

// afterRails decides about a line of such a report: each begins with the tags of the first one.
func afterRails(text, line []byte) (action, state) {
	first, _, _ := bytes.Cut(text, []byte("\n"))
	_, tags, _ := bytes.Cut(trimmed(first), []byte(railsHead))
	if len(line) > 0 && bytes.HasPrefix(line, bytes.TrimRight(tags, " ")) && !isRecord(line) {
		return joins, rails
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

func (s state) afterGo(line []byte) (action, state) {
	switch {
	case s == goBlank:
		if isGoroutine(line) {
			return joins, goFrames
		}
	case s == goCall:
		if hasPrefix(line, "\t") {
			return joins, goFrames
		}
	case len(line) == 0:
		return undecided, goBlank
	case line[0] == '\t':
		return joins, s
	case isGoroutine(line):
		return joins, goFrames
	case s == goPanic:
		if hasPrefix(line, "[signal ") || hasPrefix(line, "panic: ") || hasPrefix(line, "PC=0x") {
			return joins, goPanic
		}
	case hasPrefix(line, "...") && hasSuffix(line, "frames elided..."), hasPrefix(line, "exit status "):
		return joins, goFrames
	case isGoCall(line, word(line)):
		return undecided, goCall
	}
	return begins, plain
}

// afterFrames decides about a line behind a frame of Java, .NET or Node.
func afterFrames(line []byte) (action, state) {
	if f := frame(line); f != plain {
		return joins, f
	}
	switch rest := bytes.TrimLeft(line, " \t"); {
	case len(rest) < len(line) && hasPrefix(rest, "[CIRCULAR REFERENCE"):
		return joins, frames
	case hasPrefix(rest, "Caused by: "), hasPrefix(rest, "Suppressed: "), hasPrefix(rest, "Wrapped by: "):
		return joins, header
	case hasPrefix(rest, "--- End of "), isSQLClient(line):
		return joins, frames
	case len(rest) == len(line):
	case hasPrefix(rest, "... ") && (hasSuffix(line, " more") || hasSuffix(line, " omitted") || hasSuffix(line, " ...")):
		return joins, frames
	}
	return begins, plain
}
