package columns

import (
	"bytes"
	"encoding/binary"
	"slices"

	"logstow/internal/ids"
	"logstow/message"
)

// The first byte of an entry is the kind of its value, or planeEntry for the entry of the numbers, which follow the ids.
const planeEntry = 7

// Bits of the form of numbers.
const (
	formBare    = 1 << iota // the values are message.Bare, not message.Number
	formTrimmed             // as Numbers.Trimmed
)

// The form of a plane of bytes.
const (
	planeRaw   = 0
	planeSame  = 1 // one byte, repeated
	planeHuff  = 2 // ids.Huffman
	planeHuff4 = 3 // ids.Huffman4
)

// encoder encodes pages. The zero value is ready to use.
type encoder struct {
	ids           ids.Encoder
	plane, packed []byte

	// values are the entries of a page; indexes has the index into values for each record.
	values  []message.Value
	indexes []uint8
	// wide, wideOf and order are those of a page of more than MaxEntries values: the index into values for each record, and for each entry
	// of a collector; the entries in order.
	wide, wideOf []uint16
	order        []uint32
	// entryOf and numberOf have, for each entry of a collector, its entry in the page and its number.
	entryOf  []uint8
	numberOf []int64
	// numbers are the numbers of the page.
	numbers []int64
}

// appendPage appends the page of values and indexes. Unless n is nil, the first entry stands for the numbers in n.
func (e *encoder) appendPage(dst []byte, n *Numbers) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(e.values)))
	for i, v := range e.values {
		if i == 0 && n != nil {
			dst = append(dst, planeEntry)
			continue
		}
		dst = append(dst, byte(v.Kind))
		if v.Kind != message.Missing {
			dst = binary.AppendUvarint(dst, uint64(len(v.Text)))
			dst = append(dst, v.Text...)
		}
	}
	if len(e.values) > 1 {
		dst = appendIDs(e, dst, e.indexes, len(e.values))
	}
	if n != nil {
		dst = e.appendNumbers(dst, n)
	}
	return dst
}

// appendNumbers appends the form, scale and minimum of numbers, then their differences from the minimum as planes of
// bytes, the lowest bytes first.
func (e *encoder) appendNumbers(dst []byte, n *Numbers) []byte {
	form := byte(0)
	if n.Kind == message.Bare {
		form |= formBare
	}
	if n.Trimmed {
		form |= formTrimmed
	}
	low, high := slices.Min(n.Values), slices.Max(n.Values)
	planes := 0
	for rest := uint64(high - low); rest > 0; rest >>= 8 {
		planes++
	}
	dst = append(dst, form, byte(n.Scale))
	dst = binary.AppendVarint(dst, low)
	dst = append(dst, byte(planes))
	for p := range planes {
		dst = e.appendPlane(dst, n.Values, low, 8*p)
	}
	return dst
}

// appendPlane appends the plane of the bytes at shift of the differences from low.
func (e *encoder) appendPlane(dst []byte, values []int64, low int64, shift int) []byte {
	e.plane = e.plane[:0]
	for _, v := range values {
		e.plane = append(e.plane, byte(uint64(v-low)>>shift))
	}
	return e.appendBytes(dst)
}

// appendBytes appends the plane.
func (e *encoder) appendBytes(dst []byte) []byte {
	if first := e.plane[:min(1, len(e.plane))]; len(first) > 0 && bytes.Count(e.plane, first) == len(e.plane) {
		return append(dst, planeSame, first[0])
	}
	packed, form, ok := ids.AppendBytes(&e.ids, e.packed[:0], e.plane)
	e.packed = packed
	if !ok {
		return append(append(dst, planeRaw), e.plane...)
	}
	dst = binary.AppendUvarint(append(dst, planeForm(form)), uint64(len(packed)))
	return append(dst, packed...)
}

// planeForm returns the form of a compressed plane.
func planeForm(form ids.Form) byte {
	if form == ids.Huffman4 {
		return planeHuff4
	}
	return planeHuff
}

// idsForm returns the compression of a plane of a form; not ok if it is not compressed or unknown.
func idsForm(form byte) (ids.Form, bool) {
	switch form {
	case planeHuff:
		return ids.Huffman, true
	case planeHuff4:
		return ids.Huffman4, true
	}
	return 0, false
}
