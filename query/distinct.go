package query

import (
	"context"
	"errors"
	"math"
	"time"

	"logstow/field"
	"logstow/query/aggregate"
	"logstow/query/stats"
)

// DistinctValue is a value that [Query.Distinct] found.
type DistinctValue struct {
	// Text is the value as written; a string is without quotes and escapes. It is valid until the function that received it
	// returns.
	Text []byte
	// Bare is set for a number or truth value, whose text is JSON.
	Bare bool
	// Count is the number of records that have the value.
	Count uint64
}

// DistinctSummary has the totals of [Query.Distinct].
type DistinctSummary struct {
	// Records is the number of matches, Missing that of matches in which the field is missing or null.
	Records, Missing uint64
	// Unseen is set if the field is a field of the message that no match has.
	Unseen bool
}

// DistinctName parses the name of a field for [Query.Distinct].
func DistinctName(text string) (field.Name, error) {
	names, err := field.ParseRecordNames([]string{text})
	if err != nil {
		return field.Name{}, err
	}
	return names[0], nil
}

// Distinct calls emit with the distinct values of a field in the matches of a plan, in bytewise order, until the limit, after
// collecting all. Equal texts are one value. It counts the matches by the field as [Query.Stats] does.
func (q *Query) Distinct(ctx context.Context, p *Plan, name field.Name, emit func(DistinctValue) error) (sum DistinctSummary, err error) {
	limit := q.matcher.Selection.Limit
	spec := aggregate.Spec{By: []aggregate.Key{{Field: field.Name{Fixed: name.Fixed, Field: name.Field}}}, Pivot: -1, ByKeys: true}
	if limit > 0 {
		spec.Limit = min(limit, math.MaxInt-1) + 1 // records without a value come first
	}
	counts, err := stats.Compile(spec, time.Time{})
	if err != nil {
		return sum, err
	}
	table, err := q.Stats(ctx, p, counts)
	if err != nil {
		return sum, err
	}
	defer func() { err = errors.Join(err, table.Close()) }()
	sum.Records, sum.Unseen = table.Total, len(table.Unseen) > 0
	var text []byte
	found := 0
	for row, err := range table.Found() {
		if err != nil {
			return sum, err
		}
		key, count := row.Keys[0], uint64(row.Values[0].Int)
		switch {
		case ctx.Err() != nil:
			return sum, context.Cause(ctx)
		case key.Kind == aggregate.Missing:
			sum.Missing = count
			continue
		case found == limit && limit > 0:
			return sum, nil
		}
		text = key.Append(text[:0])
		if err := emit(DistinctValue{Text: text, Bare: key.Kind != aggregate.Text, Count: count}); err != nil {
			return sum, err
		}
		found++
	}
	return sum, nil
}
