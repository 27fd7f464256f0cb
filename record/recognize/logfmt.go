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
		kind := fieldOf(pair.Name)
		f.field(kind, pair.Name, value)
		i = pair.End
		if kind == fieldTime && !pair.Quoted && !f.found { // time=2026-11-20 15:04:05
			i += f.restOfTime(b, i-len(pair.Value), i)
		}
	}
	f.wrapped = nil // only JSON wraps lines
	f.timeOfParts()
	f.statusLevel()
	return i
}

// restOfTime takes the time from an unquoted value with blanks at b[start], and returns how much of it stands behind b[end].
func (f *finding) restOfTime(b []byte, start, end int) int {
	n := f.minute.moment(&f.moment, b[start:], true)
	if start+n <= end || f.layout == layoutClock {
		return 0
	}
	f.timeSet()
	return start + n - end
}
