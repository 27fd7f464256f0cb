package logmetrics

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"sync"

	"logstow/field"
	"logstow/field/where"
)

// metric is a compiled definition and its values. It is safe for concurrent use.
type metric struct {
	spec   Spec
	where  *where.Program // nil is true of all records
	value  string         // field; "" counts records
	labels []label
	scale  scale
	// bounds are the upper bounds of buckets as served, thresholds those of the values before scaling.
	bounds, thresholds []float64

	mu     sync.Mutex
	limit  int
	series map[string]*series
	// skipped counts the records that match and are not in a series, by reason.
	skipped [reasons]uint64
}

// reason is why a record that matches is in no series.
type reason int

const (
	overLimit reason = iota
	longLabel
	noNumber
	reasons
)

// String is the value of the label.
func (r reason) String() string { return [...]string{"max-series", "label-size", "no-number"}[r] }

// series has the values of one combination of labels.
type series struct {
	labels []string
	count  uint64
	// whole and rest add up to the sum of the values, before scaling: as long as values and sum are whole
	// it is exact, as that of logq stats.
	whole      int64
	rest, lost float64
	last       float64
	buckets    []uint64 // not cumulative; values above all bounds are only in count
}

// compile makes a metric of a checked definition.
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
		if m.where, err = compileWhere(s.Where); err != nil {
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
	m.scale.times, _ = new(big.Float).SetInt(factor.Num()).Float64()
	m.scale.by, _ = new(big.Float).SetInt(factor.Denom()).Float64()
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
	if len(m.labels) == 0 && s.Type != Gauge { // its only series is there from the start
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

// value is a number, whole if it is exact as such.
type value struct {
	whole   int64
	float   float64
	isWhole bool
}

// numberOf is the number of a field; ok is false if it has none, or none that the type of the metric takes.
func (m *metric) numberOf(v field.Value) (n value, ok bool) {
	if n.whole, n.isWhole = v.Integer(); n.isWhole {
		n.float = float64(n.whole)
	} else {
		d, isNumber := v.Decimal()
		if !isNumber {
			return n, false
		}
		if n.float = d.Float(); math.IsInf(n.float, 0) || math.IsNaN(n.float) {
			return n, false
		}
		n.whole, n.isWhole = d.Int64()
	}
	return n, m.spec.Type != Counter || n.float >= 0
}

// skip counts a record that is in no series.
func (m *metric) skip(why reason) {
	m.mu.Lock()
	m.skipped[why]++
	m.mu.Unlock()
}

// add adds a record to the series of a key, which it does not retain.
func (m *metric) add(key []byte, n value) {
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
		s.last = n.float
	case Histogram:
		if i, _ := slices.BinarySearch(m.thresholds, n.float); i < len(s.buckets) {
			s.buckets[i]++
		}
		s.sum(n)
	default:
		if m.value != "" {
			s.sum(n)
		}
	}
}

// newSeries adds a series. The lock is held.
func (m *metric) newSeries(key string) *series {
	s := &series{labels: splitKey(key), buckets: make([]uint64, len(m.thresholds))}
	m.series[key] = s
	return s
}

// sum adds a value to the sum.
func (s *series) sum(n value) {
	if total := s.whole + n.whole; n.isWhole && (total >= s.whole) == (n.whole >= 0) {
		s.whole = total
		return
	}
	// Neumaier's summation: the error of each addition is kept.
	total := s.rest + n.float
	if math.Abs(s.rest) >= math.Abs(n.float) {
		s.lost += s.rest - total + n.float
	} else {
		s.lost += n.float - total + s.rest
	}
	s.rest = total
}

// total is the sum, before scaling.
func (s *series) total() float64 { return float64(s.whole) + (s.rest + s.lost) }
