package query

import (
	"maps"
	"slices"
	"time"

	"logstow/blobnaming"
	"logstow/internal/memo"
	"logstow/query/explain"
	"logstow/query/match"
	"logstow/query/merge"
	"logstow/query/source"
	"logstow/record"
	"logstow/segment"
)

// maxArriving is the size in bytes up to which the buffer of an [Arriving] is kept.
const maxArriving = 1 << 20

// Arriving finds the matches among records that are in no store, in the order in which they arrive. Not safe for concurrent use.
type Arriving struct {
	q        *Query
	origin   source.Segment
	scanner  *match.Scanner
	encoder  record.Encoder
	text     []byte
	segments memo.Map[string, *Segment] // by parser

	// levels counts the records in the range, sources has their sources, up to the number that a segment lists. newest is the
	// time of the newest record, if there are any.
	levels  record.Counts
	sources map[string]bool
	newest  int64
	some    bool
}

// Arriving returns what finds the matches of the query among records of a service and an instance. store is the name of their
// store in problems.
func (q *Query) Arriving(store, service, instance string) *Arriving {
	return &Arriving{
		q: q, scanner: match.NewScanner(q.matcher), sources: map[string]bool{},
		origin: source.Segment{Store: store, Name: blobnaming.Name{Service: service}, Meta: blobnaming.Metadata{Instance: instance}},
	}
}

// Search calls emit with the matches among records, in their order, until it returns an error. parser is that of their fields, as
// in the metadata of segments. The limit and the order of the selection do not apply.
func (a *Arriving) Search(parser string, records []record.Record, emit func(Match) error) (err error) {
	m := a.q.matcher
	if !m.Selection.MatchesService(a.origin.Name.Service) || len(records) == 0 {
		return nil
	}
	a.text = a.text[:0]
	for i := range records {
		r := &records[i]
		a.text = a.encoder.AppendText(a.text, r)
		a.note(r)
	}
	a.q.recorder.BytesScanned.Add(int64(len(a.text)))
	a.q.findings.AddSample(a.text, parser)
	from := a.segment(parser)
	checks := m.AllChecks(from.Name.Service, from.Meta.Instance)
	checks.Fields = m.FieldsOf(parser)
	scanErr := a.scanner.Scan(a.text, checks, func(start, end int, columns *record.Columns) {
		if err != nil {
			return
		}
		var found Match
		if found, err = merge.NewMatch(from, a.text[start:end], columns); err == nil {
			err = emit(found)
		}
	})
	a.q.findings.AddRejections(a.scanner.TakeRejections())
	if cap(a.text) > maxArriving {
		a.text = nil
		a.scanner.Shrink()
	}
	if err == nil {
		err = scanErr
	}
	return err
}

// segment is the segment of which records with a parser are.
func (a *Arriving) segment(parser string) *Segment {
	return a.segments.Get(parser, func() *Segment {
		one := a.origin
		one.Meta.Parse = parser
		return &one
	})
}

// note notes a record, to explain an empty result.
func (a *Arriving) note(r *record.Record) {
	if !a.some || r.Time > a.newest {
		a.some, a.newest = true, r.Time
	}
	if !a.q.matcher.InRange(r.Time, r.Time) {
		return
	}
	a.levels[r.Level]++
	if len(a.sources) <= segment.MaxSources {
		a.sources[r.Source] = true
	}
}

// Problem adds something that could not be read to the report.
func (a *Arriving) Problem(p *Problem) { a.q.recorder.Problem(p) }

// Explain returns the likely reasons why no record has matched, the likeliest first, as [Query.Explain] does.
func (a *Arriving) Explain() []Reason {
	m, service := a.q.matcher, a.origin.Name.Service
	listed := &explain.Listed{Some: a.some, Levels: a.levels}
	var planned []*Segment
	if all := record.LevelSet(0).Count(a.levels); all > 0 {
		listed.Segments = 1
		listed.AddOrigin(service, a.origin.Meta.Instance)
		sources := slices.Sorted(maps.Keys(a.sources))
		if len(sources) > segment.MaxSources {
			sources = []string{segment.ManySources}
		}
		a.q.findings.AddSources(sources)
		if m.Levels.Count(a.levels) > 0 {
			one := a.origin
			one.Meta.Records, one.Meta.Levels = all, a.levels
			planned = append(planned, &one)
		}
	}
	a.q.findings.AddListed(service, listed)
	e := explain.NewEvidence(a.q.findings, m, planned)
	if e.ServicesKnown = true; a.some {
		e.Services = []string{service}
		e.Newest, e.NewestOf = time.Unix(0, a.newest), service
	}
	return explain.Reasons(e)
}
