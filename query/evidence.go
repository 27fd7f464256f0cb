package query

import (
	"maps"
	"slices"
	"time"

	"logstow/record"
)

// evidence is what is known about a query that found nothing.
type evidence struct {
	sel *Selection
	// defaulted says that no range was given, so that sel's is the default.
	defaulted bool
	// indexed says that the segments were planned by the index.
	indexed bool
	// services are those that the stores hold, if servicesKnown.
	services      []string
	servicesKnown bool
	// newest is the time of the last record of the selected services, and newestOf its
	// service; "" is not known.
	newest   time.Time
	newestOf string
	// segments meet the range, with records of these levels; foreign do, with levels unknown.
	segments, foreign uint64
	levels            record.Counts
	// planned are the services of the segments that may hold matches; their stored size is
	// bytes, and records the number of their records, if recordsKnown.
	planned      []string
	bytes        int64
	records      uint64
	recordsKnown bool
	// sources are those of the segments that were opened, all if sourcesKnown.
	sources      []string
	sourcesKnown bool
	rejected     rejections
	sample       sampled
}

// newEvidence is what a query's findings and its plan show, without further requests.
func newEvidence(f *findings, m *matcher, planned []*Segment) *evidence {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := &evidence{
		sel: m.sel, segments: f.segments, foreign: f.foreign, levels: f.levels, recordsKnown: true,
		sources: slices.Sorted(maps.Keys(f.sources)), sourcesKnown: len(f.sources) > 0 && !f.many && f.foreign == 0,
		sample: f.sample.show(m),
	}
	for i := range f.rejected {
		e.rejected[i] = f.rejected[i].Load()
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
