package logmetrics

import (
	"fmt"
	"math/big"
	"slices"
	"sync"

	"logstow/exact"
	"logstow/field/where"
	"logstow/message"
)

// metric is a compiled definition and its values. It is safe for concurrent use.
type metric struct {
	spec   Spec
	where  *where.Program // nil matches all records
	value  string         // the field; "" counts records
	labels []label
	scale  scale
	// bounds are the upper bounds of buckets as served, thresholds the same bounds before scaling.
	bounds, thresholds []float64

	mu     sync.Mutex
	limit  int
	series map[string]*series
	// skipped counts the records that match but are not in a series, by reason.
	skipped [reasons]uint64
}

// reason is the reason why a record that matches is not in a series.
type reason int

const (
	overLimit reason = iota
	longLabel
	noNumber
	reasons // the number of reasons
)

// String returns the value of the label reason.
func (r reason) String() string { return [...]string{"max-series", "label-size", "no-number"}[r] }

// series holds the values for one combination of labels.
type series struct {
	labels  []string
	count   uint64
	sum     exact.Sum // of the values before scaling
	last    float64
	buckets []uint64 // not cumulative; values above all bounds are in no bucket
}

// compile validates and compiles a definition.
func compile(s Spec) (m *metric, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("log metric %s: %w", s.Name, err)
		}
	}()
	if err := CheckName(s.Name); err != nil {
		return nil, err
	}
	if s.Type, err = ParseType(string(s.Type)); err != nil {
		return nil, err
	}
	if err := s.Check(); err != nil {
		return nil, err
	}
	m = &metric{spec: s, series: map[string]*series{}}
	m.setLimit(s.MaxSeries)
	if s.Where != "" {
		if m.where, err = where.CompileUntimed(s.Where); err != nil {
			return nil, err
		}
	}
	if s.Value != "" {
		if m.value, err = valueField(s.Value); err != nil {
			return nil, err
		}
	}
	if m.labels, err = labels(s.Labels, s.Type); err != nil {
		return nil, err
	}
	factor := big.NewRat(1, 1)
	if s.Scale != "" {
		if err := CheckScale(s.Scale); err != nil {
			return nil, err
		}
		factor, _ = number(s.Scale)
	}
	m.scale.numerator, _ = new(big.Float).SetInt(factor.Num()).Float64()
	m.scale.denominator, _ = new(big.Float).SetInt(factor.Denom()).Float64()
	if s.Type == Histogram {
		if len(s.Buckets) == 0 {
			s.Buckets = DefaultBuckets()
		}
		if err := CheckBuckets(s.Buckets); err != nil {
			return nil, err
		}
		if m.bounds, m.thresholds, err = thresholds(s.Buckets, factor); err != nil {
			return nil, err
		}
	}
	if len(m.labels) == 0 && s.Type != Gauge { // its only series exists from the start
		m.newSeries("")
	}
	return m, nil
}

func (m *metric) setLimit(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.limit = n
	if n == 0 {
		m.limit = DefaultMaxSeries
	}
}

// numberOf returns the number of a field. ok is false if it is not a number within the limits of sums, or negative for a counter.
func (m *metric) numberOf(v message.Value) (n exact.Number, ok bool) {
	n, ok = v.Decimal()
	return n, ok && n.InRange() && (m.spec.Type != Counter || n.Sign() >= 0)
}

// skip counts a record that is not added to a series.
func (m *metric) skip(why reason) {
	m.mu.Lock()
	m.skipped[why]++
	m.mu.Unlock()
}

// add adds a record to the series of a key. It does not retain key.
func (m *metric) add(key []byte, n exact.Number) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.series[string(key)]
	if s == nil {
		if len(m.series) >= m.limit {
			m.skipped[overLimit]++
			return
		}
		s = m.newSeries(string(key))
	}
	s.count++
	switch m.spec.Type {
	case Gauge:
		s.last = n.Float()
	case Histogram:
		if i, _ := slices.BinarySearch(m.thresholds, n.Float()); i < len(s.buckets) {
			s.buckets[i]++
		}
		s.sum.Add(n)
	default:
		if m.value != "" {
			s.sum.Add(n)
		}
	}
}

// newSeries adds a series. The lock is held.
func (m *metric) newSeries(key string) *series {
	s := &series{labels: splitKey(key), buckets: make([]uint64, len(m.thresholds))}
	m.series[key] = s
	return s
}
