package recognize

import (
	"bytes"

	"logstow/record"
)

// minUnusual is the length of the shortest line in which unusual finds a time.
const minUnusual = len("1,2026/11/20 15:04:05")

// mayBeUnusual reports whether lines in which unusual finds a time begin with a byte: a number, a level, a bracket, or a blank.
func mayBeUnusual(c byte) bool {
	return c-'0' <= 9 || c == '[' || c == ' ' || c == 'I' || c == 'W' || c == 'E' || c == 'C'
}

// unusual finds the time behind columns that no blank ends. It is for lines in which no other is found.
func (f *finding) unusual(b []byte) {
	if b[0] == '[' {
		if b[1]-'0' <= 9 {
			f.chromium(b)
		} else {
			f.couchbase(b)
		}
		return
	}
	const maxFirst = 32
	i := 0
	for i < len(b) && b[i] == ' ' {
		i++
	}
	for start := i; i < min(len(b), start+maxFirst); i++ {
		switch c := b[i]; {
		case c == ',' || c == ';':
			f.secondColumn(b, start, i+1)
			return
		case c == ':':
			if i > start && digitsEnd(b, start) == i {
				f.zabbix(b, i+1)
			}
			return
		case c-'0' > 9 && c|0x20-'a' >= 26 && c != '.' && c != '_' && c != '-':
			return
		}
	}
}

// secondColumn takes a time from the second column, at b[i], of separated columns, the first of which may be a level:
// 1,2026/11/20 15:04:05,007051000012345. Date and clock may be two columns.
func (f *finding) secondColumn(b []byte, start, i int) {
	if i >= len(b) || b[i]-'0' > 9 {
		return
	}
	m, n := parseMoment(b[i:], false, f.minute.known)
	if n == 0 {
		if m, n = dateAndClock(b[i:], f.minute.known); n == 0 {
			return
		}
	}
	f.setTime(m)
	if f.level == record.None {
		f.level = groupWord(b[start : i-1])
	}
}

// dateAndClock reads 11/20/26,15:04:05.
func dateAndClock(b []byte, known hints) (moment, int) {
	var text [32]byte
	n := copy(text[:], b)
	comma := bytes.IndexByte(text[:n], ',')
	if comma < 0 {
		return moment{}, 0
	}
	text[comma] = ' '
	return parseMoment(text[:n], false, known)
}

// zabbix reads a time at b[i] behind a process: 4242:20261120:150405.123 server #0 started.
func (f *finding) zabbix(b []byte, i int) {
	if len(b) < i+len("20261120:150405.123 ") || b[i+8] != ':' || b[i+15] != '.' {
		return
	}
	if m, n := onDayDigits(b, i+9, four(b, i), two(b, i+4), two(b, i+6)); n > 0 {
		f.setTime(m)
	}
}

// couchbase reads [ns_server:error,2026-11-20T15:04:05.123Z,ns_1@127.0.0.1:ns_log<0.1.0>:ns_log:log:7]text.
func (f *finding) couchbase(b []byte) {
	const maxNames = 40
	comma := bytes.IndexByte(b[:min(len(b), maxNames)], ',')
	if colon := bytes.IndexByte(b[:max(comma, 0)], ':'); colon > 0 {
		f.secondColumn(b, colon+1, comma+1)
	}
}

// chromium reads [4242:4242:1120/150405.123456:ERROR:bus.cc(399)], also without the process and the thread.
func (f *finding) chromium(b []byte) {
	end := groupEnd(b, 0)
	slash := bytes.IndexByte(b[:max(end, 0)], '/')
	const short = len("[1120")
	if slash < short || slash > short && b[slash-5] != ':' || end < slash+len("/150405.1:") {
		return
	}
	at := b[slash+1 : end-1]
	second, nano, ok := ofDay(two(at, 0), two(at, 2), two(at, 4))
	nano, i := fraction(at, 6, nano)
	if !ok || i >= len(at) || at[i] != ':' {
		return
	}
	if m, n := withoutYearAt(at, i, two(b, slash-4), two(b, slash-2), second, nano); n > 0 {
		f.setTime(m)
		if f.level == record.None {
			f.level = groupWord(at[i+1 : wordEnd(at, i+1)])
		}
	}
}

// bracesEnd returns the end of braces at b[i] that are no object of JSON: {}, {ERROR}, {task.py:7}, {40 vars}; otherwise -1.
func bracesEnd(b []byte, i int) int {
	for k := i + 1; k < min(len(b), i+maxColumn); k++ {
		switch b[k] {
		case '}':
			return k + 1
		case '"', '{', '\n':
			return -1
		}
	}
	return -1
}

// topicsLevel returns the highest level in a list of topics of RouterOS: system,error,critical login failure.
func topicsLevel(b []byte) record.Level {
	highest, topics := record.None, 0
	for i := 0; ; topics++ {
		end := i
		for end < len(b) && (b[end]-'a' < 26 || b[end] == '-') {
			end++
		}
		if end == i || end == len(b) || end > maxColumn {
			return record.None
		}
		if topic := b[i:end]; isLowerLevel(topic) {
			if topics == 0 { // the first one is never a level
				return record.None
			}
			highest = max(highest, record.LevelFromAlias(topic))
		}
		if b[end] != ',' {
			if topics == 0 || b[end] != ' ' && b[end] != ':' {
				return record.None
			}
			return highest
		}
		i = end + 1
	}
}

