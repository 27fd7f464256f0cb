package engine

import (
	"cmp"
	"math"
	"strconv"

	"logstow/columns"
	"logstow/logql/pipeline"
	"logstow/message"
	"logstow/query/rowset"
)

// maxOutcomes is the number of combinations of values up to which each is processed once for a block.
const maxOutcomes = 1 << 12

// fieldReader reads the values of records of blocks. Not safe for concurrent use.
type fieldReader struct {
	rowset.Combiner
	operands []rowset.Operand
	values   []message.Value
	fields   []pipeline.Field
	text     []byte
	// unwrapped is the column that is unwrapped, nil if its numbers are processed as text.
	unwrapped *columns.Page
}

// combine numbers the combinations of values in the records of a block. uses has the use of each column of the query; columns of matchers
// follow them.
func (x *fieldReader) combine(b *FieldBlock, uses []numberUse) {
	x.operands, x.unwrapped = x.operands[:0], nil
	for i, page := range b.Pages {
		use := useAt(uses, i)
		o := rowset.Operand{Page: page, Alike: use.only}
		for _, c := range use.conditions {
			o.Divide(func(v int64) int { return cmp.Compare(x.number(page, v), c.Value) })
		}
		if page.Plane >= 0 && use.unwrapped {
			x.unwrapped = page
		}
		x.operands = append(x.operands, o)
	}
	if !x.Combine(x.operands, maxOutcomes) {
		x.unwrapped = nil
	}
}

// read sets values to those of a record.
func (x *fieldReader) read(b *FieldBlock, record int) {
	x.values, x.text = b.AppendValues(x.values[:0], x.text[:0], record)
}

// process runs stages on a record of a stream with the values of columns that were read.
func (x *fieldReader) process(p *pipeline.Processor, cols []columns.Name, stream *pipeline.Stream) bool {
	x.fields = x.fields[:0]
	for i, name := range cols {
		if name.Fixed == "" {
			x.fields = append(x.fields, labelled(name, x.values[i]))
		}
	}
	return stream != nil && p.ProcessFields(x.fields, stream)
}

// labelled is a value as json or logfmt finds it, or an attribute.
func labelled(name columns.Name, v message.Value) pipeline.Field {
	f := pipeline.Field{Name: name.Label, Attribute: name.Attribute}
	if v.Kind != message.Missing && v.Kind != message.Null {
		if f.Text = v.Text; f.Text == nil {
			f.Text = []byte{}
		}
	}
	return f
}

// number is a number of a page, as its text is parsed.
func (x *fieldReader) number(page *columns.Page, v int64) float64 {
	const exact = 1 << 53
	n := &page.Numbers
	if -exact <= v && v <= exact {
		return float64(v) / math.Pow10(n.Scale) // both are exact, so the result is rounded once, like a parsed number
	}
	x.text = n.AppendText(x.text[:0], v)
	f, _ := strconv.ParseFloat(string(x.text), 64) // always a number of at most 19 digits
	return f
}
