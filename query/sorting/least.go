package sorting

import (
	"bytes"
	"slices"
	"time"

	"logstow/message"
	"logstow/query/match"
	"logstow/query/rowset"

	"logstow/columns"
	"logstow/field"
	"logstow/segment"
)

// columnNames returns the columns from which prefixes of the keys can be computed; not ok if there are none.
func (o *Order) columnNames() (names []columns.Name, ok bool) {
	for i := range o.items {
		switch it := &o.items[i]; it.fixed {
		case field.Time:
			return append(names, columns.Name{Fixed: field.Time}), true
		case field.Service:
		case field.Instance, field.Message:
			return names, i > 0
		default:
			names = append(names, o.columnName(it))
		}
	}
	return append(names, columns.Name{Fixed: field.Time}), true
}

// columnName returns the column of the values of an item.
func (o *Order) columnName(it *item) columns.Name {
	if it.fixed != "" {
		return columns.Name{Fixed: it.fixed}
	}
	return columns.Name{Field: o.fields[it.index]}
}

// candidates are the records of a block that may have its least key, by their columns.
type candidates struct {
	*Order
	block   *segment.Block
	columns rowset.Columns
	// records are their indexes in the block, ascending; there is at least one.
	records []uint32
}

// newCandidates returns the selected records of a block.
func newCandidates(o *Order, b *segment.Block, sel rowset.Selected, cols rowset.Columns) *candidates {
	c := &candidates{Order: o, block: b, columns: cols, records: make([]uint32, 0, sel.Count)}
	for i := range b.Records {
		if sel.Records == nil || sel.Records[i] {
			c.records = append(c.records, uint32(i))
		}
	}
	return c
}

// least returns a prefix of the least key of the candidates, as long as columns allow. No record has a lesser key.
func (c *candidates) least(service string) (dst []byte) {
	for i := range c.items {
		switch it := &c.items[i]; it.fixed {
		case field.Time:
			at := c.records[0]
			if it.descending {
				at = c.records[len(c.records)-1]
			}
			dst = append(dst, textKey)
			return it.directed(c.appendSecond(dst, at), len(dst))
		case field.Service:
			dst = it.appendText(dst, []byte(service))
		case field.Instance, field.Message:
			return dst
		default:
			page := c.columns.Page(c.columnName(it))
			if page == nil {
				return dst
			}
			dst = c.appendFirst(dst, it, page)
		}
	}
	return c.appendSecond(dst, c.records[0])
}

// appendSecond appends a prefix of the time of a record, up to its second; nothing if the block has no column of times.
func (c *candidates) appendSecond(dst []byte, record uint32) []byte {
	for _, run := range c.columns.Seconds() {
		if int(record) < run.End {
			second := columns.FloorSecond(c.block.Start) + run.Second()
			return time.Unix(second, 0).UTC().AppendFormat(dst, "2006-01-02T15:04:05")
		}
	}
	return dst
}

// appendFirst appends the key of the first value in the order, and keeps only the candidates that have it.
func (c *candidates) appendFirst(dst []byte, it *item, page *columns.Page) []byte {
	occurs, first := make([]bool, len(page.Entries)), make([]bool, len(page.Entries))
	var number int64 // the first of Numbers
	for _, r := range c.records {
		id := page.ID(int(r))
		if id == page.Plane {
			if v := page.Numbers.Values[r]; !occurs[id] || (v < number) != it.descending {
				number = v
			}
		}
		occurs[id] = true
	}
	var least, key []byte
	for id, v := range page.Entries {
		if !occurs[id] {
			continue
		}
		if id == page.Plane {
			v = message.Value{Kind: page.Numbers.Kind, Text: page.Numbers.AppendText(nil, number)}
		}
		key = it.appendColumn(key[:0], v)
		if least == nil || bytes.Compare(key, least) < 0 {
			least = append(least[:0], key...)
			clear(first)
		}
		first[id] = bytes.Equal(key, least)
	}
	c.records = slices.DeleteFunc(c.records, func(r uint32) bool {
		id := page.ID(int(r))
		return !first[id] || id == page.Plane && page.Numbers.Values[r] != number
	})
	return append(dst, least...)
}

// appendColumn appends the key of a value of the item's column.
func (i *item) appendColumn(dst []byte, v message.Value) []byte {
	switch i.fixed {
	case field.Level:
		return i.appendLevel(dst, match.LevelOf(v))
	case field.Source:
		return i.appendText(dst, v.Text)
	}
	return i.appendValue(dst, v)
}
