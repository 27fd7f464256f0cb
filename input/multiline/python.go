package multiline

import "bytes"

// Beginnings of the lines of a box of Rich.
const boxTop, boxSide, boxBottom = "╭", "│", "╰"

// afterPython decides about a line of a traceback.
func (s state) afterPython(line []byte) (action, state) {
	switch s {
	case pyRemote:
		switch {
		case string(line) == pyQuotes:
			return joins, pyRemote
		case isTraceback(line):
			return joins, pyHead
		}
	case elastic:
		switch {
		case isRule(line):
			return joins, closed
		case !isRecord(line):
			return joins, elastic
		}
	case pyHead:
		switch {
		case hasPrefix(line, `  File "`):
			return joins, pyBody
		case isNimFrame(line):
			return joins, nim
		case len(line) == 0:
			return undecided, loguru
		}
	case loguru:
		switch {
		case len(line) == 0:
			return undecided, loguru
		case hasPrefix(line, "  "), hasPrefix(line, `> File "`):
			return joins, loguru
		case isPyEnd(line):
			return joins, pyEnd
		}
	case box:
		switch {
		case isBox(line), hasPrefix(line, boxSide), hasPrefix(line, boxBottom):
			return joins, box
		case isPyEnd(line):
			return joins, pyEnd
		}
	case pyBody:
		if hasPrefix(line, "  ") {
			return joins, pyBody
		}
		if isPyEnd(line) {
			return joins, pyEnd
		}
	case pyEnd, pyMessage, pyBlank:
		switch {
		case len(line) == 0:
			return undecided, pyBlank
		case s == pyBlank && (hasPrefix(line, "During handling of the above exception") || hasPrefix(line, "The above exception was the direct cause")):
			return joins, pyChain
		case isSQLAlchemy(line), string(line) == pyQuotes:
			return joins, pyEnd
		case !isRecord(line) && !isLeveled(line):
			return undecided, pyMessage
		}
	case pyChain:
		switch {
		case len(line) == 0:
			return joins, pyChain
		case isTraceback(line):
			return joins, pyHead
		case isGroup(line):
			return joins, pyGroup
		case isBox(line):
			return joins, box
		}
	case pyGroup:
		if rest := bytes.TrimLeft(line, " "); len(rest) > 0 && len(rest) < len(line) && (rest[0] == '|' || rest[0] == '+') {
			return joins, pyGroup
		}
	}
	return begins, plain
}

// pyQuotes stands around the traceback of another process.
const pyQuotes = `"""`

// isRemote reports whether a line introduces the traceback of another process: multiprocessing.pool.RemoteTraceback:.
func isRemote(line []byte) bool { return hasSuffix(bytes.TrimRight(line, " "), "RemoteTraceback:") }

// traceback begins a traceback.
const traceback = "Traceback (most recent call last):"

func isTraceback(line []byte) bool { return hasPrefix(line, traceback) }

// isPyEnd reports whether a line is an exception without a message, or "package.Error: message".
func isPyEnd(line []byte) bool {
	end := word(line)
	return end > 0 && (end == len(line) || line[end] == ':')
}

// isBox reports whether a line is the top of a box with a traceback.
func isBox(line []byte) bool {
	return hasPrefix(line, boxTop) && bytes.Contains(line, []byte(" Traceback (most recent call last) "))
}

// isSQLAlchemy reports whether a line is of those that SQLAlchemy appends to the message of an exception.
func isSQLAlchemy(line []byte) bool {
	return hasPrefix(line, "[SQL: ") || hasPrefix(line, "[parameters: ") || hasPrefix(line, "(Background on this error at: ")
}

// isLeveled reports whether a line begins with a level, as records without a time do.
func isLeveled(line []byte) bool {
	end := 0
	for end < len(line) && 'A' <= line[end] && line[end] <= 'Z' {
		end++
	}
	switch string(line[:end]) {
	case "DEBUG", "INFO", "NOTICE", "WARN", "WARNING", "ERROR", "CRITICAL", "FATAL":
		return true
	}
	return false
}

func isGroup(line []byte) bool {
	return hasPrefix(line, "  + Exception Group Traceback (most recent call last):")
}
