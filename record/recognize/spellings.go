package recognize

import (
	"bytes"

	"logstow/record"
)

// spellings finds the level in formats with unusual names or places of the level.
func (f *finding) spellings(line []byte) {
	if f.level != record.None {
		return
	}
	marks := marksOf(line[:min(len(line), maxColumn)])
	if isTrace(line) || marks.ruby && isRubyException(line) {
		f.level = record.Error
		return
	}
	if marks.python && IsPythonWarning(line) {
		f.level = record.Warn
		return
	}
	if len(line) > 0 && (line[0]-'0' > 9 || !f.found || len(line) > len("2026-11-20 15:04:05.123 ") && line[4] == '-') {
		f.byFirst(line)
	}
	if f.level == record.None && len(line) > maxColumn/2 && line[2] == '/' && bytes.Contains(line[:maxColumn/2], []byte(" \t")) {
		f.sharePoint(line)
	}
	if f.level == record.None && marks.cef {
		f.cef(line)
	}
	if f.level == record.None {
		f.bgl(line)
	}
	if f.level == record.None {
		f.cisco(line[:min(len(line), maxColumn)])
	}
}

// marks are texts around a colon that the beginning of a line has, and that some formats have. One search finds them all.
type marks struct{ ruby, python, cef bool }

func marksOf(head []byte) (m marks) {
	for i := 0; ; i++ {
		n := bytes.IndexByte(head[i:], ':')
		if n < 0 {
			return m
		}
		if i += n; i >= len(".rb") {
			switch string(head[i-len(".rb") : i]) {
			case ".rb":
				m.ruby = true
			case ".py":
				m.python = true
			case "CEF":
				m.cef = m.cef || bytes.HasPrefix(head[i-len("CEF"):], []byte(cefVersion))
			}
		}
	}
}

// isTrace reports whether a line begins a stack trace.
func isTrace(line []byte) bool {
	if len(line) == 0 {
		return false
	}
	head := line[:min(len(line), maxColumn)]
	switch c := line[0]; {
	case c == '#':
		return bytes.Contains(head, []byte("\n# A fatal error has been detected by the Java Runtime")) // the JVM
	case c == 't' && (isRustPanic(line) || startsTrace(line)):
		return true
	case c == '<':
		return bytes.HasPrefix(line, []byte(NodeMemory))
	case c == 'A' && bytes.HasPrefix(line, []byte("API: ")) && bytes.Contains(line, []byte("\nError: ")): // MinIO
		return true
	case c-'A' < 26 && bytes.IndexByte(head, '\n') > 0 && bytes.Contains(head, []byte("\nLine |")): // PowerShell
		return true
	case c == '*' && bytes.HasPrefix(line, []byte("*** Terminating app due to uncaught exception ")):
		return true
	case (c == 'm' || c == 'c' || c == 'j') && bytes.Contains(head, []byte("RemoteTraceback: ")) && bytes.Contains(head, []byte("\n\"\"\"")): // of Python's processes
		return true
	case len(line) > len("2026/11/20") && c-'0' <= 9 && line[4] == '/':
		return bytes.Contains(head, []byte(" http: panic serving ")) || bytes.Contains(head, []byte(" panic recovered:\n")) // Go, Gin
	case c == 'T' || c == 'E' || c == 'F' || c == 'U' || c == 'I' || c == ' ':
		if startsTrace(line) {
			return true
		}
	}
	return isNodeReport(line)
}

// NodeMemory is the line with which Node begins to report that it ran out of memory.
const NodeMemory = "<--- Last few GCs --->"

// isRustPanic reports whether a line begins a panic of Rust, thread 'main' panicked at src/main.rs:3, or of Zig, thread 4242 panic: text.
func isRustPanic(line []byte) bool {
	rest, found := bytes.CutPrefix(line[:min(len(line), maxColumn)], []byte("thread "))
	if !found || len(rest) == 0 {
		return false
	}
	return rest[0] == '\'' && bytes.Contains(rest, []byte(" panicked at ")) ||
		bytes.HasPrefix(rest[digitsEnd(rest, 0):], []byte(" panic: "))
}

