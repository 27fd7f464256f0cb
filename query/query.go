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

	"logstow/internal/price"
	"logstow/message/parse"
)

// The ways to find the segments of a range.
const (
	// PlanList lists blobs by name prefix. Its result is authoritative.
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
	// Memory is the maximum size in bytes of the records that wait to be merged; more are written to a temporary file. 0
	// is 24 MiB.
	Memory int64
	// GroupMemory is the approximate memory in bytes for the groups of [Query.Stats] and the records of [Query.Sort]; more
	// are written to temporary files. 0 is DefaultGroupMemory.
	GroupMemory int64
	// Prices are the prices of requests; nil is [price.Default].
	Prices *price.Table
	// MaxBytes and MaxCost (dollars) limit the total that the query reads from its stores. It ends with [ErrBudget] before
	// exceeding a limit. 0 is no limit.
	MaxBytes int64
	MaxCost  float64
	// Tiers makes a plan by the index look up the tier of each day's blobs, with one listing a day. The index does not have
	// tiers, and costs depend on them.
	Tiers bool
	// Unexplained declares that neither [Query.Explain] nor [Query.MissingFields] will be called, so that no text is read
	// for them.
	Unexplained bool
	// NoColumns disables the use of columns.
	NoColumns bool
	// TempDir is the directory of temporary files; "" is the system's.
	TempDir string
	// Processors limits how many blocks are searched at the same time by all queries that share it. Nil is no limit but that of
	// each query, the number of processors.
	Processors *fetch.Processors
}

// Query finds records. Except for Progress, its methods must not be called concurrently. The report covers all calls.
type Query struct {
	opts    Options
	matcher *match.Matcher
	stores  []Store
	// given are the stores without the meter.
	given    []Store
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
		opts:     opts,
		matcher:  m,
		stores:   make([]Store, len(stores)),
		given:    stores,
		recorder: source.NewRecorder(len(stores)),
		findings: explain.NewFindings(!opts.Unexplained),
		meter:    source.NewMeter(opts.Prices, opts.MaxBytes, opts.MaxCost),
	}
	for i, s := range stores {
		q.stores[i] = q.meter.Store(s)
		for _, p := range s.Problems {
			q.recorder.Problem(p)
		}
	}
	q.fetcher = fetch.NewFetcher(m, q.recorder, q.findings, opts.Plan == PlanIndex, opts.NoColumns, opts.TempDir, opts.Processors)
	return q, nil
}

// Over returns the same query over other stores, with its own options, report and limits. An unknown Options.Plan wraps
// [ErrSelection].
func (q *Query) Over(stores []Store, opts Options) (*Query, error) {
	return newQuery(stores, q.matcher, opts)
}

// With returns a query for another selection of the same stores, with the same report and limits. It may read a plan of q that
// covers its selection.
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

// Stores returns the stores of the query. Requests to them are in its report.
func (q *Query) Stores() []Store { return q.stores }

// From returns the start of the range, in Unix nanoseconds.
func (q *Query) From() int64 { return q.matcher.From }

// Highlight appends start and end of the places in a message, as logged, that the selection's patterns, identifiers and regular
// expressions match: in order, disjoint, not empty.
func (q *Query) Highlight(dst [][2]int, message []byte) [][2]int {
	return q.matcher.Highlight(dst, message)
}

// Parser returns the parser that finds the fields of the messages of a segment.
func (q *Query) Parser(s *Segment) *parse.Parser { return q.matcher.FieldsOf(s.Meta.Parse).Parser }

// planner returns the layer that finds segments.
func (q *Query) planner() *plan.Planner {
	return &plan.Planner{
		Matcher: q.matcher, Stores: q.stores, Recorder: q.recorder, Findings: q.findings, Indexed: q.opts.Plan == PlanIndex,
	}
}

// order returns the output order.
func (q *Query) order() merge.Order { return merge.Order{Newest: q.matcher.Selection.Newest} }
