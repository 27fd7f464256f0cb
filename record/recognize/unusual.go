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
	m, n := parseMoment(b[i:], false, f.minute.order)
	if n == 0 {
		if m, n = dateAndClock(b[i:], f.minute.order); n == 0 {
			return
		}
	}
	f.setTime(m)
	if f.level == record.None {
		f.level = groupWord(b[start : i-1])
	}
}

// dateAndClock reads 11/20/26,15:04:05.
func dateAndClock(b []byte, order dateOrder) (moment, int) {
	var text [32]byte
	n := copy(text[:], b)
	comma := bytes.IndexByte(text[:n], ',')
	if comma < 0 {
		return moment{}, 0
	}
	text[comma] = ' '
	return parseMoment(text[:n], false, order)
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

// chromium reads [4242:4242:1120/150405.123456:ERROR:bus.cc(399)].
func (f *finding) chromium(b []byte) {
	end := groupEnd(b, 0)
	slash := bytes.IndexByte(b[:max(end, 0)], '/')
	if slash < len("[1:1:1120") || b[slash-5] != ':' || end < slash+len("/150405.1:") {
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

// cupsTime reports whether behind the letter that ends at b[i] a time stands: E [20/Nov/2026:15:04:05 +0100], or ProCurve's W 11/20/26 15:04:05.
func cupsTime(b []byte, i int) bool {
	return len(b) > i+len(" [20/Nov/2026:15:04:05") && b[i] == ' ' &&
		(b[i+1] == '[' && b[i+4] == '/' && b[i+8] == '/' || b[i+3] == '/' && b[i+6] == '/' && b[i+9] == ' ')
}

// monthDashed reads Nov-20 15:04:05.123 of Nextflow and nov/20/2026 15:04:05 of RouterOS.
func monthDashed(b []byte) (moment, int) {
	month := monthOf(b)
	switch {
	case month == 0 || len(b) < len("Nov-20 15:04:05"):
	case b[3] == '-' && b[6] == ' ':
		return withoutYear(b, 7, month, two(b, 4))
	case b[3] == '/' && b[6] == '/' && b[11] == ' ':
		return onDay(b, 12, four(b, 7), month, two(b, 4))
	}
	return moment{}, 0
}

// cupsLevel returns the level for the letter of CUPS.
func cupsLevel(c byte) record.Level {
	switch c {
	case 'X':
		return record.Fatal
	case 'd':
		return record.Debug
	}
	return letterLevel(c)
}