// startsTrace reports whether a line begins like a stack trace of Python, Java, .NET, Django or C++.
func startsTrace(line []byte) bool {
	for _, start := range [...]string{
		"Traceback (most recent call last)", "Exception in thread ", "Exception ignored in: ", "Fatal Python error: ",
		"  File \"", "Unhandled exception. ", "Internal Server Error: /",
		"terminate called after throwing an instance of ", "Unhandled exception: ", "Execution error (",
	} {
		if len(line) >= len(start) && string(line[:len(start)]) == start {
			return true
		}
	}
	return false
}

// isRubyException reports whether a line is the first of an exception at which Ruby ended: app.rb:3:in 'Integer#/': divided by 0
// (ZeroDivisionError).
func isRubyException(line []byte) bool {
	i := bytes.Index(line[:min(len(line), maxColumn)], []byte(".rb:"))
	if i <= 0 || bytes.IndexByte(line[:i], ' ') >= 0 {
		return false
	}
	first, _, _ := bytes.Cut(line[i:], []byte("\n"))
	return bytes.Contains(first, []byte(":in ")) && bytes.Contains(first, []byte("': ")) &&
		bytes.HasSuffix(bytes.TrimRight(first, "\r"), []byte(")"))
}

// isNodeReport reports whether a text is Node's report of an uncaught exception, which begins with a place: /app/shop.js:3.
func isNodeReport(text []byte) bool {
	first, rest, found := bytes.Cut(text, []byte("\n"))
	if !found || !bytes.Contains(rest, []byte("\n    at ")) {
		return false
	}
	first = bytes.TrimRight(first, "\r")
	place := bytes.TrimRight(first, "0123456789")
	return len(place) < len(first) &&
		(bytes.HasSuffix(place, []byte("js:")) || bytes.HasSuffix(place, []byte(".ts:")) || bytes.HasPrefix(place, []byte("node:")))
}

// IsPythonWarning reports whether a text begins with a warning of Python: /app/shop.py:3: DeprecationWarning: old is deprecated.
func IsPythonWarning(text []byte) bool {
	text, _, _ = bytes.Cut(text[:min(len(text), maxColumn)], []byte("\n"))
	i := bytes.Index(text, []byte(".py:"))
	if i <= 0 || bytes.IndexByte(text[:i], ' ') >= 0 {
		return false
	}
	class, _, found := bytes.Cut(bytes.TrimLeft(text[i+len(".py:"):], "0123456789"), []byte("Warning: "))
	return found && bytes.HasPrefix(class, []byte(": ")) && bytes.IndexByte(class[2:], ' ') < 0
}

// byFirst finds the level in formats that the first byte tells apart. A line that begins with a digit is longer than
// "2026-11-20 15:04:05.123 ", and probably begins with such a time.
func (f *finding) byFirst(line []byte) {
	switch c := line[0]; {
	case c == '[':
		f.php(line)
		switch {
		case bytes.HasPrefix(line, []byte("[ Info: ")): // Julia
			f.level = record.Info
		case !f.found || f.level != record.None:
		case f.order != orderUnknown:
			f.webSphere(line)
		case line[1]-'0' <= 9 && len(line) > len("[4242]{") && line[5] != '-' && line[5] != '/':
			f.hana(line)
		}
	case c == "┌"[0]:
		f.box(line)
	case c == '=': // =ERROR REPORT==== of Erlang, ==4711==ERROR: of sanitizers
		word := bytes.TrimLeft(line, "=0123456789\r\n")
		switch kind := word[:wordEnd(word, 0)]; string(kind) {
		case "CRASH", "SUPERVISOR":
			f.level = record.Error
		case "PROGRESS":
			f.level = record.Info
		default:
			f.level = groupWord(kind)
		}
	case !f.found:
		f.withoutTime(line)
	case c|0x20-'a' < 26:
		f.secondLine(line)
		if isWeekday(line) {
			f.puppet(line)
		}
	case c-'0' <= 9 && line[10] == '-':
		f.db2(line)
	case c-'0' <= 9:
		if f.behindTime(line); f.level == record.None {
			f.level = postgresSeverity(line[:min(len(line), maxColumn)])
		}
		if f.level == record.None &&
			bytes.Contains(line[:min(len(line), maxColumn)], []byte("] *** Terminating app due to uncaught exception ")) {
			f.level = record.Error
		}
	}
}

