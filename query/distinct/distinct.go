// Package distinct finds the distinct values of a field of the records that a query selects.
package distinct

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"logstow/query/aggregate"
	"logstow/query/match"
	"logstow/query/merge"
	"logstow/query/source"
	"logstow/query/stats"

	"logstow/field"
	"logstow/spill"
)

// Value is a value of a field.
type Value struct {
	// Text is the value as written; a string is without quotes and escapes. It is valid until the function that received it
	// returns.
	Text []byte
	// Bare is set for a number or truth value, whose text is JSON.
	Bare bool
	// Count is the number of records that have the value.
	Count uint64
}

// Summary has totals of [Run].
type Summary struct {
	// Records is the number of matches, Missing that of matches in which the field is missing or null.
	Records, Missing uint64
	// Unseen is set if the field is a field of the message that no match has.
	Unseen bool
}

// Options are the settings of [Run].
type Options struct {
	// Limit is the number of values wanted; 0 is all.
	Limit int
	// Memory is the approximate memory for values in bytes; more are written to temporary files.
	Memory int64
	// Dir is the directory of temporary files; "" is the system's.
	Dir string
}

// Name parses the name of a field.
func Name(text string) (field.Name, error) {
	names, err := field.ParseRecordNames([]string{text})
	if err != nil {
		return field.Name{}, err
	}
	return names[0], nil
}

// Run calls emit with the distinct values of a field in the matches of segments, in bytewise order. Equal texts are one value. It reads
// text only if metadata, footers and columns do not suffice. It returns an error of emit, of ctx, or of the temporary files. Read failures
// are in the report instead.
func Run(ctx context.Context, s *merge.Scheduler, segments []*source.Segment, name field.Name, opts Options, emit func(Value) error) (sum Summary, err error) {
	spec := aggregate.Spec{Pivot: -1}
	if spec.By, err = aggregate.ParseBy([]string{name.Text}); err == nil {
		spec.Compute, err = aggregate.ParseCompute([]string{"count"})
	}
	if err != nil {
		return sum, fmt.Errorf("%w: %w", match.ErrSelection, err)
	}
	counts, err := stats.Compile(spec, time.Time{})
	if err != nil {
		return sum, err
	}
	table, err := counts.Run(ctx, s, segments, opts.Memory, opts.Dir)
	if err != nil {
		return sum, err
	}
	defer func() { err = errors.Join(err, table.Close()) }()
	const sorterPart = 8 // the groups still have memory
	sorter := spill.NewSorter(opts.Dir, max(opts.Memory/sorterPart, 64<<10), opts.Limit)
	defer func() { err = errors.Join(err, sorter.Close()) }()
	sum.Records, sum.Unseen = table.Total, len(table.Unseen) > 0
	if table.Total == 0 {
		return sum, nil
	}
	if sum.Missing, err = sortRows(table, sorter); err != nil {
		return sum, err
	}
	return sum, emitAll(ctx, sorter, emit)
}

// sortRows puts the rows of a table into a sorter, and returns the number of records without a value.
func sortRows(table *stats.Table, sorter *spill.Sorter) (missing uint64, err error) {
	var text, payload []byte
	for row, err := range table.Rows() {
		if err != nil {
			return 0, err
		}
		key, count := row.Keys[0], uint64(row.Values[0].Int)
		if key.Kind == aggregate.Missing {
			missing += count
			continue
		}
		text = key.Append(text[:0])
		payload = append(payload[:0], 0)
		if key.Kind != aggregate.Text {
			payload[0] = 1
		}
		if err := sorter.Put(text, binary.AppendUvarint(payload, count)); err != nil {
			return 0, err
		}
	}
	return missing, nil
}

// emitAll emits the values of a sorter.
func emitAll(ctx context.Context, sorter *spill.Sorter, emit func(Value) error) error {
	return sorter.Each(func(text, payload []byte) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		count, n := binary.Uvarint(payload[1:])
		if n <= 0 {
			return errors.New("cannot read temporary file: invalid count")
		}
		return emit(Value{Text: text, Bare: payload[0] == 1, Count: count})
	})
}
