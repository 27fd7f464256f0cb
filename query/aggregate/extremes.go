package aggregate

import (
	"logstow/exact"
	"logstow/internal/wire"
)

// extreme is the least or the greatest number of a field, in a slot.
type extreme struct{ greatest bool }

func (extreme) size() int { return slotSize }

func (s extreme) add(m *memory, b []byte, in *input, i int) {
	if in.isNum[i] {
		s.number(m, b, in.numbers[i])
	}
}

// number replaces the number if v is less, or greater.
func (s extreme) number(m *memory, b []byte, v exact.Number) {
	if slot := m.slot(b); slot != nil {
		if now, _, err := exact.Decode(slot); err == nil {
			if c := v.Compare(now); c == 0 || c > 0 != s.greatest {
				return
			}
		}
	}
	var scratch [24]byte
	m.setSlot(b, v.Encode(scratch[:0]))
}

func (s extreme) addBatch(m *memory, b []byte, in *batchInput) {
	in.eachEntry(func(v exact.Number, _ uint32) { s.number(m, b, v) })
	if len(in.found.Numbers) > 0 {
		v := in.low
		if s.greatest {
			v = in.high
		}
		s.number(m, b, exact.FromScaled(v, in.page.Numbers.Scale))
	}
}

func (extreme) encode(m *memory, dst, b []byte) []byte { return m.encodeSlot(dst, b) }

func (s extreme) merge(m *memory, b []byte, r *wire.Reader) {
	other := r.Text()
	if len(other) == 0 {
		return
	}
	n, rest, err := exact.Decode(other)
	if err != nil || len(rest) > 0 {
		r.Fail()
		return
	}
	s.number(m, b, n)
}

func extremeOf(in *outcome) Value {
	if slot := in.m.slot(in.b); slot != nil {
		if n, _, err := exact.Decode(slot); err == nil {
			return numberValue(n)
		}
	}
	return Value{}
}
