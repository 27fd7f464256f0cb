package query

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"time"
)

// ContextReach is how far from a match, in time, records around it are looked for.
const ContextReach = time.Hour

// ContextLines says how many records of a match's source are wanted before and after it.
type ContextLines struct {
	Before, After int
}

// RunContext is Run, and hands out records around each match too: of the same
// source of the same instance, inside the range of the selection, and not further
// from the match than [ContextReach]. Matches are in output order; what is around
// one comes right before and after it, so that of several sources it is not in the
// order of time. Each record is handed out once.
func (q *Query) RunContext(ctx context.Context, p *Plan, around ContextLines, emit func(Match) error) error {
	reach := make(map[instance]*intervals)
	matches := 0
	err := q.Run(ctx, p, func(m Match) error {
		matches++
		at := instance{m.Segment.Store, m.Segment.Name.Service, m.Segment.Meta.Instance}
		if reach[at] == nil {
			reach[at] = &intervals{}
		}
		reach[at].add(m.Time-int64(ContextReach), m.Time+int64(ContextReach))
		return nil
	})
	if err != nil || matches == 0 {
		return err
	}
	if q.sel.Newest { // what comes first is what is later
		around.Before, around.After = around.After, around.Before
	}
	w := &contextCollector{
		scanner: scanner{m: q.matcher}, lines: around, emit: emit, left: matches, windows: reach, sources: map[sourceID]*sourceContext{},
	}
	every := q.withoutConditions()
	if q.sel.Levels != 0 { // the plan lacks segments of other levels
		if p, err = every.Plan(ctx); err != nil {
			return err
		}
	}
	err = every.Run(ctx, &Plan{Segments: w.nearSegments(p)}, w.add)
	if errors.Is(err, errLimitReached) {
		return nil
	}
	return err
}

// withoutConditions is a query for everything in the range, of the selected sources.
func (q *Query) withoutConditions() *Query {
	sel := q.sel
	sel.Limit, sel.Levels = 0, 0
	every := &Query{
		sel: sel, opts: q.opts, stores: q.stores, decoder: q.decoder, tally: q.tally, meter: q.meter, scratch: q.scratch, compressor: q.compressor,
		matcher: &matcher{from: q.matcher.from, to: q.matcher.to, fromText: q.matcher.fromText, toText: q.matcher.toText, sources: q.matcher.sources},
	}
	every.newWorkers()
	return every
}

// instance is an instance of a service in a store.
type instance struct{ store, service, name string }

// sourceID is a source in it.
type sourceID struct {
	instance
	source string
}

// intervals are stretches of time, in order and apart.
type intervals struct{ all [][2]int64 }

// add adds one.
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

// overlaps reports whether one of them meets [from, to].
func (v *intervals) overlaps(from, to int64) bool {
	return slices.ContainsFunc(v.all, func(one [2]int64) bool { return one[0] <= to && one[1] >= from })
}

// contextCollector is RunContext at work: it sees every record near a match.
type contextCollector struct {
	scanner    scanner
	lines      ContextLines
	emit       func(Match) error
	left       int // matches to come
	windows    map[instance]*intervals
	sources    map[sourceID]*sourceContext
	lastSource *sourceContext // the source handed out last
}

// sourceContext is what is known of a source.
type sourceContext struct {
	// before are the last records that were not handed out, oldest first.
	before []pendingRecord
	// after is how many are wanted still, and matched the time of the match for which.
	after     int
	matchTime int64
	// gap says that a record was left out since the last one handed out.
	gap bool
}

// pendingRecord is a record that may be handed out later.
type pendingRecord struct {
	segment *Segment
	time    int64
	line    []byte
}

// nearSegments are those that may hold something around a match.
func (w *contextCollector) nearSegments(p *Plan) []*Segment {
	var near []*Segment
	for _, s := range p.Segments {
		if reach := w.windows[instance{s.Store, s.Name.Service, s.Meta.Instance}]; reach != nil && reach.overlaps(s.Meta.Start, s.Meta.End) {
			near = append(near, s)
		}
	}
	return near
}

// add takes the next record.
func (w *contextCollector) add(m Match) error {
	at := instance{m.Segment.Store, m.Segment.Name.Service, m.Segment.Meta.Instance}
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
func (w *contextCollector) waiting() bool {
	for _, s := range w.sources {
		if s.after > 0 {
			return true
		}
	}
	return false
}

// isMatch reports whether a record matches.
func (w *contextCollector) isMatch(m *Match) bool {
	w.scanner.checks = checks{level: true, service: m.Segment.Name.Service}
	if w.scanner.prepare() != nil {
		return false
	}
	return w.scanner.matches(m.Line, 0, bytes.IndexByte(m.Line, '\n') >= 0)
}

// match hands out a match behind what was before it.
func (w *contextCollector) match(s *sourceContext, m Match) error {
	for _, k := range s.before {
		if !near(k.time, m.Time) {
			s.gap = true
			continue
		}
		if err := w.emitRecord(s, Match{Segment: k.segment, Time: k.time, Line: k.line, Context: true}); err != nil {
			return err
		}
	}
	s.before = s.before[:0]
	s.after, s.matchTime = w.lines.After, m.Time
	return w.emitRecord(s, m)
}

// emitRecord hands a record out.
func (w *contextCollector) emitRecord(s *sourceContext, m Match) error {
	m.Gap = s.gap || w.lastSource != nil && w.lastSource != s
	s.gap, w.lastSource = false, s
	return w.emit(m)
}

// buffer keeps a record, for a match that may follow.
func (w *contextCollector) buffer(s *sourceContext, m Match) {
	if w.lines.Before == 0 || w.left == 0 {
		s.gap = true
		return
	}
	if len(s.before) == w.lines.Before {
		s.gap = true
		first := s.before[0]
		copy(s.before, s.before[1:])
		first.segment, first.time, first.line = m.Segment, m.Time, append(first.line[:0], m.Line...)
		s.before[len(s.before)-1] = first
		return
	}
	s.before = append(s.before, pendingRecord{m.Segment, m.Time, bytes.Clone(m.Line)})
}

// MaxContextLines is the most that [Around] may ask for.
const MaxContextLines = math.MaxInt32
