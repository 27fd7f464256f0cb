package columns

import (
	"logstow/exact"
	"logstow/message"
)

// encoded is a stored page with the least and the greatest number in it as written; empty if it has no numbers.
type encoded struct {
	page            []byte
	least, greatest string
}

// fewNumbers is the number of different numbers up to which a dictionary is assumed to be shorter than planes.
const fewNumbers = 16

// page encodes the values of the block, as a dictionary or with numbers, whichever is shorter, or if they do not fit as many values. It is
// not ok if they do not fit this either.
func (c *collector) page(e *encoder) (p encoded, ok bool) {
	if c.failed || len(c.ids) == 0 {
		return p, false
	}
	if len(c.entries) <= MaxEntries {
		p, ok = c.dictionaryPage(e)
	}
	if len(c.entries) > MaxEntries || c.numbers > fewNumbers && 2*c.numbers > len(c.entries) {
		if n, fits := c.numberPage(e); fits && (!ok || len(n.page) < len(p.page)) {
			return n, true
		}
	}
	if !ok && c.most > MaxEntries {
		p, ok = c.widePage(e)
	}
	if !ok {
		return encoded{}, false
	}
	return p, true
}

// dictionaryPage encodes each value as an entry.
func (c *collector) dictionaryPage(e *encoder) (p encoded, ok bool) {
	e.values, e.indexes = e.values[:0], e.indexes[:0]
	var b bounds
	for i := range c.entries {
		v := c.value(&c.entries[i])
		b.add(v)
		e.values = append(e.values, v)
	}
	for _, id := range c.ids {
		e.indexes = append(e.indexes, uint8(id))
	}
	p.page = e.appendPage(nil, nil)
	p.least, p.greatest, ok = b.texts()
	return p, ok
}

// numberPage encodes values that are mostly different numbers. The first entry stands for the numbers of one form, the
// others are all other values.
func (c *collector) numberPage(e *encoder) (p encoded, ok bool) {
	n := c.form()
	var b bounds
	e.values, e.indexes, e.entryOf, e.numberOf, e.numbers = append(e.values[:0], message.Value{}), e.indexes[:0], e.entryOf[:0], e.numberOf[:0], e.numbers[:0]
	for i := range c.entries {
		en := &c.entries[i]
		number, fits := int64(0), false
		if en.number && en.kind == n.Kind {
			number, fits = n.number(c.text(en), int(en.places))
		}
		e.numberOf = append(e.numberOf, number)
		if fits {
			e.entryOf = append(e.entryOf, 0)
			continue
		}
		id := 1
		for id < len(e.values) && (e.values[id].Kind != en.kind || string(e.values[id].Text) != string(c.text(en))) {
			id++
		}
		if id == len(e.values) {
			if id == MaxEntries {
				return p, false
			}
			v := c.value(en)
			b.add(v)
			e.values = append(e.values, v)
		}
		e.entryOf = append(e.entryOf, uint8(id))
	}
	for _, id := range c.ids {
		e.indexes = append(e.indexes, e.entryOf[id])
		if e.entryOf[id] == 0 {
			e.numbers = append(e.numbers, e.numberOf[id])
		}
	}
	if len(e.numbers) == 0 {
		return p, false
	}
	low, high := e.numbers[0], e.numbers[0]
	for _, v := range e.numbers {
		low, high = min(low, v), max(high, v)
	}
	b.addNumber(&n, low)
	b.addNumber(&n, high)
	n.Values = e.numbers
	p.page = e.appendPage(nil, &n)
	p.least, p.greatest, ok = b.texts()
	return p, ok
}

// form returns the form that fits most of the numbers.
func (c *collector) form() Numbers {
	var kinds [planeEntry]int
	for i := range c.entries {
		if c.entries[i].number {
			kinds[c.entries[i].kind]++
		}
	}
	n := Numbers{Kind: message.Number}
	if kinds[message.Bare] > kinds[message.Number] {
		n.Kind = message.Bare
	}
	most, trimmed := 0, 0
	var places [MaxScale + 1]int // the numbers by their decimal places
	for i := range c.entries {
		en := &c.entries[i]
		if !en.number || en.kind != n.Kind {
			continue
		}
		most = max(most, int(en.places))
		places[en.places]++
		if en.places == 0 || c.texts[en.to-1] != '0' {
			trimmed++
		}
	}
	for scale, count := range places {
		if count >= places[n.Scale] {
			n.Scale = scale
		}
	}
	if trimmed > places[n.Scale] {
		n.Scale, n.Trimmed = most, true
	}
	return n
}

// bounds are the least and the greatest number among values.
type bounds struct {
	low, high       exact.Number
	least, greatest []byte
}

// add adds a value; one that is not a number is ignored.
func (b *bounds) add(v message.Value) {
	d, ok := v.Decimal()
	if !ok {
		return
	}
	if b.least == nil || d.Compare(b.low) < 0 {
		b.low, b.least = d, v.Text
	}
	if b.greatest == nil || d.Compare(b.high) > 0 {
		b.high, b.greatest = d, v.Text
	}
}

// addNumber adds a number of a form.
func (b *bounds) addNumber(n *Numbers, v int64) {
	b.add(message.Value{Kind: n.Kind, Text: n.AppendText(nil, v)})
}

// texts returns the bounds as written; not ok if they are too long.
func (b *bounds) texts() (least, greatest string, ok bool) {
	return string(b.least), string(b.greatest), len(b.least) <= MaxNumber && len(b.greatest) <= MaxNumber
}
