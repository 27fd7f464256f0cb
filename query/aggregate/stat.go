package aggregate

import (
	"logstow/columns"
	"logstow/exact"
	"logstow/internal/wire"
	"logstow/message"
	"logstow/query/rowset"
)

// statType is a kind of stat: a part of a group's state from which one or several functions are computed. The methods get the bytes of the
// stat in the state. Values are comparable; equal ones of the same input are one stat.
type statType interface {
	// size is its size in bytes, a multiple of 8.
	size() int
	// add adds a record: its value or condition at an index. Values that are not numbers are missing for a stat of numbers.
	add(m *memory, b []byte, in *input, i int)
	// addBatch adds records of a batch.
	addBatch(m *memory, b []byte, in *batchInput)
	// encode appends the stat as merge reads it. merge adds such a stat; malformed bytes make the reader fail.
	encode(m *memory, dst, b []byte) []byte
	merge(m *memory, b []byte, r *wire.Reader)
}

// Record is a record to add. Workers do not retain its memory.
type Record struct {
	// Time is in Unix nanoseconds.
	Time int64
	// Sequence orders records of the same time bytewise; it must be unique among these. It is used only if
	// [Plan.Ordered].
	Sequence []byte
	// Values are the values of [Plan.Fields], in that order.
	Values []message.Value
	// Holds reports for each of [Plan.Conditions], in that order, whether it is true; false if it is unknown.
	Holds []bool
}

// input is a record with its numbers, which stands for n records that differ in nothing that is needed.
type input struct {
	*Record
	n       uint64
	numbers []exact.Number // by field, for the fields that are read as numbers
	isNum   []bool         // whether numbers is set
	scratch []byte
}

// batchInput are the records of one group of a batch, for one stat.
type batchInput struct {
	records []uint32
	// holds has whether the stat's condition is true, for each record of the block.
	holds []bool
	// page has the field of the stat, found the values that the records have, entries the entries of the page as numbers.
	page    *columns.Page
	found   rowset.Occurrences
	entries *entryNumbers
	// low, high and sum are of the records whose values are in the page's Numbers; sum may have overflowed.
	low, high, sum int64
	scratch        []byte
}

// entryNumbers are the entries of a page as numbers; is has false for entries that are not numbers.
type entryNumbers struct {
	number []exact.Number
	is     []bool
}

// isPresent reports whether a value is neither missing nor null.
func isPresent(v message.Value) bool { return v.Kind != message.Missing && v.Kind != message.Null }

// eachEntry calls f with the numbers of entries of the page that records have, and how many have it.
func (in *batchInput) eachEntry(f func(v exact.Number, n uint32)) {
	for id, n := range in.found.Counts {
		if n > 0 && id != in.page.Plane && in.entries.is[id] {
			f(in.entries.number[id], n)
		}
	}
}

// eachNumber calls f with the number of each record, as often as it occurs.
func (in *batchInput) eachNumber(f func(v exact.Number)) {
	in.eachEntry(func(v exact.Number, n uint32) {
		for range n {
			f(v)
		}
	})
	numbers := &in.page.Numbers
	for _, i := range in.found.Numbers {
		f(exact.FromScaled(numbers.Values[i], numbers.Scale))
	}
}

// outcome is a group of which a function is computed.
type outcome struct {
	function *Function
	// m and b are memory and bytes of the function's stat.
	m *memory
	b []byte
	// records is the number of records of the group, all that of all groups; the group's range has so many nanoseconds.
	records, all uint64
	nanoseconds  int64
	// sorted caches the sorted numbers of the stat between the functions that share it; it is empty for the first.
	sorted *[]exact.Number
}