// microseconds reads the microseconds that OpenVPN writes behind the time, us=123456, in nanoseconds.
func microseconds(b []byte) int32 {
	const name, digits = "us=", 6
	end := digitsEnd(b, min(len(name), len(b)))
	if !bytes.HasPrefix(b, []byte(name)) || end == len(name) || end > len(name)+digits || !ends(b, end) {
		return 0
	}
	n := int32(0)
	for _, c := range b[len(name):end] {
		n = n*10 + int32(c-'0')
	}
	return n * 1000
}

// codeEnd returns the end of the code of a compiler's message at b[i], capitals and digits such as TS2322; i if there is none.
func codeEnd(b []byte, i int) int {
	const maxLetters, maxDigits = 6, 6
	k := i
	for k < len(b) && b[k]-'A' < 26 {
		k++
	}
	end := digitsEnd(b, k)
	if k == i || k > i+maxLetters || end == k || end > k+maxDigits {
		return i
	}
	return end
}

// codeAt reports whether such a code or the name of a rule, and a colon, stand at b[i]: error CS1002: ; expected.
func codeAt(b []byte, i int) bool {
	end := codeEnd(b, i)
	if end == i {
		end = ruleEnd(b, i)
	}
	return end > i && end < len(b) && b[end] == ':'
}

// ruleEnd returns the end of the name of a rule of a linter at b[i], words in lower case such as no-unused-params; i if there is none.
func ruleEnd(b []byte, i int) int {
	const longest = 48
	end, dashes := i, 0
	for end < min(len(b), i+longest) && (b[end]-'a' < 26 || b[end] == '-' && end > i) {
		if b[end] == '-' {
			dashes++
		}
		end++
	}
	if dashes == 0 {
		return i
	}
	return end
}

// alarmLevel returns the level for a severity of an alarm (X.733), as network devices write it: MINOR:.
func alarmLevel(word []byte) record.Level {
	switch string(word) {
	case "MAJOR":
		return record.Error
	case "MINOR":
		return record.Warn
	case "CLEARED":
		return record.Info
	}
	return record.None
}

// inBrackets reports whether the letter at b[i] stands behind a time in brackets, which two numbers end.
func inBrackets(b []byte, i int) bool {
	for i++; i < len(b) && b[i] == ' '; {
		end := digitsEnd(b, i+1)
		if end == i+1 || end == len(b) {
			return false
		}
		if i = end; b[i] == ']' {
			return true
		}
	}
	return false
}

// isUnified reports whether the letter at b[i] is the type of a record of macOS in its compact style: E  Finder[4242:1a2b3] text.
func isUnified(b []byte, i int) bool {
	if c := b[i]; c != 'E' && c != 'I' && c != 'F' || b[i+1] != ' ' || b[i+2] != ' ' {
		return false
	}
	return isProcess(column(b[i+3:]))
}

// isProcess reports whether a column is a process of macOS with the number of a thread: Finder[4242:1a2b3].
func isProcess(column []byte) bool {
	open := bytes.LastIndexByte(column, '[')
	if open <= 0 || column[len(column)-1] != ']' {
		return false
	}
	end := digitsEnd(column, open+1)
	return end > open+1 && column[end] == ':' && end+2 < len(column)
}

// isLoggerName reports whether a column is the name of a logger with two points at least.
func isLoggerName(column []byte) bool {
	for _, c := range column {
		if c != '.' && c|0x20-'a' >= 26 && c-'0' > 9 && c != '_' {
			return false
		}
	}
	return bytes.Count(column, []byte{'.'}) > 1 && column[0]-'a' < 26
}

// klog reads I1120 15:04:05.123456 and glog's later I20261120 15:04:05.123456.
func klog(b []byte) (moment, int) {
	var level record.Level
	switch b[0] {
	case 'I':
		level = record.Info
	case 'W':
		level = record.Warn
	case 'E':
		level = record.Error
	case 'F':
		level = record.Fatal
	default:
		return moment{}, 0
	}
	const unzoned = "0000 00:00:" // seconds since 1970 follow: of Abseil before it knows the zone
	var m moment
	var n int
	switch {
	case len(b) > len(unzoned) && string(b[1:1+len(unzoned)]) == unzoned:
		if m, n = epochText(b[1+len(unzoned):]); n > 0 {
			n += 1 + len(unzoned)
		}
	case len(b) >= 14 && b[5] == ' ':
		m, n = withoutYear(b, 6, two(b, 1), two(b, 3))
	case len(b) >= 16 && b[7] == ' ': // CockroachDB's
		m, n = onDay(b, 8, shortYear(two(b, 1)), two(b, 3), two(b, 5))
	case len(b) >= 18 && b[9] == ' ':
		m, n = onDay(b, 10, four(b, 1), two(b, 5), two(b, 7))
	}
	m.level = level
	return m, n
}
