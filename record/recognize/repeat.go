package recognize

import (
	"strings"

	"logstow/message"
	"logstow/record"
)

// Time zones differ from UTC by at most maxOffset seconds, in multiples of zoneStep seconds.
const (
	maxOffset = 14 * 3600
	zoneStep  = 15 * 60
)

// Repeats reports whether a member of a JSON message, or a logfmt pair, only repeats the time t (Unix
// nanoseconds) or the level of its record, so that it adds nothing for a reader who sees those. A time
// must be equal to the last digit; without a zone it may be in any zone. A level must have its own name
// or a form of it (warning, WRN, w, 40), and not another word (notice). value is as written, including
// quotes.
func (r *Recognizer) Repeats(name, value []byte, t int64, level record.Level) bool {
	if len(value) == 0 || value[0] == '{' {
		return false
	}
	switch kind := fieldOf(name); kind {
	case fieldTime:
		return r.repeatsTime(name, value, t)
	case fieldLevel, fieldPython, fieldInsights:
		text := trimSpace(message.Unquoted(value))
		if level == record.None || levelValue(kind, text, false) != level {
			return false
		}
		if text[0]-'0' <= 9 {
			return kind == fieldInsights || text[len(text)-1] == '0' // 30; 35 is another level
		}
		return isShortFor(strings.ToUpper(string(text)), level.String())
	}
	return false
}

func (r *Recognizer) repeatsTime(name, value []byte, t int64) bool {
	f := finding{minute: &r.minute}
	f.timeValue(name, value)
	return f.found && f.isAt(t)
}

// isAt reports whether the time found is t, in Unix nanoseconds, in its zone or, without one, in any.
func (f *finding) isAt(t int64) bool {
	if f.month != 0 { // without a year: it gets that of the record, or in another zone the one before
		utc := newClock(nil)
		f.second = utc.unix(&f.moment, t)
	}
	second, nano := t/nanosPerSecond, t%nanosPerSecond
	if nano < 0 {
		second, nano = second-1, nano+nanosPerSecond
	}
	if int64(f.nano) != nano {
		return false
	}
	offset := f.second - second
	if f.layout == layoutClock { // of some day
		return offset%zoneStep == 0
	}
	return offset == 0 || !f.utc && offset%zoneStep == 0 && -maxOffset <= offset && offset <= maxOffset
}

// RepeatedStart returns the length of what a line begins with that only repeats the time t (Unix nanoseconds) and the level of its
// record, in this or the other order, with brackets around them and the separators behind them; 0 if there is nothing of that. Times
// and levels are compared as by [Recognizer.Repeats].
func (r *Recognizer) RepeatedStart(line []byte, t int64, level record.Level) int {
	f := finding{minute: &r.minute}
	hasLevel, fence := level == record.None, byte(0)
	end := 0
	for n := range 2 {
		next := 0
		if !f.found {
			next = f.repeatedTime(line, end, t, level)
			hasLevel = hasLevel || next > 0 && f.level != record.None
		}
		if next == 0 && !hasLevel {
			next = f.repeatedLevel(line, end, n, fence, level)
			hasLevel = next > 0
		}
		if next == 0 {
			break
		}
		end, fence = startSeparators(line, next)
	}
	return end
}

// repeatedTime returns the end of the time at line[i], which may be in brackets, 0 if it is not t.
func (f *finding) repeatedTime(line []byte, i int, t int64, level record.Level) int {
	start, closing := i, byte(0)
	if i < len(line) && (line[i] == '[' || line[i] == '(') {
		closing = ']'
		if line[i] == '(' {
			closing = ')'
		}
		start++
	}
	n := 0
	if start < len(line) {
		n = f.minute.moment(&f.moment, line[start:], true)
	}
	end := start + n
	if n == 0 || f.moment.level != record.None && f.moment.level != level || !f.isAt(t) {
		return 0
	}
	if closing != 0 {
		if end == len(line) || line[end] != closing {
			return 0
		}
		end++
	}
	if !isSeparated(line, end) {
		return 0
	}
	f.timeSet()
	return end
}

// repeatedLevel returns the end of the level at line[i], which may be in brackets, 0 if it is another one. It is the n-th column, and
// follows the separator fence.
func (f *finding) repeatedLevel(line []byte, i, n int, fence byte, level record.Level) int {
	if i == len(line) {
		return 0
	}
	var word []byte
	end := 0
	if line[i] == '[' || line[i] == '(' || line[i] == '<' {
		if end = groupEnd(line, i); end < 0 {
			return 0
		}
		if word = trimSpace(line[i+1 : end-1]); groupWord(word) != level {
			return 0
		}
	} else {
		token := scanToken(line, i)
		var found record.Level
		if found, end = f.levelAt(line, &token, n, fence); found != level {
			return 0
		}
		word = line[i:end]
	}
	if wordEnd(word, 0) != len(word) || !isShortFor(strings.ToUpper(string(word)), level.String()) || !isSeparated(line, end) {
		return 0
	}
	return end
}

// isSeparated reports whether a column may end before line[i].
func isSeparated(line []byte, i int) bool {
	if i == len(line) {
		return true
	}
	switch line[i] {
	case ' ', '\t', ':', '|', ',':
		return true
	case '[', '(':
		return line[i-1] == ']' || line[i-1] == ')'
	}
	return false
}

// startSeparators skips blanks and one separator at line[i], and returns it.
func startSeparators(line []byte, i int) (end int, fence byte) {
	for ; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\t' && fence == 0:
			fence = c
		case c == ' ' || c == '\t':
		case fence == 0 && (c == ':' || c == '|' || c == ',' || c == '-' && i+1 < len(line) && line[i+1] == ' '):
			fence = c
		default:
			return i, fence
		}
	}
	return i, fence
}

// isShortFor reports whether a word in upper case is a level's name without some letters (WRN), or begins
// with it (WARNING, INFORMATION).
func isShortFor(word, name string) bool {
	if strings.HasPrefix(word, name) {
		return true
	}
	if word[0] != name[0] {
		return false
	}
	for i := range len(name) {
		if word != "" && word[0] == name[i] {
			word = word[1:]
		}
	}
	return word == ""
}
