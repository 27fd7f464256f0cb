package multiline

import (
	"bytes"

	"logstow/record/recognize"
)

// afterPlainIndented decides about a line that begins with a blank or a TAB.
func afterPlainIndented(text, line []byte) (action, state) {
	switch {
	case isObject(text):
	case frame(line) != plain:
		return joins, frame(line)
	case isRubyFrom(line):
		return joins, ruby
	case isPerlFrame(line):
		return joins, indented
	case line[0] == '\t' && isRubyFrame(line[1:]): // of Sinatra
		return joinsError(text, ruby)
	case isTraceback(bytes.TrimLeft(line, " \t")): // of Twisted
		return joinsError(text, indented)
	case hasPrefix(line, "  what():  "): // of C++
		return joinsError(text, indented)
	case line[0] == '\t' && isKlogText(text):
		return joins, klogText
	case isTracing(line):
		return joins, tracing
	case line[0] == '\t' && isHeader(line[1:], word(line[1:])) && mentionsError(text): // of Tomcat
		return undecided, header
	case isGroup(line):
		return joinsError(text, pyGroup)
	case isCrystalFrame(line):
		return joinsError(text, listed)
	case isAligned(text, line):
		return joins, plain
	case (line[0] == '\t' || hasPrefix(line, textIndent)) && isAnnounced(text, line):
		return joins, block
	case isNativeFrame(line):
		return joinsError(text, nativeFrames)
	case hasPrefix(line, "   at: "): // of Godot
		return joinsError(text, indented)
	case hasPrefix(line, textIndent) && (isPinoPretty(text) || isTornado(text)):
		return joins, indented
	case hasPrefix(line, consoleIndent) && isConsoleHeader(text):
		return joins, console
	case line[0] == '\t' && isSQLServer(text):
		return joins, plain
	case line[0] == '\t' && isPostgres(text):
		return joins, postgres
	case hasPrefix(line, "  ") && (isSamba(text) || recognize.IsPythonWarning(text) && bytes.IndexByte(text, '\n') < 0): // the line of the program
		return joins, plain
	default:
		return afterException(text, line)
	}
	return begins, plain
}

// textIndent begins the lines after the first of pino-pretty and of Tornado.
const textIndent = "    "

// isCrystalFrame reports whether a line is a frame of Crystal: "  from shop.cr:3:3 in 'place'".
func isCrystalFrame(line []byte) bool {
	return hasPrefix(line, "  from ") && bytes.Contains(line, []byte(" in '")) && hasSuffix(line, "'")
}

// isAligned reports whether a line is indented as far as the message of the text, behind its columns, as of pgBackRest and IBM MQ.
func isAligned(text, line []byte) bool {
	const shortest = len("P00  ERROR: ")
	n := len(line) - len(bytes.TrimLeft(line, " "))
	if n < shortest || n == len(line) || n >= len(text) || bytes.IndexByte(text[:n], '\n') >= 0 {
		return false
	}
	return text[n] != ' ' && text[n-1] == ' ' && (text[n-2] == ':' || text[n-2] == '-')
}

// isAnnounced reports whether a text announces a line: terms of Erlang behind "exit value:"; the quoted message of Nokia's SR OS;
// indented settings behind a record that ends in a colon, as Kafka's; indented lines behind nothing but a host and the time, as
// Firebird's.
func isAnnounced(text, line []byte) bool {
	text, _, more := bytes.Cut(text, []byte("\n"))
	text = bytes.TrimRight(trimmed(text), " ")
	if more || len(text) == 0 {
		return false
	}
	switch line[0] {
	case '{', '[':
		return hasSuffix(text, " with exit value:")
	case '"':
		return isDigit(text[0]) && bytes.Contains(text, []byte(" Base")) && bytes.Contains(text, []byte(": ")) &&
			bytes.Contains(text, []byte(" #"))
	}
	if text[len(text)-1] == ':' {
		return bytes.Contains(line, []byte(" = ")) && isLogged(text)
	}
	_, date, found := bytes.Cut(text, []byte("\t"))
	return found && line[0] == '\t' && len(date) == len("Fri Nov 20 15:04:05 2026") && date[3] == ' ' && date[13] == ':' && date[16] == ':'
}

// isTornado reports whether a text begins like a record of Tornado and Jupyter: [E 261120 15:04:05 web:1789] failed.
func isTornado(text []byte) bool {
	return len(text) > 3 && text[0] == '[' && isUpper(text[1]) && text[2] == ' ' && isDigit(text[3])
}

// isKlogText reports whether a text of several lines of klog follows a text: err=<.
func isKlogText(text []byte) bool { return hasSuffix(trimmed(text), "=<") }

// afterKlog decides about a line of such a text: each begins with a TAB, but the last one: " > pod=\"shop\"".
func afterKlog(line []byte) (action, state) {
	switch {
	case hasPrefix(line, "\t"), hasPrefix(line, " >") && isKlogText(line):
		return joins, klogText
	case hasPrefix(line, " >"):
		return joins, closed
	}
	return begins, plain
}

// afterCrash decides about a line of a report of a crash of the JVM, of which each begins with "#".
func (s state) afterCrash(text, line []byte) (action, state) {
	switch {
	case s == crash && hasPrefix(line, "#"), hasPrefix(line, "# A fatal error has been detected"), hasPrefix(line, "# There is insufficient memory"):
		return joins, crash
	case s == crashHead:
		return afterPlain(text, line)
	}
	return begins, plain
}
