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
	if f.level == record.None && f.gateway {
		f.level = statusLevel(f.properties)
	}
	if f.level == record.None {
		f.level = f.impliedLevel
	}
}
