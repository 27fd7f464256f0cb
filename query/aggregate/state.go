package aggregate

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"slices"

	"github.com/axiomhq/hyperloglog"

	"logstow/exact"
	"logstow/internal/wire"
)

// encode appends the group's flags (uvarint) and its state as merge reads it:
//
//	number of records (uvarint), then per stat of the plan
//	holds                  number of records (uvarint)
//	moments                number of values (uvarint) | unless 0: sum | sum of squares, if the stat has it
//	minimum, maximum,
//	first, last            length (uvarint) | the slot's bytes
//	values                 number of values (uvarint) | length (uvarint) | encoded numbers;
//	                       of a sketch: ExactValues + 1 (uvarint) | the sketch
//	distinct               number of values (uvarint) | hashes (8 bytes each);
//	                       of a sketch: ExactDistinct + 1 (uvarint) | length (uvarint) | its binary form
func (t *table) encode(dst []byte, r ref) []byte {
	dst = binary.AppendUvarint(dst, uint64(t.flags(r)))
	state := t.state(r)
	dst = binary.AppendUvarint(dst, binary.LittleEndian.Uint64(state))
	for i := range t.stats {
		s := &t.stats[i]
		b := state[s.offset:]
		switch s.kind {
		case holds:
			dst = binary.AppendUvarint(dst, binary.LittleEndian.Uint64(b))
		case moments:
			n := binary.LittleEndian.Uint64(b)
			dst = binary.AppendUvarint(dst, n)
			if n == 0 {
				continue
			}
			sum := t.sumAt(b[8:])
			dst = sum.Encode(dst)
			if s.squares {
				squares := t.sumAt(b[8+sumSize:])
				dst = squares.Encode(dst)
			}
		case values:
			dst = t.encodeValues(dst, b)
		case distinct:
			dst = t.encodeDistinct(dst, b)
		default:
			slot := t.slot(b)
			dst = binary.AppendUvarint(dst, uint64(len(slot)))
			dst = append(dst, slot...)
		}
	}
	return dst
}

func (t *table) encodeValues(dst, b []byte) []byte {
	if i := binary.LittleEndian.Uint32(b[8:]); i != 0 {
		return t.sketches[i-1].Encode(binary.AppendUvarint(dst, ExactValues+1))
	}
	length := 0
	for chunk := range t.chunks(b) {
		length += len(chunk)
	}
	dst = binary.AppendUvarint(dst, uint64(binary.LittleEndian.Uint32(b[4:])))
	dst = binary.AppendUvarint(dst, uint64(length))
	for chunk := range t.chunks(b) {
		dst = append(dst, chunk...)
	}
	return dst
}

func (t *table) encodeDistinct(dst, b []byte) []byte {
	count := binary.LittleEndian.Uint32(b[4:])
	if count == sketched {
		dst = binary.AppendUvarint(dst, ExactDistinct+1)
		binaryForm, _ := t.counters[binary.LittleEndian.Uint32(b)-1].MarshalBinary() // never fails
		dst = binary.AppendUvarint(dst, uint64(len(binaryForm)))
		return append(dst, binaryForm...)
	}
	dst = binary.AppendUvarint(dst, uint64(count))
	for hash := range hashes(t.hashTable(b)) {
		dst = binary.LittleEndian.AppendUint64(dst, hash)
	}
	return dst
}

var errCorrupt = errors.New("cannot read temporary file: corrupt group")

// merge adds an encoded group to a group.
func (t *table) merge(group ref, encoded []byte) error {
	r := &wire.Reader{Rest: encoded}
	t.setFlags(group, uint32(r.Uvarint()))
	state := t.state(group)
	addUint(state, r.Uvarint())
	for i := range t.stats {
		s := &t.stats[i]
		b := state[s.offset:]
		switch s.kind {
		case holds:
			addUint(b, r.Uvarint())
		case moments:
			if n := r.Uvarint(); n > 0 {
				addUint(b, n)
				t.readSum(b[8:], r)
				if s.squares {
					t.readSum(b[8+sumSize:], r)
				}
			}
		case values:
			t.mergeValues(b, r)
		case distinct:
			t.mergeDistinct(b, r)
		default:
			t.mergeSlot(s.kind, b, r)
		}
	}
	if r.Bad || len(r.Rest) > 0 {
		return errCorrupt
	}
	return nil
}

func addUint(b []byte, n uint64) {
	binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)+n)
}

func (t *table) readSum(b []byte, r *wire.Reader) {
	other, rest, err := exact.DecodeSum(r.Rest)
	if err != nil {
		r.Fail()
		return
	}
	r.Rest = rest
	t.mergeSum(b, &other)
}

func (t *table) mergeValues(b []byte, r *wire.Reader) {
	count := r.Uvarint()
	if count > ExactValues {
		if binary.LittleEndian.Uint32(b[8:]) == 0 {
			t.toSketch(b)
		}
		t.extra += t.sketches[binary.LittleEndian.Uint32(b[8:])-1].Decode(r)
		return
	}
	for encoded := r.Text(); len(encoded) > 0; count-- {
		n, rest, err := exact.Decode(encoded)
		if err != nil || count == 0 {
			r.Fail()
			return
		}
		t.addValue(b, n)
		encoded = rest
	}
	if count != 0 {
		r.Fail()
	}
}

