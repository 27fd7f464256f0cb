package explain

import (
	"maps"
	"slices"
	"strings"
	"time"

	"logstow/query/match"
	"logstow/query/source"

	"logstow/record"
)

// Evidence has the facts about a query that found nothing.
type Evidence struct {
	sel *match.Selection
	// Defaulted is set if no range was given, so that the default was searched.
	Defaulted bool
	// Indexed is set if the segments were planned by the index.
	Indexed bool
	// Services are the services of the stores; they are complete if ServicesKnown is set.
	Services      []string
	ServicesKnown bool
	// Newest is the time of the last record of the selected services, and NewestOf its
	// service; "" if unknown.
	Newest   time.Time
	NewestOf string
	// nearest is the time of the record nearest to the range, of the service nearestOf; "" if it is not known to be nearer than Newest.
	nearest   time.Time
	nearestOf string
	// Segments is the number of segments that overlap the range, levels counts their records. Foreign is the number of
	// foreign segments, whose levels are unknown.
	Segments, Foreign uint64
	levels            record.Counts
	// planned are the services of the planned segments, bytes is their stored size, and records the number of their records
	// if recordsKnown is set.
	planned      []string
	bytes        int64
	records      uint64
	recordsKnown bool
	// If no segment of the range can match because of its instance, otherInstances are the instances of these segments, and
	// wantedInstances those named in expressions.
	otherInstances, wantedInstances []string
	// sources are the sources of the opened segments; they are complete if sourcesKnown is set.
	sources      []string
	sourcesKnown bool
	rejected     match.Rejections
	sample       sampled
	// otherCase is the number of records that match if the case of the patterns is ignored; 0 if that is unknown.
	otherCase uint64
}

// NewEvidence collects the evidence in a query's findings and its plan. It makes no requests.
func NewEvidence(f *Findings, m *match.Matcher, planned []*source.Segment) *Evidence {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := &Evidence{
		sel: m.Selection, Segments: f.segments, Foreign: f.foreign, levels: f.levels, recordsKnown: true,
		sources: slices.Sorted(maps.Keys(f.sources)), sourcesKnown: len(f.sources) > 0 && !f.many && f.foreign == 0,
		sample: f.sample.show(m),
	}
	for i := range f.rejected {
		e.rejected[i] = f.rejected[i].Load()
	}
	if f.foreign == 0 && len(f.origins) < maxOrigins {
		e.setInstances(f.origins, m)
	}
	for _, s := range planned {
		e.bytes += s.Size
		e.records += s.Meta.Records
		e.recordsKnown = e.recordsKnown && !s.Foreign
		if len(e.planned) == 0 || e.planned[len(e.planned)-1] != s.Name.Service {
			e.planned = append(e.planned, s.Name.Service)
		}
	}
	slices.Sort(e.planned)
	e.planned = slices.Compact(e.planned)
	return e
}

// setInstances sets otherInstances and wantedInstances if no origin can match.
func (e *Evidence) setInstances(origins map[origin]bool, m *match.Matcher) {
	var others []string
	for o := range origins {
		if m.MayMatchOrigin(o.service, o.instance) {
			return
		}
		others = append(others, o.instance)
	}
	slices.Sort(others)
	e.otherInstances = slices.Compact(others)
	for _, p := range m.Where.Programs {
		e.wantedInstances = append(e.wantedInstances, p.Instances()...)
	}
}

// AddNear adds a segment outside of the range, by the times of its first and last record.
func (e *Evidence) AddNear(start, end time.Time, service string) {
	near := end
	if !end.Before(e.sel.From) {
		near = start
	}
	if e.nearestOf == "" || e.distance(near) < e.distance(e.nearest) {
		e.nearest, e.nearestOf = near, service
	}
}

// distance is that of a time from the range.
func (e *Evidence) distance(t time.Time) time.Duration {
	return max(e.sel.From.Sub(t), t.Sub(e.sel.To), 0)
}

// WantsOtherCase reports whether it is worth to know how many records match if the case of the patterns is ignored: the patterns have
// letters, and what reading that costs is small.
func (e *Evidence) WantsOtherCase() bool {
	if e.sel.IgnoreCase || len(e.sel.Patterns) == 0 || e.bytes > otherCaseBytes || len(e.planned) == 0 {
		return false
	}
	for stage := match.StageInside; stage < match.Stages; stage++ {
		if e.rejected[stage] > 0 {
			return false
		}
	}
	return slices.ContainsFunc(e.sel.Patterns, func(p string) bool { return strings.ToLower(p) != strings.ToUpper(p) })
}

// otherCaseBytes is the maximum stored size of segments that are read again to count matches in another case.
const otherCaseBytes = 32 << 20

// SetOtherCase sets the number of records that match if the case of the patterns is ignored.
func (e *Evidence) SetOtherCase(n uint64) { e.otherCase = n }

// SetCounts replaces the counts by more exact ones: levels counts the records of the segments that overlap the range, records is the
// number of records of the planned segments.
func (e *Evidence) SetCounts(levels record.Counts, records uint64) {
	e.levels, e.records = levels, records
}
