// Package engine answers LogQL queries from a [Source] of records: log queries with [Engine.Logs], metric queries with
// [Engine.Metric]. It follows Grafana's documentation of Loki, with the differences in docs/logql.md.
package engine

import (
	"context"
	"errors"
	"math"
	"time"

	"logstow/logql/labels"
	"logstow/logql/pipeline"
	"logstow/logql/syntax"
)

// Record is a record of a [Source].
type Record struct {
	// Time is Unix nanoseconds.
	Time int64
	// Attributes are in the form of package attributes, Line is the message as logged; valid until the function that got them
	// returns.
	Attributes, Line []byte
	// Stream should be the same pointer for all records of a stream that a worker receives.
	Stream *pipeline.Stream
}

// Selection is a request to a Source: the records in the range [From, To), in Unix nanoseconds, that match Log. The source
// must apply the first [Source.Applied] of Log's stages; it may also omit records that later stages reject.
type Selection struct {
	Log      *syntax.LogExpr
	From, To int64
	// Newest reverses the order of [Source.InOrder]. Limit is the number of records after which it stops, not counting
	// records that the first [Source.Applied] stages or Records reject; 0 is no limit.
	Newest bool
	Limit  int
	// Records has the stages after the first [Source.Applied] that reject records, if they do not depend on times. It is
	// nil if there are none.
	Records *pipeline.Filter
	// Fields are the fields with which workers do without lines; nil if lines are needed.
	Fields *Fields
	// Filter has the stages of Log that can be decided without lines. The source may omit blocks in which it keeps no
	// record. It is nil if there are none.
	Filter *FieldFilter
}

// Worker gets records in one goroutine.
type Worker interface {
	// Add adds a record. Its error ends the query.
	Add(r *Record) error
	// AddFields adds records by their fields. It returns false if it needs their lines; then it added none.
	AddFields(b *FieldBlock) (bool, error)
}

// Source has records. It is safe for concurrent use.
type Source interface {
	// Applied is the number of first stages that the source applies exactly: records that they reject are not returned.
	Applied(log *syntax.LogExpr) int
	// InOrder calls emit with records in order of time, or in reverse. It ends with an error of emit and returns it;
	// instead of [ErrEnough], it may return an error about records that are missing among those emitted.
	InOrder(ctx context.Context, sel Selection, emit func(*Record) error) error
	// Each adds each record once to one of the workers that newWorker makes, one for each goroutine, in no order. newWorker is
	// called by one goroutine at a time. The workers are done when Each returns. If records moved in storage meanwhile, restart is
	// called: the workers until then do not count, and all records are added to new ones.
	Each(ctx context.Context, sel Selection, restart func(), newWorker func() Worker) error
	// Counts calls emit with numbers of records by the labels of their stream that are in by (service_name, level,
	// instance, detected_level or source) and by interval. Intervals exclude their start and include their end, which is a
	// multiple of width since 1970; with width 0 there is one interval, whose end is the last time of the selection. The source
	// must apply all stages. It returns false if it is no faster than Each, or if records have other labels of streams and others is
	// set; what it emitted does not count then.
	Counts(ctx context.Context, sel Selection, by []string, others bool, width time.Duration, emit func(ls labels.Labels, end int64, n uint64) error) (bool, error)
}

// Limits of a query; 0 is no limit.
type Limits struct {
	// Series is the maximum number of series of the result, as Loki's max_query_series. Between operators there may be more:
	// as many as have Series * Points points in total, but at most 100,000.
	Series int
	// Points is the maximum number of steps of a range query: of a range of an hour by 15 minutes 4, with 5 points.
	Points int
	// Memory is the approximate maximum memory of samples in bytes.
	Memory int64
}

// DefaultLimits are Loki's: 500 series, 11,000 points; and 256 MiB.
func DefaultLimits() Limits { return Limits{Series: 500, Points: 11_000, Memory: 256 << 20} }

// ErrLimit is wrapped by errors of queries that exceed [Limits], ErrQuery by errors of queries that cannot be answered,
// such as a many-to-many match, or a sample with __error__.
var (
	ErrLimit = errors.New("limit exceeded")
	ErrQuery = errors.New("invalid query")
)

// Engine answers queries. It is safe for concurrent use.
type Engine struct {
	Source Source
	Limits Limits
}

// Entry is a record found by a log query.
type Entry struct {
	Time int64
	Line []byte // valid until emit returns
	// Stream, Metadata and Parsed are its labels by category; see [pipeline.Processor.Labels].
	Stream, Metadata, Parsed labels.Labels
	// Fields is the result of [pipeline.Processor.Fields], if LogParams.Fields is set, and Text that of [pipeline.Processor.HasText].
	Fields labels.Labels
	Text   bool
}

// LogParams are the parameters of a log query: the range [From, To), in Unix nanoseconds.
type LogParams struct {
	From, To int64
	Newest   bool
	Limit    int // 0 is no limit
	// Unparsed is set if Entry.Parsed is not needed: it may lack labels.
	Unparsed bool
	// Fields adds the fields of text to the entries, which has no effect with Unparsed.
	Fields bool
}

// MetricParams are the times of a metric query, in Unix nanoseconds: Start, Start+Step, … up to End. An instant query has
// Step 0 and Start = End. The window of a range aggregation at t is (t-range, t], shifted by the offset.
type MetricParams struct {
	Start, End int64
	Step       time.Duration
}

// Align returns the parameters of a range query from from to to: like Loki, it rounds the start down and the end up to a
// multiple of the step, so that the result has a point for the newest records and refreshes of a dashboard have the same steps.
func Align(from, to int64, step time.Duration) MetricParams {
	p := MetricParams{Start: from - from%int64(step), End: to - to%int64(step), Step: step}
	if p.End < to && p.End <= math.MaxInt64-int64(step) {
		p.End += int64(step)
	}
	return p
}

// Point is a value at a time, in Unix nanoseconds.
type Point struct {
	Time  int64
	Value float64
}

// Series has labels and points in order of time. Steps without a value are omitted.
type Series struct {
	Labels labels.Labels
	Points []Point
}

// Value is the result of a metric query. Series are in order of their labels; for an instant query whose outermost operator
// is sort, sort_desc, topk or bottomk, by value. In an instant query each has one point.
type Value struct {
	// Scalar is set if the result is a number without labels: the query is a literal, or an operation on such.
	Scalar bool
	Series []Series
	// Warnings say in which respect the result is not exact.
	Warnings []string
}
