package recognize

import (
	"bytes"

	"logstow/message"
	"logstow/record"
)

// shape caches how the JSON objects of a program begin: with the same text before and between a time and
// a level, which are both strings. In an object of that shape, only those two are read. The results are
// the same as if its members were read one by one.
type shape struct {
	// before has the text from the start of the object to the first of the two values, and the text
	// between the two; empty if no shape is known.
	before [2][]byte
	// level is the index of the level: 0 or 1.
	level int
}

// maxShape is the length limit of the two texts.
const maxShape = 128

// learn takes the shape of an object. time and level are the offsets of its time and level, 0 if it has none.
func (s *shape) learn(object []byte, time, level int) {
	if time == 0 || object[time] != '"' || level == 0 || object[level] != '"' {
		return
	}
	first, second, last := time, level, 1
	if level < time {
		first, second, last = level, time, 0
	}
	first, second = first+1, second+1 // behind the quotes
	end := message.StringEnd(object, first)
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
