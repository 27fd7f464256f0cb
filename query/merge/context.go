package merge

import (
	"bytes"
	"math"
	"slices"
	"time"

	"logstow/query/match"
	"logstow/query/source"
)

// ContextReach is the maximum time between a match and the records around it.
const ContextReach = time.Hour

// ContextLines are the numbers of records to emit before and after each match, from the source of the match.
type ContextLines struct {
	Before, After int
}

// instance identifies an instance of a service in a store.
type instance struct{ store, service, name string }

func instanceOf(m *Match) instance {
	return instance{m.Store, m.Segment.Name.Service, m.Instance}
}

// sourceID identifies a source of an instance.
type sourceID struct {
	instance
	source string
}

// intervals is a set of times as disjoint intervals, in order.
type intervals struct{ all [][2]int64 }

// add adds the interval [from, to].
func (v *intervals) add(from, to int64) {
	i, _ := slices.BinarySearchFunc(v.all, from, func(one [2]int64, from int64) int {
		if one[1] < from {
			return -1
		}
		return 1
	})
	j := i
	for j < len(v.all) && v.all[j][0] <= to {
		from, to = min(from, v.all[j][0]), max(to, v.all[j][1])
		j++
	}
	v.all = slices.Replace(v.all, i, j, [2]int64{from, to})
}

// overlaps reports whether any interval overlaps [from, to]; nil has no intervals.
func (v *intervals) overlaps(from, to int64) bool {
	return v != nil && slices.ContainsFunc(v.all, func(one [2]int64) bool { return one[0] <= to && one[1] >= from })
}

// ContextCollector emits the matches of a query and the records around them. The caller passes all matches to AddMatch first, and
// then all records near a match to Add.
type ContextCollector struct {
	matcher    *match.Matcher
	scanner    *match.Scanner
	lines      ContextLines
	emit       func(Match) error
	left       int // number of matches that Add has not seen
	windows    map[instance]*intervals
	sources    map[sourceID]*sourceContext
	lastSource *sourceContext // the source of the last record emitted
}

// NewContextCollector makes a collector for the matches of a query in order o.
func NewContextCollector(m *match.Matcher, o Order, lines ContextLines, emit func(Match) error) *ContextCollector {
	if o.Newest { // later records come first
		lines.Before, lines.After = lines.After, lines.Before
	}
	return &ContextCollector{
		matcher: m,
		scanner: match.NewScanner(m),
		lines:   lines,
		emit:    emit,
		windows: map[instance]*intervals{},
		sources: map[sourceID]*sourceContext{},
	}
}

// sourceContext is the state of a source.
type sourceContext struct {
	// before are the latest records that were not emitted, in output order.
	before []Match
	// after is the number of records to emit after the last match, which was at matchTime.
	after     int
	matchTime int64
	// gap is set if a record was omitted since the last one emitted.
	gap bool
}

// AddMatch adds a match.
func (w *ContextCollector) AddMatch(m *Match) {
	w.left++
	at := instanceOf(m)
	if w.windows[at] == nil {
		w.windows[at] = &intervals{}
	}
	w.windows[at].add(m.Time-int64(ContextReach), m.Time+int64(ContextReach))
}

// HasMatches reports whether there was a match.
func (w *ContextCollector) HasMatches() bool { return w.left > 0 }

// NearSegments returns the segments that may contain records around a match.
func (w *ContextCollector) NearSegments(segments []*source.Segment) []*source.Segment {
	var near []*source.Segment
	for _, s := range segments {
		if w.isNear(s) {
			near = append(near, s)
		}
	}
	return near
}

// isNear reports whether a segment may contain records around a match. A mixed segment
// has records of any instance.
func (w *ContextCollector) isNear(s *source.Segment) bool {
	if !s.Meta.Mixed() {
		return w.windows[instance{s.Store, s.Name.Service, s.Meta.Instance}].overlaps(s.Meta.Start, s.Meta.End)
	}
	for at, windows := range w.windows {
		if at.store == s.Store && at.service == s.Name.Service && windows.overlaps(s.Meta.Start, s.Meta.End) {
			return true
		}
	}
	return false
}

// Add adds the next record, in output order. It returns an error of emit, or one that ends [Run] because no more records are
// wanted.
func (w *ContextCollector) Add(m Match) error {
	at := instanceOf(&m)
	if !w.windows[at].overlaps(m.Time, m.Time) {
		return nil
	}
	id := sourceID{at, string(m.Source())}
	s := w.sources[id]
	if s == nil {
		s = &sourceContext{gap: true}
		w.sources[id] = s
	}
	if w.left > 0 && w.isMatch(&m) {
		w.left--
		return w.match(s, m)
	}
	if s.after > 0 && near(m.Time, s.matchTime) {
		s.after--
		m.Context = true
		return w.emitRecord(s, m)
	}
	s.after = 0
	if w.left == 0 && !w.waiting() {
		return errLimitReached
	}
	w.buffer(s, m)
	return nil
}

func near(a, b int64) bool {
	return a-b <= int64(ContextReach) && b-a <= int64(ContextReach)
}

// waiting reports whether a source still wants records after a match.
func (w *ContextCollector) waiting() bool {
	for _, s := range w.sources {
		if s.after > 0 {
			return true
		}
	}
	return false
}

// isMatch reports whether a record matches.
func (w *ContextCollector) isMatch(m *Match) bool {
	checks := match.Checks{
		Level:    true,
		Service:  m.Segment.Name.Service,
		Instance: m.Instance,
		Fields:   w.matcher.FieldsOf(m.Segment.Meta.Parse),
	}
	_, ok := w.scanner.Match(m.Line, checks, bytes.ContainsRune(m.Line, '\n'))
	return ok
}

// match emits a match after the records before it.
func (w *ContextCollector) match(s *sourceContext, m Match) error {
	for _, k := range s.before {
		if !near(k.Time, m.Time) {
			s.gap = true
			continue
		}
		k.Context = true
		if err := w.emitRecord(s, k); err != nil {
			return err
		}
	}
	s.before = s.before[:0]
	s.after, s.matchTime = w.lines.After, m.Time
	return w.emitRecord(s, m)
}

// emitRecord emits a record.
func (w *ContextCollector) emitRecord(s *sourceContext, m Match) error {
	m.Gap = s.gap || w.lastSource != nil && w.lastSource != s
	s.gap, w.lastSource = false, s
	return w.emit(m)
}

// buffer keeps a record in case a match follows.
func (w *ContextCollector) buffer(s *sourceContext, m Match) {
	if w.lines.Before == 0 || w.left == 0 {
		s.gap = true
		return
	}
	if len(s.before) == w.lines.Before {
		s.gap = true
		line := append(s.before[0].Line[:0], m.Line...)
		copy(s.before, s.before[1:])
		m.Line = line
		s.before[len(s.before)-1] = m
		return
	}
	m.Line = bytes.Clone(m.Line)
	s.before = append(s.before, m)
}

// MaxContextLines is the maximum of [ContextLines].
const MaxContextLines = math.MaxInt32
