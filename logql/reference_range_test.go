package logql_test

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"logstow/logql/syntax"
)

// refEntry is a record that a log query finds.
type refEntry struct {
	time                     int64
	line                     string
	stream, metadata, parsed map[string]string
	fields                   map[string]string // those whose names no other label has
}

// refLogs finds the records of [from, to), in the order of time.
func refLogs(records []*refRecord, log *syntax.LogExpr, from, to int64) (found []refEntry) {
	for _, r := range records {
		w := newRow(r)
		if r.time() >= from && r.time() < to && refSelects(log.Matchers, r) && w.process(log.Stages) {
			maps.DeleteFunc(w.fields, func(name, _ string) bool { _, parsed := w.parsed[name]; return parsed })
			found = append(found, refEntry{w.time, w.line, w.stream, w.metadata, w.parsed, w.fields})
		}
	}
	return found
}

// evaluator evaluates metric queries at one time after the other.
type evaluator struct {
	records []*refRecord
	// known are the samples of all records by range, which the windows are cut of.
	known map[*syntax.LogRange][]sample
	// sums are the sums around range aggregations, which group their samples.
	sums map[*syntax.RangeAggregation]*syntax.VectorAggregation
}

type sample struct {
	time   int64
	labels map[string]string
	value  float64
	failed bool
}

// element is a series at one time.
type element struct {
	labels map[string]string
	value  float64
}

var errReference = errors.New("the query has no result")

// key is a text that is equal for equal labels only.
func key(labels map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		fmt.Fprintf(&b, "%q=%q,", name, labels[name])
	}
	return b.String()
}

// keepNames is the labels with a name of the list; withoutNames those without.
func keepNames(labels map[string]string, names []string) map[string]string {
	kept := map[string]string{}
	for _, name := range names {
		value, ok := labels[name]
		if name == "service" && value == "" { // an alias, under which the result has it
			value, ok = labels["service_name"]
		}
		if ok {
			kept[name] = value
		}
	}
	return kept
}

func withoutNames(labels map[string]string, names []string) map[string]string {
	kept := maps.Clone(labels)
	for _, name := range names {
		if name == "service" && labels["service"] == "" {
			name = "service_name"
		}
		delete(kept, name)
	}
	return kept
}

func grouped(labels map[string]string, g *syntax.Grouping) map[string]string {
	switch {
	case g == nil:
		return map[string]string{}
	case g.Without:
		return withoutNames(labels, g.Labels)
	default:
		return keepNames(labels, g.Labels)
	}
}

// names are the labels that a query names, besides the selector.
func names(e any, found map[string]bool) {
	switch e := e.(type) {
	case *syntax.LogExpr:
		for _, stage := range e.Stages {
			names(stage, found)
		}
	case *syntax.LabelFilter:
		names(e.Condition, found)
	case *syntax.Junction:
		names(e.Left, found)
		names(e.Right, found)
	case *syntax.StringCondition:
		found[e.Matcher.Name] = true
	case *syntax.NumberCondition:
		found[e.Name] = true
	case *syntax.IPCondition:
		found[e.Name] = true
	case *syntax.LineFormat:
		templateNames(e.Template, found)
	case *syntax.LabelFormat:
		for _, item := range e.Items {
			found[item.Rename] = true
			templateNames(item.Template, found)
		}
	case *syntax.KeepLabels:
		for _, item := range e.Items {
			found[item.Name] = true
		}
	}
}

func templateNames(text string, found map[string]bool) {
	for _, field := range compiled(`\.([A-Za-z_][A-Za-z0-9_]*)`).FindAllStringSubmatch(text, -1) {
		found[field[1]] = true
	}
}

// samples are those of all records. outer are the labels that groupings around the range name.
func (e *evaluator) samples(a *syntax.RangeAggregation, outer map[string]bool) []sample {
	r := a.Range
	if all, ok := e.known[r]; ok {
		return all
	}
	stages := e.neededStages(a)
	wanted := e.wanted(a, stages)
	named := maps.Clone(outer)
	names(r.Log, named)
	if r.Unwrap != nil {
		for _, f := range r.Unwrap.Filters {
			names(f, named)
		}
	}
	all := []sample{}
	for _, record := range e.records {
		w := newRow(record)
		w.wanted = wanted
		if !refSelects(r.Log.Matchers, record) || !w.process(stages) {
			continue
		}
		value := 1.0
		if a.Op == syntax.BytesRate || a.Op == syntax.BytesOver {
			value = float64(len(w.line))
		}
		if u := r.Unwrap; u != nil {
			var ok bool
			if value, ok = w.unwrap(u); !ok {
				continue
			}
		}
		labels := map[string]string{}
		for name, value := range w.fields {
			if named[name] {
				labels[name] = value
			}
		}
		maps.Copy(labels, w.stream)
		maps.Copy(labels, w.parsed)
		for name, value := range w.metadata {
			if named[name] {
				labels[name] = value
			}
		}
		all = append(all, sample{w.time, labels, value, w.get(refError) != "" && !w.counted})
	}
	e.known[r] = all
	return all
}

func (w *row) unwrap(u *syntax.Unwrap) (float64, bool) {
	text := w.get(u.Label)
	if text == "" {
		return 0, false
	}
	convert := map[syntax.Unit]func(string) (float64, error){
		syntax.UnitNone: refFloat, syntax.UnitDuration: refSeconds, syntax.UnitBytes: refBytes,
	}[u.Unit]
	value, err := convert(text)
	if err != nil {
		value = 0
		w.fail("SampleExtractionErr")
	}
	for _, f := range u.Filters {
		if !w.holds(f.Condition) {
			return 0, false
		}
	}
	return value, true
}

