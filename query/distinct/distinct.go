// Package distinct finds the different values of a field of the records that a query selects.
package distinct

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"logstow/query/aggregate"
	"logstow/query/aggregate/spill"
	"logstow/query/match"
	"logstow/query/merge"
	"logstow/query/source"
	"logstow/query/stats"

	"logstow/field"
)

// Value is a value of a field.
type Value struct {
	// Text is the value as written, a string without quotes and escapes; it is valid until the function
	// that got it returns.
	Text []byte
	// Bare is set for a number, true and false: their text is JSON.
	Bare bool
	// Count is the number of records that have the value.
	Count uint64
}

// Summary is what was found beside the values.
type Summary struct {
	// Records is the number of records that match, Missing that of those in which the field is
	// missing or null.
	Records, Missing uint64
	// Unseen is set if the field is one of the message and no record has it.
	Unseen bool
}

// Options are the settings of [Run].
type Options struct {
	// Limit is the number of values wanted; 0 is all.
	Limit int
	// Memory is about the number of bytes that the values may take before some go through temporary files.
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

// Run calls emit with the different values of a field of all records of segments that match, in the order of
// their bytes. Equal texts are one value. What metadata, footers and columns answer is not read. It returns emit's
// error, that of ctx, or one of the temporary files; what cannot be read is in the report instead.
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
	const sorterPart = 8 // of the memory: that of the groups is used no more
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

// sortRows puts the rows of a table into a sorter, except that of records without a value, whose number it returns.
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
	sorted, err := sorter.Sorted()
	if err != nil {
		return err
	}
	err = spill.Each(sorted, func(text, payload []byte) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		count, n := binary.Uvarint(payload[1:])
		if n <= 0 {
			return errors.New("cannot read temporary file: invalid count")
		}
		return emit(Value{Text: text, Bare: payload[0] == 1, Count: count})
	})
	return errors.Join(err, sorted.Close())
}