// box takes the level from the first word of a message in a box, as Julia and Terraform draw it, ┌ Warning: slow, or between thin blanks,
// whose first byte is the same.
func (f *finding) box(line []byte) {
	if rest, found := bytes.CutPrefix(line, []byte("╷")); found {
		line = bytes.TrimLeft(rest, "\r\n")
	}
	for _, side := range [...]string{"┌ ", "│ "} {
		if rest, found := bytes.CutPrefix(line, []byte(side)); found {
			if end := wordEnd(rest, 0); end < len(rest) && rest[end] == ':' {
				f.level = groupWord(rest[:end])
			}
			return
		}
	}
	f.level = pnpmLevel(line[:min(len(line), maxColumn)])
}

// secondLine takes the level from the second line of a record of java.util.logging:
//
//	Nov 20, 2026 3:04:05 PM shop.Orders place
//	SEVERE: order failed
func (f *finding) secondLine(line []byte) {
	start := bytes.IndexByte(line[:min(len(line), 256)], '\n') + 1
	if start == 0 || start == len(line) {
		return
	}
	if end := wordEnd(line, start); end < len(line) && line[end] == ':' && line[start]-'A' < 26 {
		f.level = record.LevelFromAlias(line[start:end])
	}
	if f.level == record.None {
		f.level, _ = localLevelAt(line, start)
	}
}

// webSphere takes the level from the letter behind thread and component: [11/20/26 15:04:05:123 CET] 0000000a SystemOut     I   text.
func (f *finding) webSphere(line []byte) {
	const thread = len("] 0000000a ")
	i := bytes.IndexByte(line[:min(len(line), maxColumn)], ']')
	if i < 0 || len(line) < i+thread+4 || line[i+1] != ' ' || line[i+thread-1] != ' ' {
		return
	}
	for _, c := range line[i+2 : i+thread-1] {
		if c-'0' > 9 && c-'a' >= 6 {
			return
		}
	}
	rest := line[i+thread:]
	gap := bytes.IndexByte(rest[:min(len(rest), maxColumn)], ' ')
	if gap < 0 {
		return
	}
	if rest = bytes.TrimLeft(rest[gap:], " "); len(rest) < 2 || rest[1] != ' ' {
		return
	}
	switch rest[0] {
	case 'A', 'O': // audit, standard output
		f.level = record.Info
	case 'C': // configuration
		f.level = record.Debug
	default:
		f.level = letterLevel(rest[0])
	}
}

// db2 takes the level from the head of a record of DB2: 2026-11-20-15.04.05.123456+060 I1234E567  LEVEL: Error.
func (f *finding) db2(line []byte) {
	const time, label = len("2026-11-20-15.04.05"), " LEVEL: "
	if line[13] != '.' {
		return
	}
	line = line[time:min(len(line), maxColumn)]
	if i := bytes.Index(line, []byte(label)); i > 0 {
		i += len(label)
		f.level = groupWord(line[i:wordEnd(line, i)])
	}
}

// hana takes the level from the letter of SAP HANA: [4242]{-1}[-1/-1] 2026-11-20 15:04:05.123456 e Basis  Timer.cpp(00123) : text.
func (f *finding) hana(line []byte) {
	const behind = "] 2026-11-20 15:04:05.123456 e "
	if !bytes.Contains(line[:min(len(line), 16)], []byte("]{")) {
		return
	}
	i := bytes.Index(line[:min(len(line), maxColumn)], []byte("] "))
	if at := i + len(behind) - 2; i > 0 && len(line) > at+1 && line[at-1] == ' ' && line[at+1] == ' ' {
		f.level = letterLevel(line[at] &^ 0x20)
	}
}

// IsPostgresCSV reports whether a line begins like PostgreSQL's csvlog: 2026-11-20 15:04:05.123 UTC,"shop","orders",4711.
func IsPostgresCSV(line []byte) bool {
	const clock = len("2026-11-20 15:04:05.123")
	return len(line) >= clock+40 && line[4] == '-' && line[clock] == ' ' && bytes.IndexByte(line[clock+1:clock+8], ',') >= 0
}

