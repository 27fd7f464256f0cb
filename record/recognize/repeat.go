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
	if !f.found {
		return false
	}
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
	return offset == 0 || !f.utc && offset%zoneStep == 0 && -maxOffset <= offset && offset <= maxOffset
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
