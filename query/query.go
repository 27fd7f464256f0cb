package query

import (
	"cmp"
	"fmt"

	"logstow/query/explain"
	"logstow/query/fetch"
	"logstow/query/match"
	"logstow/query/merge"
	"logstow/query/plan"
	"logstow/query/source"

	"logstow/field/parse"
	"logstow/internal/price"
)

// The ways to find the segments of a range.
const (
	// PlanList lists blobs by name prefix: the authority.
	PlanList = "list"
	// PlanIndex queries the table index, which may lag behind.
	PlanIndex = "index"
)

// DefaultGroupMemory is the default of [Options.GroupMemory]: 256 MiB.
const DefaultGroupMemory = 256 << 20

// Options configure reading. The zero value is the default.
type Options struct {
	// Plan is PlanList or PlanIndex; "" is PlanList.
	Plan string
	// Memory is the number of bytes of records that may wait to be merged before
	// some go through a temporary file; 0 is 24 MiB.
	Memory int64
	// GroupMemory is about the number of bytes that the groups of [Query.Stats] and the records of
	// [Query.Sort] may take before some go through temporary files; 0 is DefaultGroupMemory.
	GroupMemory int64
	// Prices are what requests cost; nil is [price.Default].
	Prices *price.Table
	// MaxBytes and MaxCost (dollars) limit what the query reads from its stores, in
	// all; before a limit is passed, it ends with [ErrBudget]. 0 is no limit.
	MaxBytes int64
	MaxCost  float64
	// Tiers has a plan by the index look up in which tier the blobs of each day are, so
	// that costs are right: the index does not contain it. It takes a listing a day.
	Tiers bool
	// Unexplained is set if neither [Query.Explain] nor [Query.MissingFields] is called: no text is read for what they return.
	Unexplained bool
	// NoColumns has text read where columns would do.
	NoColumns bool
	// TempDir is the directory of temporary files; "" is the system's.
	TempDir string
}

// Query finds records. Its methods may be called one after the other; the
// report adds up what they did.
type Query struct {
	opts     Options
	matcher  *match.Matcher
	stores   []Store
	recorder *source.Recorder
	findings *explain.Findings
	meter    *source.Meter
	fetcher  *fetch.Fetcher
}

// New compiles a selection. A mistake in it wraps [ErrSelection].
func New(stores []Store, sel Selection, opts Options) (*Query, error) {
	m, err := match.Compile(sel)
	if err != nil {
		return nil, err
	}
	return newQuery(stores, m, opts)
}

func newQuery(stores []Store, m *match.Matcher, opts Options) (*Query, error) {
	opts.Plan = cmp.Or(opts.Plan, PlanList)
	opts.Memory = cmp.Or(opts.Memory, 24<<20)
	opts.GroupMemory = cmp.Or(opts.GroupMemory, DefaultGroupMemory)
	if opts.Plan != PlanList && opts.Plan != PlanIndex {
		return nil, fmt.Errorf("%w: %q is not a way to plan (%s or %s)", ErrSelection, opts.Plan, PlanList, PlanIndex)
	}
	q := &Query{
		opts: opts, matcher: m, stores: make([]Store, len(stores)), recorder: source.NewRecorder(len(stores)), findings: explain.NewFindings(!opts.Unexplained),
		meter: source.NewMeter(opts.Prices, opts.MaxBytes, opts.MaxCost),
	}
	for i, s := range stores {
		s.Blobs, s.Tables = q.recorder.Requests.BlobReader(s.Blobs), q.recorder.Requests.TableReader(s.Tables)
		q.stores[i] = q.meter.Store(s)
		for _, p := range s.Problems {
			q.recorder.Problem(p)
		}
	}
	q.fetcher = fetch.NewFetcher(m, q.recorder, q.findings, opts.Plan == PlanIndex, opts.TempDir)
	if opts.NoColumns {
		q.fetcher = q.fetcher.WithoutColumns()
	}
	return q, nil
}

// Over is the same query over other stores, with options, a report and limits of its own. An
// unknown way to plan wraps [ErrSelection].
func (q *Query) Over(stores []Store, opts Options) (*Query, error) {
	return newQuery(stores, q.matcher, opts)
}

// With is a query for another selection of the same stores, which adds to the same
// report and has the same limits. A plan of one may be read by the other where it
// covers what that selects.
func (q *Query) With(sel Selection) (*Query, error) {
	m, err := q.matcher.With(sel)
	if err != nil {
		return nil, err
	}
	return q.with(m), nil
}

func (q *Query) with(m *match.Matcher) *Query {
	other := *q
	other.matcher, other.fetcher = m, q.fetcher.With(m)
	return &other
}

// From is the start of the range, in Unix nanoseconds.
func (q *Query) From() int64 { return q.matcher.From }

// Highlight appends the places, as first and past-the-last byte, of what the
// selection's patterns and regexps find in a message as logged: in order, disjoint,
// none empty. It is for the program that shows a record; nothing else depends on it.
func (q *Query) Highlight(dst [][2]int, message []byte) [][2]int {
	return q.matcher.Highlight(dst, message)
}

// Parser finds the fields of the messages of a segment.
func (q *Query) Parser(s *Segment) *parse.Parser { return q.matcher.FieldsOf(s.Meta.Parse).Parser }

// planner is the layer that finds segments.
func (q *Query) planner() *plan.Planner {
	return &plan.Planner{
		Matcher: q.matcher, Stores: q.stores, Recorder: q.recorder, Findings: q.findings, Indexed: q.opts.Plan == PlanIndex,
	}
}

// order is the output order.
func (q *Query) order() merge.Order { return merge.Order{Newest: q.matcher.Selection.Newest} }