// postgresColumn takes the level from the twelfth column of PostgreSQL's csvlog.
func (f *finding) postgresColumn(line []byte) {
	const column = 11
	if !IsPostgresCSV(line) {
		return
	}
	i := 0
	for range column {
		for quoted := false; i < len(line) && (quoted || line[i] != ','); i++ {
			if line[i] == '"' {
				quoted = !quoted
			}
		}
		if i++; i >= len(line) {
			return
		}
	}
	if end := wordEnd(line, i); end < len(line) && line[end] == ',' {
		f.level = groupWord(line[i:end])
	}
}

// php takes the level from what PHP writes to its error log, [20-Nov-2026 15:04:05 UTC] PHP Fatal error:  Uncaught …, and to
// standard output: Fatal error: Uncaught ….
func (f *finding) php(line []byte) {
	at := 0
	if line[0] == '[' {
		at = bytes.IndexByte(line[:min(len(line), maxColumn)], ']') + len("] ")
	}
	if len(line) <= at {
		return
	}
	rest, ok := bytes.CutPrefix(line[at:min(len(line), at+maxColumn)], []byte("PHP "))
	kind, _, found := bytes.Cut(rest, []byte(": "))
	if !found || !ok && at > 0 { // without PHP on standard output
		return
	}
	switch string(kind) {
	case "Fatal error", "Parse error", "Recoverable fatal error", "Core error", "Compile error":
		f.level = record.Error
	case "Warning", "Core warning", "Compile warning", "Deprecated", "User Warning":
		f.level = record.Warn
	case "Notice", "Strict Standards":
		f.level = record.Info
	}
}

// clockLevel returns the level in brackets with a clock and a level, as of Serilog: [15:04:05 ERR].
func clockLevel(b []byte) record.Level {
	_, _, end := clockAt(b, 0)
	if end == 0 || end == len(b) || b[end] != ' ' {
		return record.None
	}
	word := trimSpace(b[end:])
	if len(word) == 1 {
		return oneLetter(word[0])
	}
	return groupWord(word)
}

// redisLevel returns the level for the mark behind the time b[start:end] in Redis' format:
// 1234:M 20 Nov 2026 15:04:05.123 * Ready to accept connections.
func redisLevel(b []byte, start, end int) record.Level {
	if start < len("1:M ") || b[start-1] != ' ' || b[start-3] != ':' || b[start-4]-'0' > 9 ||
		len(b) < end+2 || b[end] != ' ' || len(b) > end+2 && b[end+2] != ' ' {
		return record.None
	}
	switch b[start-2] {
	case 'M', 'S', 'C', 'X': // master, replica, child, sentinel
	default:
		return record.None
	}
	switch b[end+1] {
	case '.', '-': // debug, verbose
		return record.Debug
	case '*': // notice
		return record.Info
	case '#':
		return record.Warn
	}
	return record.None
}

// bgl takes the level, and the time if it was not found, from the columns of Blue Gene/L: label, epoch,
// date, node, time, node, type, component, level, message.
//
//	KERNDTLB 1117838570 2005.06.03 R02-M1 2005-06-03-15.42.50.363779 R02-M1 RAS KERNEL FATAL data TLB error
func (f *finding) bgl(b []byte) {
	const labelled, times = 32, len(" 1117838570 2005.06.03 ")
	i := bytes.IndexByte(b[:min(len(b), labelled)], ' ')
	if i <= 0 || len(b) < i+times || b[i+11] != ' ' || b[i+16] != '.' || b[i+19] != '.' || b[i+22] != ' ' {
		return
	}
	var column [6][]byte // node, time, node, type, component, level
	rest := b[i+times:]
	for k := range column {
		n := bytes.IndexByte(rest, ' ')
		if n <= 0 {
			return
		}
		column[k], rest = rest[:n], rest[n+1:]
	}
	const clock = "2005-06-03-15.42.50.363779"
	if t := column[1]; len(t) != len(clock) || t[10] != '-' || t[13] != '.' || t[16] != '.' || t[19] != '.' || string(column[3]) != "RAS" {
		return
	}
	level := record.LevelFromAlias(column[5])
	if string(column[5]) == "FAILURE" { // above FATAL
		level = record.Fatal
	}
	if level == record.None {
		return
	}
	f.level = level
	if f.found {
		return
	}
	if m, n := epochText(b[i+1:]); n > 0 {
		f.setTime(m)
	}
}
