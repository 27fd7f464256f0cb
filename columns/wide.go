package columns

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"logstow/internal/ids"
	"logstow/internal/wire"
	"logstow/message"
)

// widePage encodes more than MaxEntries different values, each as an entry. It is not ok if they do not fit.
func (c *collector) widePage(e *encoder) (p encoded, ok bool) {
	order := e.order[:0] // the collector's entries, of which equal numbers may be several
	for i := range c.entries {
		if en := &c.entries[i]; en.to-en.from > MaxWideText {
			return p, false
		}
		order = append(order, uint32(i))
	}
	e.order = order
	compare := func(x, y uint32) int {
		a, b := &c.entries[x], &c.entries[y]
		return cmp.Or(cmp.Compare(a.kind, b.kind), bytes.Compare(c.text(a), c.text(b)))
	}
	slices.SortFunc(order, compare)
	e.values, e.wideOf = e.values[:0], slices.Grow(e.wideOf[:0], len(order))[:len(order)]
	var b bounds
	for k, i := range order {
		if k == 0 || compare(order[k-1], i) != 0 {
			v := c.value(&c.entries[i])
			b.add(v)
			e.values = append(e.values, v)
		}
		e.wideOf[i] = uint16(len(e.values) - 1)
	}
	if len(e.values) <= MaxEntries || len(e.values) > MaxWide {
		return p, false
	}
	e.wide = e.wide[:0]
	for _, id := range c.ids {
		e.wide = append(e.wide, e.wideOf[id])
	}
	dst := binary.AppendUvarint(nil, uint64(len(e.values)))
	dst = e.appendWideEntries(dst)
	p.page = appendIDs(e, dst, e.wide, len(e.values))
	p.least, p.greatest, ok = b.texts()
	return p, ok
}

// appendWideEntries appends the values, which are in the order of kind and text, as planes: the kinds, how many bytes each text has in common
// with the start of the one before it, the number of its other bytes, and these bytes.
func (e *encoder) appendWideEntries(dst []byte) []byte {
	part := func(of func(i int, v message.Value)) {
		e.plane = e.plane[:0]
		for i, v := range e.values {
			of(i, v)
		}
		dst = e.appendBytes(dst)
	}
	shared := func(i int) int {
		if i == 0 {
			return 0
		}
		a, b := e.values[i-1].Text, e.values[i].Text
		n := 0
		for n < min(len(a), len(b)) && a[n] == b[n] {
			n++
		}
		return n
	}
	part(func(_ int, v message.Value) { e.plane = append(e.plane, byte(v.Kind)) })
	part(func(i int, _ message.Value) { e.plane = append(e.plane, byte(shared(i))) })
	part(func(i int, v message.Value) { e.plane = append(e.plane, byte(len(v.Text)-shared(i))) })
	part(func(i int, v message.Value) { e.plane = append(e.plane, v.Text[shared(i):]...) })
	return dst
}

// wideEntries decodes n entries that appendWideEntries encoded.
func (d *Decoder) wideEntries(r *wire.Reader, n int) ([]message.Value, error) {
	kinds, shared, others := d.bytes.take(n), d.bytes.take(n), d.bytes.take(n)
	for _, plane := range [][]byte{kinds, shared, others} {
		if err := d.plane(r, plane); err != nil {
			return nil, err
		}
	}
	rest, all, last := 0, 0, 0
	for i, kind := range kinds {
		length := int(shared[i]) + int(others[i])
		if kind > byte(message.Bare) || int(shared[i]) > last || length > MaxWideText || kind == byte(message.Missing) && length > 0 {
			return nil, fmt.Errorf("%w: entry %d", ErrMalformed, i)
		}
		rest, all, last = rest+int(others[i]), all+length, length
	}
	suffixes, texts := d.bytes.take(rest), d.bytes.take(all)
	if err := d.plane(r, suffixes); err != nil {
		return nil, err
	}
	entries := d.entries.take(n)
	var text []byte
	for i := range entries {
		length := int(shared[i]) + int(others[i])
		copy(texts, text[:shared[i]])
		copy(texts[shared[i]:], suffixes[:others[i]])
		text, texts, suffixes = texts[:length:length], texts[length:], suffixes[others[i]:]
		entries[i] = message.Value{Kind: message.Kind(kinds[i])}
		if kinds[i] != byte(message.Missing) {
			entries[i].Text = text
		}
	}
	return entries, nil
}

// appendIDs appends the form, the length and the ids below n of records.
func appendIDs[N ids.Number](e *encoder, dst []byte, records []N, n int) []byte {
	packed, form := ids.Append(&e.ids, e.packed[:0], records, n)
	e.packed = packed
	dst = binary.AppendUvarint(append(dst, byte(form)), uint64(len(packed)))
	return append(dst, packed...)
}
