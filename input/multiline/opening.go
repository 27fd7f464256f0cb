package multiline

import (
	"bytes"

	"logstow/record/recognize"
)

// opening is the state after the first line of an event.
func opening(line []byte) state {
	line = trimmed(line)
	if len(line) == 0 {
		return plain
	}
	switch line[0] {
	case 'T':
		switch {
		case isTraceback(line):
			return pyHead
		case string(line) == "Traceback (most recent call last)":
			return nim
		}
	case '{':
		if len(bytes.TrimRight(line, " ")) == 1 {
			return object
		}
	case '#':
		if hasPrefix(line, "# Time: ") {
			return slowTime
		}
		if hasPrefix(line, "# User@Host: ") {
			return slowHead
		}
		switch {
		case isWebLogic(line):
			return webLogic
		case len(line) == 1:
			return crashHead
		}
	case '=':
		switch {
		case isReport(line):
			return report
		case isSanitizer(line):
			return sanitizer
		case isRule(line):
			return rule
		}
	case '[':
		if hasSuffix(line, " [[") && len(line) > 5 && isDigit(line[1]) && line[5] == '-' {
			return brackets
		}
		if isFPM(line) {
			return fpm
		}
	case '2':
		if isDiagnosis(line) {
			return diagnosis
		}
		if recognize.IsPostgresCSV(line) && hasOpenQuote(line) {
			return csvQuote
		}
	case '/', 'n':
		if isNodePlace(line) {
			return nodeHead
		}
	case 't':
		if hasPrefix(line, "thread ") && bytes.Contains(line, []byte(" panic: ")) {
			return zig
		}
		return rustPanic(line)
	case 'C':
		if isCMake(line) {
			return cmake
		}
	case 'E', 'W':
		if isRError(line) {
			return rError
		}
	case 'S':
		switch {
		case hasPrefix(line, "Start-Date: "):
			return apt
		case hasPrefix(line, "SIG") && bytes.Contains(line, []byte(": ")): // SIGQUIT: quit
			return goPanic
		}
	case 'p':
		if hasPrefix(line, "panic: ") {
			return goPanic
		}
	case 'f':
		if hasPrefix(line, "fatal error: ") {
			return goPanic
		}
		if isNodePlace(line) {
			return nodeHead
		}
	case 'g':
		if isGoroutine(line) {
			return goFrames
		}
	case 'U':
		if string(line) == unhandled {
			return dartHead
		}
	case ' ':
		switch {
		case isGroup(line):
			return pyGroup
		case hasPrefix(line, `  File "`): // of a syntax error
			return pyBody
		}
	case 'F':
		switch {
		case isRails(line):
			return rails
		case hasPrefix(line, "Full thread dump "): // of the JVM
			return spring
		}
	case boxTop[0]:
		switch {
		case isBox(line):
			return box
		case isMessageBox(line):
			return messageBox
		}
	case '<':
		if string(line) == recognize.NodeMemory {
			return nodeMemory
		}
		if is, ended := recognize.IsClientLog(line); is && !ended {
			return clientLog
		}
	case 'e', 'w':
		if isLabel(line) {
			return label
		}
	case 'A':
		if hasPrefix(line, "API: ") && hasSuffix(line, ")") {
			return minio
		}
	}
	switch last := line[len(line)-1]; {
	case (isLetter(line[0]) || line[0] == '/' || line[0] == '.') && isDiagnostic(line):
		return diagnostic
	case (isLetter(line[0]) || line[0] == '/' || line[0] == '.') && isPretty(line):
		return prettyHead
	case line[0] >= 'a' && line[0] <= 'z' && recognize.IsDException(line):
		return dHead
	case (last == ' ' || last == ':') && isRemote(line):
		return pyRemote
	case last != ':':
		return plain
	}
	switch {
	case hasSuffix(line, traceback): // logging.error(traceback.format_exc())
		return pyHead
	case bytes.Contains(line, []byte(" thread '")):
		return rustPanic(line[bytes.Index(line, []byte(" thread '"))+1:])
	case hasSuffix(line, "]:") && endsInGoroutine(line):
		return goFrames
	case isClickHouse(line):
		return clickHouse
	case hasSuffix(line, " panic recovered:"): // of Gin
		return spring
	}
	return plain
}

// mayOpen reports whether the state after a line that begins with a digit may be another one than plain.
func mayOpen(line []byte) bool {
	last := line[len(line)-1]
	return last == ':' || last == '\r' || len(line) > 13 && line[10] == '-' && line[13] == '.' || recognize.IsPostgresCSV(line)
}
