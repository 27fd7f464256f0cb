package recognize

import (
	"bytes"

	"logstow/internal/jsontext"
	"logstow/record"
)

// shape is how the JSON objects of a program begin: with the same text around a time and a level,
// both strings. Of an object of that shape only those two are read. The results are those of
// reading it member by member.
type shape struct {
	// before is the text before each of the two, from its quote back to the quote of the other or
	// the start of the object; empty if no shape is known.
	before [2][]byte
	// level is which of the two is the level.
	level int
}

// maxShape is the length limit of the two texts.
const maxShape = 128

// learn takes the shape of an object whose time and level begin at these offsets, 0 if it has none.
func (s *shape) learn(object []byte, time, level int) {
	if time == 0 || object[time] != '"' || level == 0 || object[level] != '"' {
		return
	}
	first, second, last := time, level, 1
	if level < time {
		first, second, last = level, time, 0
	}
	first, second = first+1, second+1 // behind the quotes
	end := jsontext.StringEnd(object, first)
	if first+second-end > maxShape {
		return
	}
	s.before[0] = append(s.before[0][:0], object[:first]...)
	s.before[1] = append(s.before[1][:0], object[end:second]...)
	s.level = last
}

// read takes the time and the level of an object of the shape into f, which has neither. It
// reports false if the object must be read member by member.
func (s *shape) read(f *finding, object []byte) bool {
	b, level := object, record.None
	for i, text := range &s.before {
		if len(text) == 0 || !bytes.HasPrefix(b, text) {
			return false
		}
		b = b[len(text):]
		n := 0
		if i == s.level {
			n = wordEnd(b, 0)
			level = levelValue(fieldLevel, b[:n], false)
		} else if n = f.minute.moment(&f.moment, b, true); f.layout != layoutISO { // others may read past the quote
			return false
		}
		if n == 0 || n >= len(b) || b[n] != '"' {
			return false
		}
		b = b[n:]
	}
	f.found, f.level = level != record.None, level
	return f.found
}
