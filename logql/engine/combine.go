package engine

import (
	"math"
	"slices"
	"strconv"

	"logstow/columns"
	"logstow/logql/pipeline"
	"logstow/message"
)

// maxOutcomes is the number of combinations of values up to which each is processed once for a block.
const maxOutcomes = 1 << 12

// combiner numbers the distinct combinations of values in the records of a block. Not safe for concurrent use.
type combiner struct {
	ids    []int32 // of each record: its combination
	fields []pipeline.Field
	text   []byte
	// unwrapped is the column that is unwrapped, nil if its numbers are processed as text.
	unwrapped *columns.Page
}

// combine gives records with the same combination of values the same number, or each record its own number if there are too
// many combinations. It returns an upper bound of the numbers. uses has the use of each field.
func (x *combiner) combine(b *FieldBlock, uses []numberUse) int {
	n, few := len(b.Streams), true
	x.unwrapped = nil
	for i, page := range b.Pages {
		use := &uses[i]
		if page.Plane >= 0 && use.unwrapped {
			x.unwrapped = page
		}
		few = few && (page.Plane < 0 || use.only)
		n = min(n*use.size(page), maxOutcomes+1)
	}
	x.ids = slices.Grow(x.ids[:0], b.Records)[:b.Records]
	if !few || n > maxOutcomes {
		x.unwrapped = nil
		for i := range x.ids {
			x.ids[i] = int32(i)
		}
		return b.Records
	}
	clear(x.ids)
	for i, id := range b.StreamIDs {
		x.ids[i] = int32(id)
	}
	for i, page := range b.Pages {
		x.combinePage(page, &uses[i])
	}
	return n
}

// combinePage combines the numbers so far with the values of a page: its entries, and its numbers by the conditions that hold for them.
func (x *combiner) combinePage(page *columns.Page, use *numberUse) {
	size, entries := int32(use.size(page)), int32(len(page.Entries))
	if page.Plane < 0 || len(use.conditions) == 0 {
		for i, id := range page.IDs {
			x.ids[i] = x.ids[i]*size + int32(id)
		}
		return
	}
	for i, v := range page.Numbers.Values {
		id := int32(page.ID(i))
		if int(id) == page.Plane {
			number, class := x.number(page, v), int32(0)
			for k, c := range use.conditions {
				class |= int32(b2i(pipeline.Holds(number, c))) << k
			}
			if class > 0 { // that of none has the entry
				id = entries + class - 1
			}
		}
		x.ids[i] = x.ids[i]*size + id
	}
}

// setFields sets the fields of the combiner to those of a record; names are the names of the pages.
func (x *combiner) setFields(b *FieldBlock, names []string, record int) {
	x.fields, x.text = x.fields[:0], x.text[:0]
	for i, page := range b.Pages {
		var v message.Value
		v, x.text = page.Value(record, x.text)
		x.fields = append(x.fields, labelled(names[i], v))
	}
}

// labelled is a value as json or logfmt finds it.
func labelled(name string, v message.Value) pipeline.Field {
	f := pipeline.Field{Name: name}
	if v.Kind != message.Missing && v.Kind != message.Null {
		if f.Text = v.Text; f.Text == nil {
			f.Text = []byte{}
		}
	}
	return f
}

// stream returns the stream of a record.
func (b *FieldBlock) stream(record int) *pipeline.Stream {
	if b.StreamIDs == nil {
		return b.Streams[0]
	}
	return b.Streams[b.StreamIDs[record]]
}

// number is a number of a page, as its text is parsed.
func (x *combiner) number(page *columns.Page, v int64) float64 {
	const exact = 1 << 53
	n := &page.Numbers
	if -exact <= v && v <= exact {
		return float64(v) / math.Pow10(n.Scale) // both are exact, so the result is rounded once, like a parsed number
	}
	x.text = n.AppendText(x.text[:0], v)
	f, _ := strconv.ParseFloat(string(x.text), 64) // always a number of at most 19 digits
	return f
}
