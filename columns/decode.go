package columns

import (
	"fmt"

	"logstow/internal/ids"
	"logstow/internal/wire"
	"logstow/message"
)

// Decoder decodes pages. The zero value is ready to use. Not safe for concurrent use.
type Decoder struct {
	ids     ids.Decoder
	bytes   pool[byte]
	wide    pool[uint16]
	values  pool[int64]
	entries pool[message.Value]
}

// Reset frees the memory of all pages decoded so far for reuse: they become invalid.
func (d *Decoder) Reset() {
	d.bytes.free, d.wide.free, d.values.free, d.entries.free = d.bytes.all, d.wide.all, d.values.all, d.entries.all
}

// pool is memory for pages; free is the free part of all.
type pool[T any] struct{ free, all []T }

// take allocates n elements, which are not cleared.
func (p *pool[T]) take(n int) (taken []T) {
	if n > len(p.free) {
		p.all = make([]T, max(n, 2*len(p.all)))
		p.free = p.all
	}
	taken, p.free = p.free[:n:n], p.free[n:]
	return taken
}

// DecodePage is [Decoder.Page] with a new Decoder.
func DecodePage(page []byte, records int) (*Page, error) { return new(Decoder).Page(page, records) }

// Page decodes a page of a block with this number of records. The result is valid until Reset and refers to the stored
// page. Errors wrap [ErrMalformed].
func (d *Decoder) Page(page []byte, records int) (*Page, error) {
	r := &wire.Reader{Rest: page}
	if records <= 0 {
		return nil, fmt.Errorf("%w: %d records", ErrMalformed, records)
	}
	p := &Page{Plane: -1, records: records}
	var err error
	if n := r.Uvarint(); n > MaxEntries && n <= min(MaxWide, uint64(records)) {
		if p.Entries, err = d.wideEntries(r, int(n)); err == nil {
			p.Wide = d.wide.take(records)
			err = decodeIDs(d, r, p.Wide, len(p.Entries))
		}
	} else if p.Entries, p.Plane, err = readEntries(r, n); err == nil && n > 1 {
		p.IDs = d.bytes.take(records)
		err = decodeIDs(d, r, p.IDs, len(p.Entries))
	}
	if err != nil {
		return nil, err
	}
	numbers := records
	if p.Plane >= 0 && p.IDs != nil {
		numbers = p.count(p.Plane)
	}
	if p.Plane >= 0 {
		if err := d.numbers(p, r, numbers); err != nil {
			return nil, err
		}
	}
	if r.Bad || len(r.Rest) > 0 {
		return nil, fmt.Errorf("%w: truncated, or bytes follow it", ErrMalformed)
	}
	return p, nil
}

// decodeIDs reads ids below n.
func decodeIDs[N ids.Number](d *Decoder, r *wire.Reader, out []N, n int) error {
	form := ids.Form(r.Byte())
	packed := r.Text()
	if r.Bad {
		return fmt.Errorf("%w: truncated", ErrMalformed)
	}
	if err := ids.Decode(&d.ids, out, form, packed, n); err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return nil
}

// DecodeEntries decodes only Entries and Plane of a [Page], none if there are more than MaxEntries. The entries refer to the stored page.
// Errors wrap [ErrMalformed].
func DecodeEntries(page []byte) (entries []message.Value, plane int, err error) {
	r := &wire.Reader{Rest: page}
	n := r.Uvarint()
	if n > MaxEntries && n <= MaxWide {
		return nil, -1, nil
	}
	if entries, plane, err = readEntries(r, n); err == nil && r.Bad {
		err = fmt.Errorf("%w: truncated", ErrMalformed)
	}
	return entries, plane, err
}

// readEntries reads the n entries of a page.
func readEntries(r *wire.Reader, n uint64) (entries []message.Value, plane int, err error) {
	if n == 0 || n > MaxEntries {
		return nil, 0, fmt.Errorf("%w: %d entries", ErrMalformed, n)
	}
	entries, plane = make([]message.Value, n), -1
	for i := range entries {
		kind := r.Byte()
		switch {
		case kind == planeEntry && plane < 0:
			plane = i
		case kind > byte(message.Bare):
			return nil, 0, fmt.Errorf("%w: an entry of kind %d", ErrMalformed, kind)
		case kind != byte(message.Missing):
			text := r.Text()
			if len(text) > MaxText {
				r.Fail()
			}
			entries[i] = message.Value{Kind: message.Kind(kind), Text: text}
		}
	}
	return entries, plane, nil
}

// count returns the number of records with an entry, for a page with IDs.
func (p *Page) count(entry int) (n int) {
	for _, id := range p.IDs {
		if int(id) == entry {
			n++
		}
	}
	return n
}

// numbers decodes the numbers of a page, of count records.
func (d *Decoder) numbers(p *Page, r *wire.Reader, count int) error {
	form, scale, low, planes := r.Byte(), r.Byte(), r.Varint(), r.Byte()
	if r.Bad || form > formBare|formTrimmed || scale > MaxScale || planes > 8 || low <= -maxValue || low >= maxValue || count == 0 {
		return fmt.Errorf("%w: numbers of an unknown form", ErrMalformed)
	}
	n := &p.Numbers
	n.Kind, n.Scale, n.Trimmed = message.Number, int(scale), form&formTrimmed != 0
	if form&formBare != 0 {
		n.Kind = message.Bare
	}
	dense := d.values.take(count)
	for i := range dense {
		dense[i] = low
	}
	buf := d.bytes.take(count)
	for i := range planes {
		if err := d.plane(r, buf); err != nil {
			return err
		}
		dense, shift := dense[:len(buf)], 8*i%64 // avoids checks of bounds and shift
		for j, b := range buf {
			dense[j] += int64(uint64(b) << shift)
		}
	}
	if planes > 7 || low >= maxValue-1<<(8*planes) {
		for i, v := range dense {
			if v < low || v >= maxValue {
				return fmt.Errorf("%w: number %d is out of range", ErrMalformed, i)
			}
		}
	}
	n.Values = dense
	if p.IDs == nil || count == p.records {
		return nil
	}
	n.Values = d.values.take(p.records)
	clear(n.Values)
	for i, id := range p.IDs {
		if int(id) == p.Plane {
			n.Values[i], dense = dense[0], dense[1:]
		}
	}
	return nil
}

// plane decodes a plane: one byte of each number.
func (d *Decoder) plane(r *wire.Reader, out []byte) error {
	switch form := r.Byte(); form {
	case planeRaw:
		copy(out, r.Bytes(uint64(len(out))))
	case planeSame:
		b := r.Byte()
		for i := range out {
			out[i] = b
		}
	default:
		of, known := idsForm(form)
		if !known {
			return fmt.Errorf("%w: a plane of form %d", ErrMalformed, form)
		}
		packed := r.Text()
		if r.Bad {
			break
		}
		if err := ids.DecodeBytes(&d.ids, out, of, packed); err != nil {
			return fmt.Errorf("%w: %w", ErrMalformed, err)
		}
	}
	if r.Bad {
		return fmt.Errorf("%w: a plane is truncated", ErrMalformed)
	}
	return nil
}
