package recognize

import (
	"logstow/message"
	"logstow/record"
)

// pairs reads the logfmt pairs at the start of b until time and level are found, and returns their end.
func (f *finding) pairs(b []byte) (i int) {
	f.minute.apart = apart{}
	for !f.found || f.level == record.None {
		for i < len(b) && b[i] <= ' ' {
			i++
		}
		if i == len(b) {
			break
		}
		pair := message.PairAt(b, i)
		if pair.Value == nil || !message.IsPairName(pair.Name) {
			break
		}
		value := pair.Value
		if !pair.Quoted {
			value = pair.Text()
		}
		f.field(fieldOf(pair.Name), pair.Name, value)
		i = pair.End
	}
	f.wrapped = nil // only JSON wraps lines
	f.timeOfParts()
	f.statusLevel()
	return i
}
