package aggregate

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"

	"logstow/exact"
	"logstow/field"
	"logstow/internal/wire"
	"logstow/spill"
)

// MaxColumns is the maximum number of values of the pivot key.
const MaxColumns = 100

// ErrColumns is the error of a pivot key with more values than MaxColumns.
var ErrColumns = errors.New("too many columns")

// Result is the result of an aggregation.
type Result struct {
	// Keys are those of the Spec without the pivot key; a row has a value for each.
	Keys []Key
	// Columns are the functions, repeated for each value of the pivot key if there is one.
	Columns []Column
	// Approximate is set for each function that has a value from a sketch: quantiles are then within 1% of a value of that
	// rank, numbers of distinct values within 2%.
	Approximate []bool
	// Total is the number of records.
	Total uint64
	// Groups is the number of rows before the limit; with a limit and a time step, the number of groups of the other keys.
	Groups int
	// Ignored are the fields of which values were ignored because they are not numbers.
	Ignored []Ignored
	// Unseen are the fields of the message that no record had.
	Unseen []field.Name
	// From and To are the range of the Spec, or from the first record to just after the last.
	From, To int64

	*groups
	sorter *spill.Sorter
	cells  []int // for each value of the pivot key, by its number, the index of its first column
	// Scratch memory.
	key     rowKey
	sortKey []byte
	payload []byte
	scratch [][]exact.Number
}

// Column is a column of values.
type Column struct {
	// Header is the header of the function. With a pivot key it is the key's value, followed by the function's header if
	// there are several. A missing value is -. A value - is in quotes, and so is a header that another column has already.
	// It is valid UTF-8.
	Header string
	// Function is an index into the functions of the Spec.
	Function int
	// Pivot is the value of the pivot key, if there is one.
	Pivot Value
}

// Ignored is the number of values of a field that were ignored because they are not numbers.
type Ignored struct {
	Field field.Name
	Count uint64
}

// Row is a row of a result.
type Row struct {
	// Keys and Values are valid until the next row.
	Keys, Values []Value
}

// newResult makes an empty result. Sorting takes up to twice the memory.
func newResult(g *groups, dir string, memory int64) *Result {
	r := &Result{groups: g, Total: g.total, From: g.From, To: g.To, Approximate: make([]bool, len(g.Compute))}
	if !g.Bounded() && g.total > 0 {
		r.From, r.To = g.from, g.to+1
	}
	if g.total > 0 { // clocks that are ahead may make records later than To
		r.To = max(r.To, g.to+1)
	}
	for i, k := range g.By {
		if i != g.Pivot {
			r.Keys = append(r.Keys, k)
		}
	}
	for i, f := range g.Fields {
		if !g.seen[i] && f.Fixed == "" {
			r.Unseen = append(r.Unseen, f)
		}
	}
	for i, n := range g.ignored {
		if n > 0 {
			r.Ignored = append(r.Ignored, Ignored{g.Fields[i], n})
		}
	}
	limit := g.Limit
	if g.ranksGroups() {
		limit = 0
	}
	r.sorter = spill.NewSorter(dir, memory, limit)
	r.scratch = make([][]exact.Number, len(g.stats))
	return r
}

// mergeInto merges a group of a table into the group of s.
func (r *Result) mergeInto(s *single, t *table, group ref) error {
	r.payload = t.encode(r.payload[:0], group)
	return s.table.merge(s.group, r.payload)
}

// finish computes the functions of a group over a number of nanoseconds.
func (r *Result) finish(t *table, group ref, duration int64) []Value {
	for i := range r.scratch {
		r.scratch[i] = r.scratch[i][:0]
	}
	state := t.state(group)
	in := outcome{m: &t.memory, records: binary.LittleEndian.Uint64(state), all: r.total, nanoseconds: duration}
	functions := make([]Value, len(r.Compute))
	for i := range r.Compute {
		in.function, in.b, in.sorted = &r.Compute[i], nil, nil
		if s := r.ofFunction[i]; s >= 0 {
			in.b, in.sorted = state[r.stats[s].offset:], &r.scratch[s]
		}
		functions[i] = r.functions[i].value(&in)
	}
	return functions
}

// empty returns the values of the functions for no records.
func (p *Plan) empty() []Value {
	functions := make([]Value, len(p.Compute))
	for i, f := range p.Compute {
		if f.Kind == Count {
			functions[i] = Value{Kind: Integer}
		}
	}
	return functions
}

// Rows yields the rows. They are ordered by the items of Sort, then by time step ascending, buckets ascending, the first
// function descending, and the keys bytewise with missing ones first. In items of Sort, buckets and the first function, missing values
// come last.
//
// If the only key besides the pivot key is a time step, steps without records have a row too: counts are 0, other functions
// missing. If the range has more than 10,000 steps, this is limited to gaps between records of at most 10,000 steps.
func (r *Result) Rows() iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		empty := r.empty()
		row := Row{Values: make([]Value, len(r.Columns))}
		stop := errors.New("stop")
		err := r.sorter.Each(func(_, payload []byte) error {
			if err := r.read(&row, payload, empty); err != nil {
				return err
			}
			if !yield(row, nil) {
				return stop
			}
			return nil
		})
		if err != nil && !errors.Is(err, stop) {
			yield(Row{}, err)
		}
	}
}

// Found yields the rows, none if there are no records.
func (r *Result) Found() iter.Seq2[Row, error] {
	if r.Total == 0 {
		return func(func(Row, error) bool) {}
	}
	return r.Rows()
}

// read decodes a row.
func (r *Result) read(row *Row, payload []byte, empty []Value) error {
	in := &wire.Reader{Rest: payload}
	flags := uint32(in.Uvarint())
	if !r.key.parse(r.Plan, in.Text(), flags, false) {
		return errCorrupt
	}
	row.Keys = row.Keys[:0]
	for i := range r.By {
		if i != r.Pivot {
			row.Keys = append(row.Keys, r.key.value(r.Plan, i))
		}
	}
	for i := range row.Values {
		row.Values[i] = empty[r.Columns[i].Function]
	}
	for n := in.Uvarint(); n > 0 && !in.Bad; n-- {
		start := 0
		if r.Pivot >= 0 {
			number := in.Uvarint()
			if number >= uint64(len(r.cells)) {
				return errCorrupt
			}
			start = r.cells[number]
		}
		for i := range r.Compute {
			row.Values[start+i] = readValue(in)
		}
	}
	if in.Bad || len(in.Rest) > 0 {
		return errCorrupt
	}
	return nil
}

func errTooManyColumns(header string) error {
	return fmt.Errorf("%w: --pivot %s has more than %d values", ErrColumns, header, MaxColumns)
}
