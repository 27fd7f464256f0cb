// Package logmetrics computes Prometheus metrics from the records of a shipper: counters, gauges and
// histograms over the records that match a condition, with labels from their fields.
//
// A record is counted once, when it has been appended to the buffer: after processing, and with the time,
// level and fields with which it is stored. So logq stats computes the same values from the stored records.
// The values are kept in memory and begin at 0 when the process starts, as Prometheus expects.
// docs/log-metrics.md describes the configuration.
package logmetrics

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"logstow/record"
)

// Set computes metrics. It is safe for concurrent use.
type Set struct {
	instance string
	current  atomic.Pointer[program]
}

// New returns a Set without metrics, for the shipper with an instance ID.
func New(instance string) *Set {
	s := &Set{instance: instance}
	s.current.Store(newProgram(nil, instance))
	return s
}

// Prepare compiles definitions and returns a function that replaces the current ones by them. A metric whose
// definition differs at most in MaxSeries keeps its values; others begin at 0. Nothing changes before apply is
// called. After a call of Prepare, the functions of earlier calls must not be used.
func (s *Set) Prepare(specs []Spec) (apply func(), err error) {
	before := s.current.Load().metrics
	if len(specs) > MaxMetrics {
		return nil, fmt.Errorf("%d log metrics, at most %d allowed", len(specs), MaxMetrics)
	}
	all := make([]*metric, 0, len(specs))
	var errs []error
	for i := range specs {
		if err := specs[i].Clash(specs[:i]); err != nil {
			errs = append(errs, err)
			continue
		}
		at := slices.IndexFunc(before, func(m *metric) bool { return m.spec.same(&specs[i]) })
		if at >= 0 {
			all = append(all, before[at])
			continue
		}
		m, err := compile(specs[i])
		errs = append(errs, err)
		all = append(all, m)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return func() {
		for i, m := range all {
			m.setLimit(specs[i].MaxSeries)
		}
		s.current.Store(newProgram(all, s.instance))
	}, nil
}

// Observe adds records of a service. parser is the parser of their fields, in the form that a segment's footer
// contains. Observe does not retain the records.
func (s *Set) Observe(service, parser string, records []record.Record) {
	p := s.current.Load()
	if len(p.metrics) == 0 || len(records) == 0 {
		return
	}
	e := p.get(parser)
	e.observe(service, records)
	p.put(parser, e)
}

// maxParsers is the number of parsers for which evaluators are kept. W3C logs have a parser for each set of
// columns.
const maxParsers = 64

// program is the compiled form of all definitions.
type program struct {
	instance string
	metrics  []*metric
	// fields are the fields of messages that the metrics use, each once.
	fields []string

	mu sync.Mutex
	// free holds the evaluators that are not in use, by parser.
	free map[string][]*evaluator
}

func newProgram(metrics []*metric, instance string) *program {
	p := &program{instance: instance, metrics: metrics, free: map[string][]*evaluator{}}
	for _, m := range metrics {
		for _, name := range m.fields() {
			if !slices.Contains(p.fields, name) {
				p.fields = append(p.fields, name)
			}
		}
	}
	return p
}

// fields returns the names of the fields of the message that a metric uses.
func (m *metric) fields() (names []string) {
	if m.where != nil {
		names = m.where.Fields()
	}
	if m.value != "" {
		names = append(names, m.value)
	}
	for _, l := range m.labels {
		if l.fixed == "" {
			names = append(names, l.field)
		}
	}
	return names
}

// get returns an evaluator for a parser, for exclusive use until put.
func (p *program) get(parser string) *evaluator {
	p.mu.Lock()
	defer p.mu.Unlock()
	if free := p.free[parser]; len(free) > 0 {
		p.free[parser] = free[:len(free)-1]
		return free[len(free)-1]
	}
	return newEvaluator(p, parser)
}

func (p *program) put(parser string, e *evaluator) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.free[parser]; !known && len(p.free) >= maxParsers {
		clear(p.free)
	}
	p.free[parser] = append(p.free[parser], e)
}
