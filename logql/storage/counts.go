package storage

import (
	"context"
	"errors"
	"slices"
	"time"

	"logstow/field"
	"logstow/logql/engine"
	"logstow/logql/labels"
	"logstow/query"
	"logstow/query/aggregate"
	"logstow/query/stats"
	"logstow/record"
)

const (
	// minWidth is the shortest interval by which records are counted; shorter ones are no faster than reading each record.
	minWidth = time.Second
	// maxIntervals is the maximum number of intervals of a count.
	maxIntervals = 100_000
)

// errLabels ends Counts: records have labels by which they cannot be counted.
var errLabels = errors.New("there are label attributes")

// Counts counts records by metadata and footers where they suffice, otherwise without processing each record.
func (v *View) Counts(ctx context.Context, sel engine.Selection, by []string, others bool, width time.Duration, emit func(ls labels.Labels, end int64, n uint64) error) (ok bool, err error) {
	if v.Applied(sel.Log) < len(sel.Log.Stages) {
		return false, nil
	}
	step := divisor(width, 24*time.Hour) // steps of logq start anew every day
	if width > 0 && (step < minWidth || step%time.Millisecond != 0 || (sel.To-sel.From)/int64(step) > maxIntervals) {
		return false, nil
	}
	if width == 0 {
		step = 0
	}
	if slices.ContainsFunc(sel.Log.Matchers, selectsAttributes) {
		return false, nil // footers do not have them
	}
	err = v.eachPlan(ctx, sel, func(s *selected, _ float64) (err error) {
		if others && slices.ContainsFunc(s.Segments, func(seg *query.Segment) bool { return seg.Meta.Labels > 0 }) {
			return errLabels
		}
		fields := countedBy(by, s.streams.selector)
		computation, err := countComputation(sel, fields, step)
		if err != nil {
			return err
		}
		table, err := s.Stats(ctx, s.Plan, computation)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, table.Close()) }()
		counts := counts{by: by, fields: fields, selector: s.streams.selector, last: sel.To - 1, width: int64(width), emit: emit}
		for row, err := range table.Rows() {
			if err != nil {
				return err
			}
			if err = counts.add(&row); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, errLabels) {
		return false, nil
	}
	return true, v.complete(err)
}

// divisor is the greatest common divisor of two durations.
func divisor(a, b time.Duration) time.Duration {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// countedBy returns the fields to count by: those of the labels, and those that matchers use.
func countedBy(by []string, s *selector) []field.Fixed {
	var fields []field.Fixed
	add := func(wanted bool, name field.Fixed) {
		if wanted && !slices.Contains(fields, name) {
			fields = append(fields, name)
		}
	}
	for _, label := range by {
		name := labels.Column(label)
		add(name != "", name)
	}
	add(len(s.instances) > 0, field.Instance)
	add(len(s.ofSource) > 0, field.Source)
	return fields
}

// countComputation makes a computation that counts by fields and time steps, which include their end; step 0 is no steps.
func countComputation(sel engine.Selection, fields []field.Fixed, step time.Duration) (*query.Computation, error) {
	spec := aggregate.Spec{Pivot: -1, From: sel.From, To: sel.To, Zone: time.UTC, Until: true}
	for _, name := range fields {
		spec.By = append(spec.By, aggregate.Key{Header: string(name), Field: field.Name{Fixed: name}})
	}
	if step > 0 {
		spec.By = append(spec.By, aggregate.Key{Header: "step", Step: field.StepOf(step)})
	}
	return stats.Compile(spec, time.Unix(0, sel.To))
}

// counts turn rows of a table into counts by labels.
type counts struct {
	by          []string
	fields      []field.Fixed
	selector    *selector
	last, width int64
	emit        func(ls labels.Labels, end int64, n uint64) error
}

// value is the text of a field of a row, as a label.
func (c *counts) value(row *aggregate.Row, name field.Fixed) string {
	text := string(row.Keys[slices.Index(c.fields, name)].Append(nil))
	if name != field.Level {
		return text
	}
	level, _ := record.ParseLevel(text) // none for a missing value
	return levelLabel(level)
}

// add emits a row, unless a matcher rejects it.
func (c *counts) add(row *aggregate.Row) error {
	n := uint64(row.Values[0].Int)
	if n == 0 { // a step between others
		return nil
	}
	if s := c.selector; len(s.instances) > 0 && !allMatch(s.instances, c.value(row, field.Instance)) ||
		len(s.ofSource) > 0 && !allMatch(s.ofSource, c.value(row, field.Source)) {
		return nil
	}
	ls := make([]labels.Label, 0, len(c.by))
	for _, label := range c.by {
		if name := labels.Column(label); name != "" {
			ls = append(ls, labels.Label{Name: label, Value: c.value(row, name)})
		}
	}
	end := c.last
	if c.width > 0 {
		end = floor(row.Keys[len(c.fields)].Int, c.width) + c.width
	}
	return c.emit(labels.New(ls...), end, n)
}
