package multiline

import "bytes"

// isPretty reports whether a line begins a diagnostic of tsc that the line of the program follows:
// src/app.ts:3:5 - error TS2322: Type 'string' is not assignable to type 'number'.
func isPretty(line []byte) bool {
	i := bytes.Index(line, []byte(" - "))
	if i <= 0 || !isDigit(line[i-1]) || bytes.IndexByte(line[:i], ':') <= 0 {
		return false
	}
	rest := line[i+len(" - "):]
	return hasPrefix(rest, "error TS") || hasPrefix(rest, "warning TS") || hasPrefix(rest, "message TS")
}

// isCMake reports whether a line begins a message of CMake, whose text is indented: CMake Error at CMakeLists.txt:10 (find_package):.
func isCMake(line []byte) bool {
	return hasPrefix(line, "CMake ") && hasSuffix(line, ":") &&
		(bytes.Contains(line, []byte("Error")) || bytes.Contains(line, []byte("Warning")))
}

// isRError reports whether a line begins an error or a warning of R.
func isRError(line []byte) bool {
	return hasPrefix(line, "Error in ") || hasPrefix(line, "Error: ") || hasPrefix(line, "Warning message")
}

// isZigFrame reports whether a line is a frame of Zig: /src/shop.zig:7:14: 0x10a1b2c in place (shop).
func isZigFrame(line []byte) bool {
	return hasSuffix(line, ")") && (bytes.Contains(line, []byte(".zig:")) || hasPrefix(line, "???:?:?")) &&
		bytes.Contains(line, []byte(": 0x")) && bytes.Contains(line, []byte(" in "))
}

// isNimFrame reports whether a line is a frame of Nim: /src/shop.nim(7)         place.
func isNimFrame(line []byte) bool {
	_, number, found := bytes.Cut(line, []byte(".nim("))
	if !found || line[0] == ' ' {
		return false
	}
	digits := bytes.TrimLeft(number, "0123456789")
	return len(digits) < len(number) && hasPrefix(digits, ") ")
}

// isDFrame reports whether a line is a frame of D: shop.d:7 void shop.place(int) [0x55d0c8a1b2c3].
func isDFrame(line []byte) bool {
	return hasSuffix(line, "]") && bytes.LastIndex(line, []byte(" [0x")) > 0
}

// isSQLServer reports whether a text begins with the banner of SQL Server, whose further lines begin with a TAB.
func isSQLServer(text []byte) bool {
	first, _, _ := bytes.Cut(text, []byte("\n"))
	return len(first) > 0 && isDigit(first[0]) && bytes.Contains(first, []byte(" Server      Microsoft SQL Server "))
}

// afterCrashed decides about a line of a report of tsc, CMake, D, R, Zig, Nim or Swift.
func (s state) afterCrashed(text, line []byte) (action, state) {
	switch s {
	case prettyHead, prettySource, prettyBlank:
		return s.afterPretty(line)
	case cmake:
		switch {
		case len(line) == 0:
			return undecided, cmake
		case hasPrefix(line, "This warning is for project developers."):
			return joins, closed
		case hasPrefix(line, "  "), hasPrefix(line, "Call Stack (most recent call first):"):
			return joins, cmake
		}
	case dHead:
		if len(line) > 2 && len(bytes.Trim(line, "-")) == 0 {
			return undecided, dFrames
		}
	case dFrames:
		if isDFrame(line) {
			return joins, dFrames
		}
	case rError:
		return afterRError(text, line)
	case zig:
		if isZigFrame(line) || hasPrefix(line, textIndent) {
			return joins, zig
		}
	case nim:
		switch {
		case isNimFrame(line), hasPrefix(line, "[[reraised from:"), string(line) == "]]":
			return joins, nim
		case hasPrefix(line, "Error: unhandled exception: "):
			return joins, closed
		}
	case numbered:
		if len(line) > 0 && isDigit(line[0]) && bytes.Contains(line, []byte(" 0x")) {
			return joins, numbered
		}
	}
	return begins, plain
}

// afterPretty decides about a line of such a diagnostic of tsc: an empty line, the line of the program behind its number, and a mark.
func (s state) afterPretty(line []byte) (action, state) {
	switch {
	case len(line) == 0:
		return undecided, prettyBlank
	case hasPrefix(line, "  ") && (s == prettyHead || len(bytes.TrimLeft(line, " ")) > 0):
		return joins, prettySource
	case s != prettyHead && isDigit(line[0]) && !isPretty(line):
		if digits := bytes.TrimLeft(line, "0123456789"); len(digits) == 0 || digits[0] == ' ' {
			return joins, prettySource
		}
	}
	return begins, plain
}

// afterRError decides about a line behind an error or a warning of R.
func afterRError(text, line []byte) (action, state) {
	if string(line) == "Execution halted" {
		return joins, closed
	}
	for _, start := range [...]string{"Calls: ", "In addition: ", "Backtrace:", "! "} {
		if hasPrefix(line, start) {
			return joins, rError
		}
	}
	isWarning := hasPrefix(text, "Warning message") || bytes.Contains(text, []byte("\nIn addition: Warning message"))
	switch {
	case isWarning && (hasPrefix(line, "In ") && bytes.Contains(line, []byte(" : ")) || hasPrefix(line, "  ")),
		bytes.Contains(text, []byte("\nBacktrace:")) && hasPrefix(line, " "):
		return joins, rError
	}
	return afterPlain(text, line)
}
