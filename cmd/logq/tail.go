package main

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"logstow/internal/units"
	"logstow/query"
)

const (
	// maxTail limits the memory of the records that --tail keeps, in bytes.
	maxTail = 32 << 20
	// keptSize is the approximate memory of a record in addition to its text.
	keptSize = 128
)

// errTailFull ends the search at maxTail.
var errTailFull = errors.New("no more records are kept")

// printTail calls print with the last r.tail records of a plan in order of time.
func (r *request) printTail(ctx context.Context, q *query.Query, p *query.Plan, emit func(query.Match) error) error {
	sel := r.sel
	sel.Newest, sel.Limit = true, r.tail
	backwards, err := q.With(sel)
	if err != nil {
		return err
	}
	var kept []query.Match
	bytesKept := 0
	err = backwards.Run(ctx, p, func(m query.Match) error {
		if bytesKept += len(m.Line) + keptSize; bytesKept > maxTail && len(kept) > 0 {
			return errTailFull
		}
		m.Line = bytes.Clone(m.Line)
		kept = append(kept, m)
		return nil
	})
	if errors.Is(err, errTailFull) {
		r.notef("printed only the last %s: --tail %d would need more than %s of memory", units.Count(len(kept), "record"),
			r.tail, units.FormatSize(maxTail))
		err = nil
	}
	for _, m := range slices.Backward(kept) {
		if err != nil {
			break
		}
		err = emit(m)
	}
	return err
}
