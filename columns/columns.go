// Package columns encodes values of fields block by block, so that conditions, counts and aggregates
// need not read text. docs/format/columns.md specifies the bytes.
//
// A column has a [Page] for each block of a segment: what [parse.Splitter] returns for the field, of each
// record. Text stays the authority: a page has exactly these values, with their kinds and texts, or there is
// none, and the text of the block is read.
//
// A [Builder] collects the columns of a segment and decides which of them are worth their size.
package columns

import (
	"cmp"
	"errors"

	"logstow/field"
)

// Limits.
const (
	// MaxEntries is the number of different values in the dictionary of a page.
	MaxEntries = 256
	// MaxText is the length of a value's text in bytes.
	MaxText = 4 << 10
	// MaxScale is the number of decimal places of the numbers of a page.
	MaxScale = 9
	// MaxColumns is the number of columns of a segment.
	MaxColumns = 64
	// MaxNamed is the number of columns that are named in [Options].
	MaxNamed = 32
	// MaxName is the length of the name of a field in bytes.
	MaxName = 256
	// MaxNumber is the length in bytes of the text of the least and the greatest number of a page.
	MaxNumber = 40
)

// ErrMalformed is wrapped by the errors of [DecodePage] and [DecodeSeconds].
var ErrMalformed = errors.New("malformed page")

// Name is the name of a column: one of the fixed fields level, source and time, or a field of the message.
type Name struct {
	// Fixed is field.Level, field.Source, field.Time, or "".
	Fixed field.Fixed
	// Field is the name of the field of the message if Fixed is "".
	Field string
	// Label stands for the only field with this label, if both are "": see [field.LabelName].
	Label string
}

// String is the name as in a list of names.
func (n Name) String() string {
	if n.Fixed != "" {
		return string(n.Fixed)
	}
	return field.WriteName(cmp.Or(n.Field, n.Label))
}

// Page has the values of a field in the records of a block.
type Page struct {
	// Entries are the different values; one of a number of the planes has no text.
	Entries []field.Value
	// IDs has an index into Entries for each record; nil if there is one entry.
	IDs []uint8
	// Plane is the entry that stands for a number in Numbers, -1 if there is none.
	Plane int
	// Numbers are those of the records whose entry is Plane.
	Numbers Numbers
	records int
}

// Numbers are numbers of one form.
type Numbers struct {
	// Kind is that of the values, field.Number or field.Bare.
	Kind field.Kind
	// Scale is the number of decimal places of Values: 1234 stands for 12.34 if it is 2.
	Scale int
	// Trimmed is set if the texts have no zeros at the end of the decimal places; otherwise they have all.
	Trimmed bool
	// Values has a number for each record of the block: 0 for those whose entry is not the Plane.
	Values []int64
}

// Values are the different values of a page; see [DecodeEntries].
type Values struct {
	// Entries and Plane are those of [Page].
	Entries []field.Value
	Plane   int
	// Least and Greatest are the bounds of the numbers among the values, as written; empty if there is none.
	Least, Greatest string
}

// Constant is a page of records that all have one value.
func Constant(v field.Value, records int) *Page {
	return &Page{Entries: []field.Value{v}, Plane: -1, records: records}
}

// Dictionary is a page of records that each have one of the entries, which are different: ids are their indexes.
func Dictionary(entries []field.Value, ids []uint8) *Page {
	if len(entries) == 1 {
		return Constant(entries[0], len(ids))
	}
	return &Page{Entries: entries, IDs: ids, Plane: -1, records: len(ids)}
}

// Records is the number of records.
func (p *Page) Records() int { return p.records }

// Bounds are the least and the greatest number among the values, as written; empty if there is none.
func (p *Page) Bounds() (least, greatest string) {
	var b bounds
	for _, v := range p.Entries {
		b.add(v)
	}
	if p.Plane >= 0 {
		first, low, high := true, int64(0), int64(0)
		for i, v := range p.Numbers.Values {
			switch {
			case p.ID(i) != p.Plane:
			case first:
				first, low, high = false, v, v
			default:
				low, high = min(low, v), max(high, v)
			}
		}
		b.addNumber(&p.Numbers, low)
		b.addNumber(&p.Numbers, high)
	}
	return string(b.least), string(b.greatest)
}

// ID is the index of the entry of a record.
func (p *Page) ID(record int) int {
	if p.IDs == nil {
		return 0
	}
	return int(p.IDs[record])
}

// Value is the value of a record. Its text is valid as long as the page, or, for one of Numbers, as long
// as scratch, to which it is appended and which is returned.
func (p *Page) Value(record int, scratch []byte) (field.Value, []byte) {
	id := p.ID(record)
	if id != p.Plane {
		return p.Entries[id], scratch
	}
	from := len(scratch)
	scratch = p.Numbers.AppendText(scratch, p.Numbers.Values[record])
	return field.Value{Kind: p.Numbers.Kind, Text: scratch[from:len(scratch):len(scratch)]}, scratch
}
