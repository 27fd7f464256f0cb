// Package rowset has the matches of a block as columns, for what depends on few of their values: it finds the records whose values are
// equal, so that these are processed once for each combination of values instead of once for each record.
package rowset

import (
	"iter"
	"slices"

	"logstow/columns"
	"logstow/field"
	"logstow/message"
	"logstow/segment"
)

// Columns are the columns of a block.
type Columns interface {
	// Page returns the page of any column but times; nil if the block has none. The page of instances is derived from the
	// segments in which the records were written.
	Page(name columns.Name) *columns.Page
	// Values returns the distinct values of any column but times and instances; nil if the block has none, or more than
	// [columns.MaxEntries]. It is much faster than Page.
	Values(name columns.Name) *columns.Values
	// Seconds returns the runs of the column of times; nil if the block has none.
	Seconds() []columns.Run
	// Form returns the form of the messages of the block: see [columns.Builder.Forms].
	Form() message.Form
}

// Selected are the records of a block that its columns do not reject.
type Selected struct {
	// Count is the number of selected records.
	Count int
	// Records has true for each selected record of the block; nil if all are selected.
	Records []bool
}

// Set has records of a block by columns.
type Set struct {
	// Records is the number of records of the block; those that Selected has belong to the set.
	Records  int
	Selected Selected
	// Pages have the values of the records.
	Pages []*columns.Page
	// Runs are the times of the records from Base on, which is in Unix seconds; nil if times are not needed.
	Runs []columns.Run
	Base int64
}

// Of makes a set of the selected records of a block of a service, with the values of names, and with times if timed is set. It is not ok
// if the block has not all of these columns.
func Of(b *segment.Block, service string, sel Selected, cols Columns, names []columns.Name, timed bool) (s *Set, ok bool) {
	s = &Set{Records: int(b.Records), Selected: sel, Pages: make([]*columns.Page, 0, len(names))}
	for _, name := range names {
		page := pageOf(name, s.Records, service, cols)
		if page == nil {
			return nil, false
		}
		s.Pages = append(s.Pages, page)
	}
	if timed {
		if s.Runs = cols.Seconds(); s.Runs == nil {
			return nil, false
		}
		s.Base = columns.FloorSecond(b.Start)
	}
	return s, true
}

// pageOf returns the page of a name. All records of a block are of one service.
func pageOf(name columns.Name, records int, service string, cols Columns) *columns.Page {
	if name.Fixed == field.Service {
		return columns.Constant(message.Value{Kind: message.String, Text: []byte(service)}, records)
	}
	return cols.Page(name)
}

// Has reports whether a record belongs to the set.
func (s *Set) Has(record int) bool { return s.Selected.Records == nil || s.Selected.Records[record] }

// AppendValues appends the values of a record, in the order of Pages. The texts of numbers are appended to scratch.
func (s *Set) AppendValues(dst []message.Value, scratch []byte, record int) ([]message.Value, []byte) {
	for _, page := range s.Pages {
		var v message.Value
		v, scratch = page.Value(record, scratch)
		dst = append(dst, v)
	}
	return dst, scratch
}

// Span is a range of consecutive records, from From up to but without End.
type Span struct{ From, End int }

// Spans yields the records of each step of time, with the step. of returns the step of a time; all times of a tick (see [columns.Run])
// must be of one step. Without times, all records are of step 0. Records of which of is not ok are left out.
func (s *Set) Spans(of func(at int64) (step int64, ok bool)) iter.Seq2[int64, Span] {
	return func(yield func(int64, Span) bool) {
		if s.Runs == nil {
			yield(0, Span{0, s.Records})
			return
		}
		span, step, inStep := Span{}, int64(0), false
		for _, run := range s.Runs {
			first, _ := run.Times(s.Base)
			at, ok := of(first)
			if inStep && (!ok || at != step) {
				if !yield(step, span) {
					return
				}
				inStep = false
			}
			if !inStep {
				span.From = span.End
			}
			span.End, step, inStep = run.End, at, ok
		}
		if inStep {
			yield(step, span)
		}
	}
}

// Occurrences are the values of a column in some records. The zero value is ready to use. Not safe for concurrent use.
type Occurrences struct {
	// Counts has the number of records with each entry of the page. Numbers are the records whose value is in the page's Numbers.
	Counts  []uint32
	Numbers []uint32

	buffer []uint32
}

// Count finds the values that records of a page have.
func (o *Occurrences) Count(page *columns.Page, records []uint32) {
	o.Counts, o.Numbers = slices.Grow(o.Counts[:0], len(page.Entries))[:len(page.Entries)], nil
	clear(o.Counts)
	switch {
	case page.IDs != nil:
		countOf(o, page.IDs, records)
	case page.Wide != nil:
		countOf(o, page.Wide, records)
	default:
		o.Counts[0] = uint32(len(records))
	}
	switch {
	case page.Plane < 0 || o.Counts[page.Plane] == 0:
	case int(o.Counts[page.Plane]) == len(records):
		o.Numbers = records
	default:
		o.buffer = o.buffer[:0]
		for _, i := range records {
			if int(page.IDs[i]) == page.Plane {
				o.buffer = append(o.buffer, i)
			}
		}
		o.Numbers = o.buffer
	}
}

func countOf[T uint8 | uint16](o *Occurrences, ids []T, records []uint32) {
	for _, i := range records {
		o.Counts[ids[i]]++
	}
}
