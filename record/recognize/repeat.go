package recognize

import (
	"strings"

	"logstow/record"
)

// The zones that exist differ from UTC by at most maxOffset seconds, a multiple of zoneStep.
const (
	maxOffset = 14 * 3600
	zoneStep  = 15 * 60
)

// Repeats reports whether a member of a JSON message, or a logfmt pair, only repeats the time (Unix
// nanoseconds) or the level of its record, so that a reader who sees those misses nothing: a time
// to the last digit, where one without a zone may be of any; a level by its own name or a short
// form of it (warning, WRN, w, 40), not by another word (notice). The value is as written, quotes
// included.
func (r *Recognizer) Repeats(name, value []byte, t int64, level record.Level) bool {
	if len(value) == 0 || value[0] == '{' {
		return false
	}
	switch kind := fieldOf(name); kind {
	case fieldTime:
		return r.repeatsTime(name, value, t)
	case fieldLevel, fieldPython:
		text := trimSpace(unquoted(value))
		if level == record.None || levelValue(kind, text, false) != level {
			return false
		}
		if text[0]-'0' <= 9 {
			return text[len(text)-1] == '0' // 30; 35 is one of its own
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
	if f.month != 0 { // no year: that of the record, or the one before in another zone
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

// isShortFor reports whether a word in upper case is a level's name with letters left out (WRN), or
// continues it (WARNING, INFORMATION).
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