// aggregateRange is a range aggregation at a time.
func (e *evaluator) aggregateRange(a *syntax.RangeAggregation, at int64, outer map[string]bool) ([]element, error) {
	if a.Grouping != nil {
		outer = maps.Clone(outer)
		for _, name := range a.Grouping.Labels {
			outer[name] = true
		}
	}
	by, isGrouped := e.grouping(a)
	named := func(label string) bool {
		return isGrouped && by != nil && !by.Without && slices.Contains(by.Labels, label)
	}
	to := at - int64(a.Range.Offset)
	from := to - int64(a.Range.Range)
	groups := map[string][]sample{}
	for _, s := range e.samples(a, outer) {
		if s.time <= from || s.time > to {
			continue
		}
		if s.failed {
			return nil, errReference
		}
		// The unwrapped label became the value, and is a label only where the grouping names it.
		plain := s.labels
		if u := a.Range.Unwrap; u != nil && !named(u.Label) {
			s.labels = withoutNames(s.labels, []string{u.Label})
		}
		if g := a.Grouping; g != nil {
			s.labels = grouped(s.labels, g)
			for _, name := range []string{refError, refDetails} {
				if plain[name] != "" {
					s.labels[name] = plain[name]
				}
			}
		}
		groups[key(s.labels)] = append(groups[key(s.labels)], s)
	}
	if a.Op == syntax.AbsentOver {
		if len(groups) > 0 {
			return nil, nil
		}
		labels := map[string]string{}
		for _, m := range a.Range.Log.Matchers {
			if m.Op == syntax.MatchEqual {
				labels[m.Name] = m.Value
			}
		}
		return []element{{labels, 1}}, nil
	}
	var result []element
	for _, window := range groups {
		if value, ok := overWindow(a, window, from, to); ok {
			result = append(result, element{window[0].labels, value})
		}
	}
	return result, nil
}

func overWindow(a *syntax.RangeAggregation, window []sample, from, to int64) (value float64, ok bool) {
	seconds := time.Duration(to - from).Seconds()
	values := make([]float64, len(window))
	for i, s := range window {
		values[i] = s.value
	}
	switch a.Op {
	case syntax.CountOver:
		return float64(len(values)), true
	case syntax.Rate, syntax.BytesRate:
		return total(values) / seconds, true
	case syntax.BytesOver, syntax.SumOver:
		return total(values), true
	case syntax.AvgOver:
		return total(values) / float64(len(values)), true
	case syntax.MaxOver:
		return extreme(values, true), true
	case syntax.MinOver:
		return extreme(values, false), true
	case syntax.FirstOver:
		return values[0], true
	case syntax.LastOver:
		return values[len(values)-1], true
	case syntax.StdvarOver:
		return variance(values), true
	case syntax.StddevOver:
		return math.Sqrt(variance(values)), true
	case syntax.QuantileOver:
		return quantile(a.Param, values), true
	case syntax.RateCounter:
		return counterRate(window, from, to)
	}
	panic("unknown range aggregation " + string(a.Op))
}

func total(values []float64) (sum float64) {
	for _, v := range values {
		sum += v
	}
	return sum
}

// extreme is the greatest or the least value; NaN only if there is nothing else.
func extreme(values []float64, greatest bool) float64 {
	best := math.NaN()
	for _, v := range values {
		if math.IsNaN(best) || greatest && v > best || !greatest && v < best {
			best = v
		}
	}
	return best
}

func variance(values []float64) float64 {
	mean, sum := total(values)/float64(len(values)), 0.0
	for _, v := range values {
		sum += (v - mean) * (v - mean)
	}
	return sum / float64(len(values))
}

// quantile interpolates between the two values around the rank; NaN is the least of values.
func quantile(q float64, values []float64) float64 {
	switch {
	case q < 0:
		return math.Inf(-1)
	case q > 1:
		return math.Inf(1)
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := q * float64(len(sorted)-1)
	low, high := int(math.Floor(rank)), int(math.Ceil(rank))
	share := rank - math.Floor(rank)
	return sorted[low]*(1-share) + sorted[high]*share
}

// counterRate is 0 for one sample, otherwise Prometheus' rate: the increase, resets added, extrapolated to the ends of the window if samples come near them.
func counterRate(window []sample, from, to int64) (float64, bool) {
	if len(window) < 2 {
		return 0, true
	}
	first, last := window[0], window[len(window)-1]
	increase := last.value - first.value
	for i := 1; i < len(window); i++ {
		if window[i].value < window[i-1].value {
			increase += window[i-1].value
		}
	}
	span := time.Duration(last.time - first.time).Seconds()
	toStart, toEnd := time.Duration(first.time-from).Seconds(), time.Duration(to-last.time).Seconds()
	between := span / float64(len(window)-1)
	if increase > 0 && first.value >= 0 {
		toStart = min(toStart, span*first.value/increase)
	}
	covered := span
	for _, gap := range []float64{toStart, toEnd} {
		if gap < between*1.1 {
			covered += gap
		} else {
			covered += between / 2
		}
	}
	return increase * covered / span / time.Duration(to-from).Seconds(), true
}