func (t *table) mergeDistinct(b []byte, r *wire.Reader) {
	count := r.Uvarint()
	if count > ExactDistinct {
		other := &hyperloglog.Sketch{}
		if err := other.UnmarshalBinary(r.Text()); err != nil {
			r.Fail()
			return
		}
		if binary.LittleEndian.Uint32(b[4:]) != sketched {
			t.toCounter(b)
		}
		if err := t.counters[binary.LittleEndian.Uint32(b)-1].Merge(other); err != nil {
			r.Fail()
		}
		return
	}
	for ; count > 0 && !r.Bad; count-- {
		if hash := r.Uint64(); hash != 0 {
			t.addHash(b, hash)
		}
	}
}

func (t *table) mergeSlot(kind statKind, b []byte, r *wire.Reader) {
	other := r.Text()
	if len(other) == 0 {
		return
	}
	slot := t.slot(b)
	switch kind {
	case minimum, maximum:
		n, rest, err := exact.Decode(other)
		if err != nil || len(rest) > 0 {
			r.Fail()
			return
		}
		t.addExtreme(kind, b, n)
	default:
		if len(other) < momentHeader {
			r.Fail()
		} else if slot == nil || compareMoments(other, slot) < 0 == (kind == first) {
			t.setSlot(b, other)
		}
	}
}

// addExtreme replaces the minimum or maximum at b if n is less or greater.
func (t *table) addExtreme(kind statKind, b []byte, n exact.Number) {
	if slot := t.slot(b); slot != nil {
		if now, _, err := exact.Decode(slot); err == nil {
			if c := n.Compare(now); c == 0 || c < 0 != (kind == minimum) {
				return
			}
		}
	}
	var scratch [24]byte
	t.setSlot(b, n.Encode(scratch[:0]))
}

// momentHeader is the length of the header of a slot of first and last: time (8 bytes), length of the sequence (4) and kind of
// the value (1). The sequence and the text of the value follow.
const momentHeader = 13

// appendMoment encodes a slot of first and last.
func appendMoment(dst []byte, time int64, sequence []byte, kind byte, text []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(time))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(sequence)))
	return append(append(append(dst, kind), sequence...), text...)
}

// splitMoment decodes a slot of first and last.
func splitMoment(slot []byte) (time int64, sequence []byte, kind byte, text []byte) {
	rest := slot[momentHeader:]
	n := min(uint64(binary.LittleEndian.Uint32(slot[8:])), uint64(len(rest)))
	return int64(binary.LittleEndian.Uint64(slot)), rest[:n], slot[12], rest[n:]
}

// compareMoments compares two slots by time, then by sequence. Sequences should be unique; if they are not, it compares the
// bytes, so that the result does not depend on the order of records.
func compareMoments(a, b []byte) int {
	at, as, _, _ := splitMoment(a)
	bt, bs, _, _ := splitMoment(b)
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

// quantile returns a quantile of the values at b. scratch caches the sorted values between calls for the same group; it must be
// empty for the first.
func (t *table) quantile(b []byte, q Fraction, scratch *[]exact.Number) Value {
	if i := binary.LittleEndian.Uint32(b[8:]); i != 0 {
		s := t.sketches[i-1]
		v := floatValue(s.Rank(rankOf(q, s.Count())))
		v.Approximate = true
		return v
	}
	count := binary.LittleEndian.Uint32(b[4:])
	if count == 0 {
		return Value{}
	}
	if len(*scratch) == 0 {
		for chunk := range t.chunks(b) {
			for len(chunk) > 0 {
				n, rest, err := exact.Decode(chunk)
				if err != nil {
					return Value{} // cannot happen: this process encoded it
				}
				*scratch = append(*scratch, n)
				chunk = rest
			}
		}
		slices.SortFunc(*scratch, exact.Number.Compare)
	}
	return numberValue((*scratch)[rankOf(q, uint64(count))-1])
}

// rankOf returns ceil(q·n), at least 1.
func rankOf(q Fraction, n uint64) uint64 {
	hi, lo := bits.Mul64(q.Num, n)
	lo, carry := bits.Add64(lo, q.Den-1, 0)
	rank, _ := bits.Div64(hi+carry, lo, q.Den) // q is at most 1
	return max(rank, 1)
}

// distinctValue returns the number of distinct values at b.
func (t *table) distinctValue(b []byte) Value {
	count := binary.LittleEndian.Uint32(b[4:])
	if count != sketched {
		return Value{Kind: Integer, Int: int64(count)}
	}
	estimate := t.counters[binary.LittleEndian.Uint32(b)-1].Estimate()
	return Value{Kind: Integer, Int: int64(min(max(estimate, ExactDistinct+1), math.MaxInt64)), Approximate: true}
}
