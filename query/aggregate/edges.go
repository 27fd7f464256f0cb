package aggregate

import (
	"bytes"
	"encoding/binary"

	"logstow/internal/wire"
	"logstow/message"
)

// edge is the value of a field in the first or the last record that has one, in a slot.
type edge struct{ last bool }

func (edge) size() int { return slotSize }

func (s edge) add(m *memory, b []byte, in *input, i int) {
	v := in.Values[i]
	if !isPresent(v) {
		return
	}
	if slot := m.slot(b); slot != nil {
		if at := int64(binary.LittleEndian.Uint64(slot)); at != in.Time && in.Time > at != s.last {
			return
		}
	}
	in.scratch = appendEdge(in.scratch[:0], in.Time, in.Sequence, byte(v.Kind), v.Text)
	s.put(m, b, in.scratch)
}

// put stores an encoded value if its record is before the one that is stored, or after it.
func (s edge) put(m *memory, b, encoded []byte) {
	if slot := m.slot(b); slot == nil || compareEdges(encoded, slot) > 0 == s.last {
		m.setSlot(b, encoded)
	}
}

// addBatch is not called: batches do not have the order of records.
func (edge) addBatch(*memory, []byte, *batchInput) {}

func (edge) encode(m *memory, dst, b []byte) []byte { return m.encodeSlot(dst, b) }

func (s edge) merge(m *memory, b []byte, r *wire.Reader) {
	switch other := r.Text(); {
	case len(other) == 0:
	case len(other) < edgeHeader:
		r.Fail()
	default:
		s.put(m, b, other)
	}
}

// edgeHeader is the length of the header of a slot of first and last: time (8 bytes), length of the sequence (4) and kind of
// the value (1). The sequence and the text of the value follow.
const edgeHeader = 13

// appendEdge encodes a slot of first and last.
func appendEdge(dst []byte, time int64, sequence []byte, kind byte, text []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(time))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(sequence)))
	return append(append(append(dst, kind), sequence...), text...)
}

// splitEdge decodes a slot of first and last.
func splitEdge(slot []byte) (time int64, sequence []byte, kind byte, text []byte) {
	rest := slot[edgeHeader:]
	n := min(uint64(binary.LittleEndian.Uint32(slot[8:])), uint64(len(rest)))
	return int64(binary.LittleEndian.Uint64(slot)), rest[:n], slot[12], rest[n:]
}

// compareEdges compares two slots by time, then by sequence. Sequences should be unique; if they are not, it compares the
// bytes, so that the result does not depend on the order of records.
func compareEdges(a, b []byte) int {
	at, as, _, _ := splitEdge(a)
	bt, bs, _, _ := splitEdge(b)
	switch {
	case at < bt:
		return -1
	case at > bt:
		return 1
	}
	if c := bytes.Compare(as, bs); c != 0 {
		return c
	}
	return bytes.Compare(a, b)
}

func edgeOf(in *outcome) Value {
	slot := in.m.slot(in.b)
	if slot == nil {
		return Value{}
	}
	_, _, kind, text := splitEdge(slot)
	return keyValue(text, message.Kind(kind) == message.String)
}
