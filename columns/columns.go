// Package columns encodes values of fields block by block, so that conditions, counts and aggregates
// need not read text. docs/format/columns.md specifies the bytes.
//
// A column has a [Page] for each block of a segment: the value that [parse.Splitter] returns for the field, for each
// record. The text is authoritative: a page has exactly these values, with their kinds and texts. If they do not fit a
// page, the block has none and readers parse its text.
//
// A [Builder] collects the columns of a segment and decides which of them are worth their size.
package columns

import (
	"cmp"
	"errors"
	"slices"

	"logstow/field"
	"logstow/message"
)

// Limits.
const (
	// MaxEntries is the maximum number of different values in the dictionary of a page.
	MaxEntries = 256
	// MaxWide is the maximum number of different values in a page of a column that [Options] names.
	MaxWide = 1 << 16
	// MaxWideText is the maximum length of a value's text in bytes in a page of more than MaxEntries.
	MaxWideText = 255
	// MaxText is the maximum length of a value's text in bytes.
	MaxText = 4 << 10
	// MaxScale is the maximum number of decimal places of the numbers of a page.
	MaxScale = 9
	// MaxColumns is the maximum number of columns of a segment.
	MaxColumns = 64
	// MaxNamed is the maximum number of columns that [Options] may name.
	MaxNamed = 32
	// MaxName is the maximum length of the name of a field in bytes.
	MaxName = 256
	// MaxNumber is the maximum length in bytes of the text of the least and the greatest number of a page.
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
	// Label selects the only field with this label, if Fixed and Field are "": see [message.LabelName]. With Attribute, blocks have it only
	// if all their values of it are attributes: see [Column.Attributes].
	Label     string
	Attribute bool
}

// String returns the name as users write it.
func (n Name) String() string {
	if n.Fixed != "" {
		return string(n.Fixed)
	}
	return field.WriteName(cmp.Or(n.Field, n.Label))
}

// AddNames adds names to others, each unless it is there.
func AddNames(names []Name, added ...Name) []Name {
	for _, name := range added {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Page has the values of a field in the records of a block.
type Page struct {
	// Entries are the different values. The entry Plane has no value: it stands for Numbers.
	Entries []message.Value
	// IDs has an index into Entries for each record; nil if there is one entry. If there are more than MaxEntries, Wide has it instead.
	IDs  []uint8
	Wide []uint16
	// Plane is the index of the entry of records whose value is in Numbers; -1 if there is none.
	Plane int
	// Numbers are the values of the records whose entry is Plane.
	Numbers Numbers
	records int
}

// Numbers are numbers of one form, as integers.
type Numbers struct {
	// Kind is the kind of the values, message.Number or message.Bare.
	Kind message.Kind
	// Scale is the number of decimal places of Values: with a Scale of 2, 1234 stands for 12.34.
	Scale int
	// Trimmed is set if the texts omit trailing zeros of the fraction; otherwise each has Scale decimal places.
	Trimmed bool
	// Values has a number for each record of the block: 0 if its entry is not the page's Plane.
	Values []int64
}

// Values are the different values of a page; see [DecodeEntries].
type Values struct {
	// Entries and Plane are those of [Page].
	Entries []message.Value
	Plane   int
	// Least and Greatest are the bounds of the numbers among the values, as written; empty if there are no numbers.
	Least, Greatest string
}

// Constant returns a page of records that all have one value.
func Constant(v message.Value, records int) *Page {
	return &Page{Entries: []message.Value{v}, Plane: -1, records: records}
}

// Dictionary returns a page in which record i has the value entries[ids[i]]. The entries must be distinct.
func Dictionary(entries []message.Value, ids []uint8) *Page {
	if len(entries) == 1 {
		return Constant(entries[0], len(ids))
	}
	return &Page{Entries: entries, IDs: ids, Plane: -1, records: len(ids)}
}

// Records is the number of records.
func (p *Page) Records() int { return p.records }

// Bounds returns the least and the greatest number among the values, as written; empty if there are no numbers.
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

// ID returns the index of the entry of a record.
func (p *Page) ID(record int) int {
	switch {
	case p.IDs != nil:
		return int(p.IDs[record])
	case p.Wide != nil:
		return int(p.Wide[record])
	}
	return 0
}

// Value returns the value of a record. The text of a value in Numbers is appended to scratch, which is returned; any
// other text is valid as long as the page.
func (p *Page) Value(record int, scratch []byte) (message.Value, []byte) {
	id := p.ID(record)
	if id != p.Plane {
		return p.Entries[id], scratch
	}
	from := len(scratch)
	scratch = p.Numbers.AppendText(scratch, p.Numbers.Values[record])
	return message.Value{Kind: p.Numbers.Kind, Text: scratch[from:len(scratch):len(scratch)]}, scratch
}
