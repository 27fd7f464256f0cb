package columns

import (
	"logstow/field"
)

// collector collects the values of a column in one block.
type collector struct {
	// ids are the entries of the records so far.
	ids     []uint32
	entries []entry
	// index are the entries by text, for each kind of value.
	index [planeEntry]map[string]uint32
	// numbers counts the entries that decimalPlaces accepts.
	numbers int
	// failed is set if the values do not fit a page.
	failed bool
}

type entry struct {
	kind field.Kind
	text string
	// places are its decimal places if it is a number.
	places int
	number bool
}

// reset starts a block.
func (c *collector) reset() {
	c.ids, c.entries, c.numbers, c.failed = c.ids[:0], c.entries[:0], 0, false
	for _, m := range c.index {
		clear(m)
	}
}

// add adds the value of the next record.
func (c *collector) add(v field.Value) {
	if c.failed {
		return
	}
	if n := len(c.ids); n > 0 {
		if last := &c.entries[c.ids[n-1]]; last.kind == v.Kind && last.text == string(v.Text) {
			c.ids = append(c.ids, c.ids[n-1])
			return
		}
	}
	id, ok := c.index[v.Kind][string(v.Text)]
	if !ok {
		if v.Kind > field.Bare || len(v.Text) > MaxText {
			c.failed = true
			return
		}
		id = c.put(v)
	}
	c.ids = append(c.ids, id)
}

// put makes an entry of a value. Values that are neither few nor numbers do not fit.
func (c *collector) put(v field.Value) uint32 {
	e := entry{kind: v.Kind, text: string(v.Text)}
	if v.Kind == field.Number || v.Kind == field.Bare {
		e.places, e.number = decimalPlaces(v.Text)
	}
	if e.number {
		c.numbers++
	} else if len(c.entries)-c.numbers >= MaxEntries {
		c.failed = true
	}
	id := uint32(len(c.entries))
	c.entries = append(c.entries, e)
	if c.index[v.Kind] == nil {
		c.index[v.Kind] = make(map[string]uint32)
	}
	c.index[v.Kind][e.text] = id
	return id
}

// encoded is a page as it is stored, with the least and the greatest number in it, as written; they are
// empty if there is none.
type encoded struct {
	page            []byte
	least, greatest string
}

// page encodes the values of the block; it is not ok if they do not fit.
func (c *collector) page(e *encoder) (p encoded, ok bool) {
	if c.failed || len(c.ids) == 0 {
		return p, false
	}
	p.least, p.greatest = c.bounds()
	if len(p.least) > MaxNumber || len(p.greatest) > MaxNumber {
		return p, false
	}
	if len(c.entries) <= MaxEntries {
		values := make([]field.Value, len(c.entries))
		for i, en := range c.entries {
			values[i] = field.Value{Kind: en.kind, Text: []byte(en.text)}
		}
		of := make([]uint8, len(c.ids))
		for i, id := range c.ids {
			of[i] = uint8(id)
		}
		p.page = e.appendPage(nil, values, of, -1, nil, nil)
		return p, true
	}
	return c.numberPage(e, p)
}

// numberPage encodes values most of which are different numbers.
func (c *collector) numberPage(e *encoder, p encoded) (encoded, bool) {
	n := c.form()
	numbers := make([]int64, len(c.entries))
	local := make([]int, len(c.entries)) // entry of the page
	values := []field.Value{{}}          // the first stands for the numbers
	for i, en := range c.entries {
		if en.number && en.kind == n.Kind {
			if v, ok := n.number([]byte(en.text), en.places); ok {
				numbers[i] = v
				continue
			}
		}
		if len(values) == MaxEntries {
			return p, false
		}
		local[i] = len(values)
		values = append(values, field.Value{Kind: en.kind, Text: []byte(en.text)})
	}
	of := make([]uint8, len(c.ids))
	var plane []int64
	for i, id := range c.ids {
		of[i] = uint8(local[id])
		if local[id] == 0 {
			plane = append(plane, numbers[id])
		}
	}
	if len(plane) == 0 {
		return p, false
	}
	p.page = e.appendPage(nil, values, of, 0, &n, plane)
	return p, true
}

// form is the form of most of the numbers.
func (c *collector) form() Numbers {
	var kinds [planeEntry]int
	for _, en := range c.entries {
		if en.number {
			kinds[en.kind]++
		}
	}
	n := Numbers{Kind: field.Number}
	if kinds[field.Bare] > kinds[field.Number] {
		n.Kind = field.Bare
	}
	least := MaxScale
	for _, en := range c.entries {
		if en.number && en.kind == n.Kind {
			n.Scale, least = max(n.Scale, en.places), min(least, en.places)
		}
	}
	n.Trimmed = least < n.Scale
	return n
}

// bounds are the least and the greatest number among the values.
func (c *collector) bounds() (least, greatest string) {
	var low, high field.Decimal
	for _, en := range c.entries {
		if en.kind != field.Number && en.kind != field.Bare {
			continue
		}
		d, ok := field.ParseDecimal([]byte(en.text))
		if !ok {
			continue
		}
		if least == "" || d.Compare(low) < 0 {
			low, least = d, en.text
		}
		if greatest == "" || d.Compare(high) > 0 {
			high, greatest = d, en.text
		}
	}
	return least, greatest
}
