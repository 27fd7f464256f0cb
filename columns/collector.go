package columns

import (
	"hash/maphash"

	"logstow/message"
)

// collector collects the values of a column in one block. Its memory is bounded by the text of the block: about 32 bytes
// for each distinct value and 4 bytes for each record.
type collector struct {
	// ids has the index of its entry for each record so far.
	ids     []uint32
	entries []entry
	// texts are the concatenated texts of the entries.
	texts []byte
	// table is a hash table with open addressing: one more than the index of an entry, 0 if free; hashed is the number of entries in it.
	// Numbers after the first MaxEntries are not in it, so equal ones may get several entries.
	table  []uint32
	hashed int
	// most is the maximum number of different values that are not numbers.
	most int
	// numbers counts the entries that decimalPlaces accepts.
	numbers int
	// failed is set if the values do not fit a page.
	failed bool
}

// tableSize is the least number of slots of a collector's table, of which at most half are used.
const tableSize = 4 * MaxEntries

// entry is a value of a collector.
type entry struct {
	from, to uint32 // in texts
	kind     message.Kind
	// number is set if decimalPlaces accepts the text; places are its decimal places.
	number bool
	places uint8
}

// reset starts a block of a column; named columns may have many values.
func (c *collector) reset(named bool) {
	c.ids, c.entries, c.texts, c.numbers, c.hashed, c.failed = c.ids[:0], c.entries[:0], c.texts[:0], 0, 0, false
	if c.most = MaxEntries; named {
		c.most = MaxWide
	}
	clear(c.table)
}

// slot returns the first slot of the table that is free or has a value.
func (c *collector) slot(v *message.Value, seed maphash.Seed) uint64 {
	mask := uint64(len(c.table) - 1)
	at := (maphash.Bytes(seed, v.Text) + uint64(v.Kind)) & mask
	for c.table[at] != 0 && !c.equals(c.table[at]-1, v) {
		at = (at + 1) & mask
	}
	return at
}

// grow doubles the table.
func (c *collector) grow(seed maphash.Seed) {
	old := c.table
	c.table = make([]uint32, 2*len(old))
	for _, id := range old {
		if id > 0 {
			v := c.value(&c.entries[id-1])
			c.table[c.slot(&v, seed)] = id
		}
	}
}

// text is the text of an entry.
func (c *collector) text(e *entry) []byte { return c.texts[e.from:e.to:e.to] }

// value is the value of an entry.
func (c *collector) value(e *entry) message.Value {
	return message.Value{Kind: e.kind, Text: c.text(e)}
}

// equals reports whether an entry has a value.
func (c *collector) equals(id uint32, v *message.Value) bool {
	e := &c.entries[id]
	return e.kind == v.Kind && string(c.text(e)) == string(v.Text)
}

// add adds the value of the next record.
func (c *collector) add(v *message.Value, seed maphash.Seed) {
	if c.failed {
		return
	}
	if n := len(c.ids); n > 0 && c.equals(c.ids[n-1], v) {
		c.ids = append(c.ids, c.ids[n-1])
		return
	}
	if v.Kind > message.Bare || len(v.Text) > MaxText {
		c.failed = true
		return
	}
	if c.table == nil {
		c.table = make([]uint32, tableSize)
	}
	if 2*c.hashed >= len(c.table) {
		c.grow(seed)
	}
	at := c.slot(v, seed)
	if id := c.table[at]; id > 0 {
		c.ids = append(c.ids, id-1)
		return
	}
	c.put(v, at)
}

// put makes an entry for a value that is not in the table; at is its free slot. More than most values that are not numbers do not fit a page.
func (c *collector) put(v *message.Value, at uint64) {
	id := uint32(len(c.entries))
	e := entry{kind: v.Kind, from: uint32(len(c.texts))}
	if v.Kind == message.Number || v.Kind == message.Bare {
		places, ok := decimalPlaces(v.Text)
		e.places, e.number = uint8(places), ok
	}
	if e.number {
		c.numbers++
	} else if len(c.entries)-c.numbers >= c.most {
		c.failed = true
		return
	}
	if !e.number || c.numbers <= MaxEntries {
		c.table[at] = id + 1
		c.hashed++
	}
	c.texts = append(c.texts, v.Text...)
	e.to = uint32(len(c.texts))
	c.entries = append(c.entries, e)
	c.ids = append(c.ids, id)
}
