package multiline

import (
	"bytes"

	"logstow/internal/ansi"
	"logstow/record"
	"logstow/record/recognize"
)

func hasPrefix(line []byte, prefix string) bool {
	return len(line) >= len(prefix) && string(line[:len(prefix)]) == prefix
}

func hasSuffix(line []byte, suffix string) bool {
	return len(line) >= len(suffix) && string(line[len(line)-len(suffix):]) == suffix
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// word returns the length of the name or path at the beginning of a line.
func word(line []byte) int {
	for i, c := range line {
		if !isLetter(c) && !isDigit(c) && c != '.' && c != '$' && c != '/' && c != '-' {
			return i
		}
	}
	return len(line)
}

// isErrorName reports whether a name is that of an exception of Java, .NET or Node.
func isErrorName(name []byte) bool {
	return hasSuffix(name, "Exception") || hasSuffix(name, "Error") || hasSuffix(name, "Throwable")
}

// isQualified reports whether a name is that of a class in a package: shop.orders.OrderNotFound.
func isQualified(name []byte) bool {
	point := bytes.LastIndexByte(name, '.')
	return point > 0 && point+1 < len(name) && isUpper(name[point+1]) && isLetter(name[0]) && bytes.IndexByte(name, '/') < 0
}

// isHeader reports whether a line, which begins with a word, is "package.SomeError: text", "SomeError [CODE]: text" of Node or
// "SomeException (0x80131904): text" of .NET. In a package the name may be any.
func isHeader(line []byte, word int) bool {
	rest := line[word:]
	if !isErrorName(line[:word]) {
		return (len(rest) == 0 || hasPrefix(rest, ": ")) && isQualified(line[:word])
	}
	return len(rest) == 0 || rest[0] == ':' || hasPrefix(rest, " [") && bytes.Contains(rest, []byte("]: ")) ||
		hasPrefix(rest, " (0x") && bytes.Contains(rest, []byte("): "))
}

// sharesStart reports whether a line begins with the same characters as the text, such as the year of a time.
func sharesStart(text, line []byte) bool {
	return len(text) > 2 && len(line) > 2 && text[0] == line[0] && text[1] == line[1] && text[2] == line[2]
}

// namesException reports whether a text has the name of an exception with a message, which may have more lines.
func namesException(text []byte) bool {
	if isObject(text) {
		return false
	}
	text = text[:min(len(text), 1024)]
	for _, name := range [...]string{"xception:", "Error:", "Throwable:", "[object] ("} {
		if bytes.Contains(text, []byte(name)) {
			return true
		}
	}
	return false
}

// isObject reports whether a line begins like a JSON object, which is complete in one line.
func isObject(line []byte) bool { return len(line) > 0 && line[0] == '{' }

// isRecord reports whether a line is a JSON object with members, not text in braces.
func isRecord(line []byte) bool { return hasPrefix(line, `{"`) || hasPrefix(line, `{ "`) }

// mentionsError reports whether a line is a message about a failure, such as one followed by a
// trace: by a word in it, or by its level.
func mentionsError(line []byte) bool {
	if isObject(line) {
		return false
	}
	lower := bytes.ToLower(line[:min(len(line), 1024)])
	for _, word := range [...]string{
		"error", "exception", "fatal", "fail", "panic", "critical", "warn", "severe", "uncaught", "unhandled", "rescue",
	} {
		if bytes.Contains(lower, []byte(word)) {
			return true
		}
	}
	first, _, _ := bytes.Cut(line, []byte("\n"))
	return recognize.New(recognize.Options{}).Stamp(first, 0, 0).Level >= record.Warn
}

// isLogged reports whether a text is a record with a time, so that a trace behind it may be its own whatever its level.
func isLogged(text []byte) bool {
	first, _, _ := bytes.Cut(text, []byte("\n"))
	return !isObject(text) && recognize.New(recognize.Options{}).HasTime(first)
}

// frame is the state after a line "   at place" of Java, .NET or Node, or ".NET's
// " ---> inner exception"; plain if it is none.
func frame(line []byte) state {
	rest := bytes.TrimLeft(line, " \t")
	if len(rest) == len(line) {
		return plain
	}
	if hasPrefix(rest, "---> ") && (bytes.Contains(rest, []byte("Exception")) || bytes.Contains(rest, []byte("Error"))) {
		return frames
	}
	if !hasPrefix(rest, "at ") || line[0] != '\t' && len(line)-len(rest) < 2 {
		return plain
	}
	rest = rest[len("at "):]
	s := frames
	if hasSuffix(rest, " {") {
		s, rest = props, rest[:len(rest)-2]
	}
	switch {
	case hasSuffix(rest, "<---"):
		return inner
	case isCall(rest) || endsInPlace(rest):
		return s
	}
	return plain
}

// isCall reports whether text begins with a qualified method and its brackets.
func isCall(text []byte) bool {
	open := bytes.IndexByte(text, '(')
	if open <= 0 || bytes.IndexByte(text[open:], ')') < 0 {
		return false
	}
	name := text[:open]
	if name[open-1] == ' ' && bytes.Contains(text[open:], []byte(") [0x")) { // of Mono
		name = name[:open-1]
	}
	return bytes.IndexByte(name, ' ') < 0 && bytes.ContainsAny(name, "._$<")
}

// endsInPlace reports whether text ends as a frame of Node: "file:1:2", bare or in
// brackets, or in the brackets of something without a place.
func endsInPlace(text []byte) bool {
	for _, end := range [...]string{"(<anonymous>)", "(native)", " <anonymous>"} {
		if hasSuffix(text, end) {
			return true
		}
	}
	if hasSuffix(text, ")") {
		text = text[:len(text)-1]
		if open := bytes.LastIndexByte(text, '('); open >= 0 && hasPrefix(text[open:], "(index ") {
			return true
		}
	}
	for range 2 {
		n := len(text)
		for n > 0 && isDigit(text[n-1]) {
			n--
		}
		if n == len(text) || n < 2 || text[n-1] != ':' {
			return false
		}
		text = text[:n-1]
	}
	return true
}

// endsInGoroutine reports whether a line is a message that ends in the head of a
// goroutine, as one does that prints its own stack.
func endsInGoroutine(line []byte) bool {
	i := bytes.LastIndex(line[max(0, len(line)-64):], []byte("goroutine "))
	return i >= 0 && isGoroutine(line[max(0, len(line)-64)+i:])
}

// isGoroutine reports whether a line is "goroutine 1 [running]:" or the like.
func isGoroutine(line []byte) bool {
	if string(line) == "runtime stack:" {
		return true
	}
	if !hasPrefix(line, "goroutine ") || !hasSuffix(line, ":") {
		return false
	}
	return isDigit(line[len("goroutine ")]) && bytes.Contains(line, []byte(" ["))
}

// isGoCall reports whether a line, which begins with a word, may be the one of a
// function in a goroutine: "main.(*T).f(0x1, 0x2)", "main.f" or "created by main.f in goroutine 1".
func isGoCall(line []byte, word int) bool {
	if word == 0 || !isLetter(line[0]) {
		return false
	}
	if hasPrefix(line, "created by ") || hasPrefix(line, "panic(") {
		return true
	}
	return bytes.IndexByte(line[:word], '.') > 0 &&
		(word < len(line) && line[word] == '(' && hasSuffix(line, ")") || bytes.IndexByte(line, ' ') < 0)
}

// isRubyFrom reports whether a line is "    from file:1:in 'method'" or "    1: from …".
func isRubyFrom(line []byte) bool {
	rest := bytes.TrimLeft(line, " \t0123456789:")
	return len(rest) < len(line) && (line[0] == ' ' || line[0] == '\t') && hasPrefix(rest, "from ") && bytes.Contains(rest, []byte(":in "))
}

// isRubyFrame reports whether a line is "file.rb:1:in 'method'".
func isRubyFrame(line []byte) bool {
	if i := bytes.Index(line, []byte(".rb:")); i <= 0 || bytes.IndexByte(line[:i], ' ') >= 0 {
		return false
	}
	return bytes.Contains(line, []byte(":in ")) && hasSuffix(line, "'")
}

// consoleIndent begins the lines after the first of .NET's console logger.
const consoleIndent = "      "

// isConsoleHeader reports whether a line is "info: Category[14]" or the like, perhaps coloured or behind a time.
func isConsoleHeader(line []byte) bool {
	const shortest, maxTime = len("info: x[0]"), 48
	if bytes.IndexByte(line, ansi.Escape) >= 0 {
		line = ansi.Strip(nil, line)
	}
	at := 0
	for len(line) < at+shortest || !isConsoleLevel(line[at:]) {
		blank := bytes.IndexByte(line[at:min(len(line), at+maxTime)], ' ')
		if at += blank + 1; blank < 0 || at > maxTime {
			return false
		}
	}
	rest := bytes.TrimRight(line, "\r")
	if !hasSuffix(rest, "]") {
		return false
	}
	rest = rest[:len(rest)-1]
	n := len(rest)
	for n > 0 && isDigit(rest[n-1]) {
		n--
	}
	return n < len(rest) && n > 0 && rest[n-1] == '['
}

// isConsoleLevel reports whether a text begins with a level of .NET's console logger.
func isConsoleLevel(text []byte) bool {
	if text[4] != ':' || text[5] != ' ' {
		return false
	}
	switch string(text[:4]) {
	case "trce", "dbug", "info", "warn", "fail", "crit":
		return true
	}
	return false
}
