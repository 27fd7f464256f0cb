package multiline

import "bytes"

// isRule reports whether a line consists of "=": it stands before a report of a sanitizer, and around one of a race detector.
func isRule(line []byte) bool {
	const shortest = len("==================")
	return len(line) >= shortest && len(bytes.Trim(line, "=")) == 0
}

// isRace reports whether a line is the first of a report of Go's race detector or ThreadSanitizer, behind a rule.
func isRace(line []byte) bool {
	return hasPrefix(line, "WARNING: DATA RACE") || hasPrefix(line, "WARNING: ThreadSanitizer: ")
}

// isSanitizer reports whether a line begins a report of AddressSanitizer and its kin: ==4711==ERROR: LeakSanitizer: detected memory leaks.
func isSanitizer(line []byte) bool {
	rest := bytes.TrimLeft(line, "=0123456789")
	return hasPrefix(line, "==") && (hasPrefix(rest, "ERROR: ") || hasPrefix(rest, "WARNING: ")) &&
		bytes.Contains(rest, []byte("Sanitizer: "))
}

// isNativeFrame reports whether a line is a frame of a sanitizer: "    #0 0x4f8a5c in main /src/shop.c:7:10".
func isNativeFrame(line []byte) bool {
	rest := bytes.TrimLeft(line, " ")
	if len(rest) == len(line) || len(rest) == 0 || rest[0] != '#' {
		return false
	}
	digits := bytes.TrimLeft(rest[1:], "0123456789")
	return len(digits) < len(rest)-1 && hasPrefix(digits, " 0x")
}

// isPointer reports whether a line of UndefinedBehaviorSanitizer introduces the bytes at a pointer.
func isPointer(line []byte) bool {
	return hasPrefix(line, "0x") && hasSuffix(line, ": note: pointer points here")
}

// afterSanitizer decides about a line of a report of a sanitizer.
func (s state) afterSanitizer(text, line []byte) (action, state) {
	switch {
	case s == rule && isRace(line):
		return joins, race
	case s == rule && isSanitizer(line):
		return joins, sanitizer
	case s == rule:
		return afterPlain(text, line)
	case s == race && isRule(line):
		return joins, closed
	case isRecord(line):
		return begins, plain
	case s == race:
		return joins, race
	case len(line) == 0:
		return undecided, s
	case hasPrefix(line, "SUMMARY: "):
		return joins, nativeFrames
	case hasPrefix(line, "==") && hasSuffix(line, "==ABORTING"):
		return joins, closed
	case line[0] == ' ':
		return joins, s
	case s == sanitizer && hasPrefix(line, "=="), hasPrefix(line, "Shadow byte"), hasPrefix(line, "=>0x"):
		return joins, s
	case s == sanitizer:
		return undecided, s
	}
	return begins, plain
}
