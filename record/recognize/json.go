package recognize

import (
	"logstow/message"
	"logstow/record"
)

// object reads the JSON object at the start of b, at its top level, until time
// and level are found.
func (f *finding) object(b []byte) {
	f.minute.apart = apart{}
	var timeAt, levelAt int // offsets of the values from which time and level were taken
	m := message.Object(b)
	for first := true; !f.found || f.level == record.None; first = false {
		name, value, ok := m.Next()
		if !ok {
			break
		}
		if first && string(name) == "body" { // elsewhere it is more likely that of a request
			f.wrap(value)
		}
		kind := fieldOf(name)
		if kind == fieldOther {
			continue
		}
		found, level := f.found, f.level
		f.field(kind, name, value)
		switch {
		case kind == fieldTime && f.found != found:
			timeAt = m.Offset() - len(value)
		case kind == fieldLevel && f.level != level:
			levelAt = m.Offset() - len(value)
		}
	}
	f.timeOfParts()
	f.shape.learn(b, timeAt, levelAt)
	if f.level == record.None && f.resource && f.properties != nil {
		f.ofProperties()
	}
	if f.level == record.None {
		f.level = f.impliedLevel
	}
	f.statusLevel()
}

// loguru takes time and level from the member "record" of Python's loguru: {"level":{"name":"ERROR","no":40},
// "time":{"repr":"…","timestamp":1795187045.25}}.
func (f *finding) loguru(value []byte) {
	m := message.Object(value)
	for name, value, ok := m.Next(); ok; name, value, ok = m.Next() {
		if string(name) == "level" && f.level == record.None {
			if text := member(value, "name"); len(text) > 1 {
				f.level = levelValue(fieldLevel, text, false)
			}
		}
		if string(name) == "time" && !f.found {
			if t, ok := epochNumber(member(value, "timestamp")); ok {
				f.setTime(t)
			}
		}
	}
}

// member returns the value of a member of an object, empty if there is none.
func member(object []byte, wanted string) []byte {
	m := message.Object(object)
	for name, value, ok := m.Next(); ok; name, value, ok = m.Next() {
		if string(name) == wanted {
			return message.Unquoted(value)
		}
	}
	return nil
}
