// Package loki implements Loki's read API on stores: the endpoints that Grafana's data source, Logs Drilldown, alert rules and
// logcli use. Grafana's documentation of Loki's HTTP API specifies the shapes, defaults, orders and statuses; docs/serve-api.md
// lists the differences.
//
// The handler checks no token, host or origin: its caller must do so before.
package loki

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"logstow/internal/logging"
	"logstow/logql/engine"
	"logstow/logql/storage"
	"logstow/logql/syntax"
	"logstow/query"
	"logstow/serve/saved"
)

// Backend is the part of storage that one request may read. It counts what the request reads. [storage.View] implements it. Except
// for the methods of [engine.Source], it is used by one goroutine at a time.
type Backend interface {
	engine.Source
	// Report returns what the request has read so far.
	Report() query.Report
	// Parts, Fields, Patterns, Estimate, Explain and Tail behave like the methods of [storage.View].
	Parts(ctx context.Context, selectors [][]*syntax.Matcher, from, to int64, width time.Duration, emit func(storage.Part)) error
	Fields(ctx context.Context, log *syntax.LogExpr, from, to int64, lines, values int) ([]storage.Field, error)
	Patterns(ctx context.Context, matchers []*syntax.Matcher, from, to int64, width time.Duration, limit int) ([]storage.Pattern, error)
	Estimate(ctx context.Context, selections []engine.Selection) (storage.Estimate, error)
	Explain(ctx context.Context, selections []engine.Selection, opts storage.ExplainOptions) ([]query.Reason, error)
	Tail(ctx context.Context, log *syntax.LogExpr, from int64, limit int, poll time.Duration, emit func(*engine.Entry) error, idle func() error) error
}

// watcher is implemented by a [Backend] that may make shippers flush early during Tail. Watched reports whether they do; Tail's
// idle calls it.
type watcher interface{ Watched() bool }

var _ Backend = (*storage.View)(nil)

// Limits are the limits of a request. A request that exceeds one fails with status 400.
type Limits struct {
	// Engine limits metric queries.
	Engine engine.Limits
	// Entries is the maximum of the parameter limit of log queries, like Loki's max_entries_limit_per_query.
	Entries int
	// Bytes is the maximum size of the encoded records of a log query, which are held in memory until it ends.
	Bytes int64
	// Series is the maximum number of series of a volume, like Loki's volume_max_series.
	Series int
	// Duration is the maximum duration that drilldown-limits reports; 0 is none. The API does not enforce it: the contexts of
	// requests do.
	Duration time.Duration
}

// DefaultLimits returns Loki's defaults, where Loki has the limit: 5,000 entries, 1,000 series of a volume, and
// [engine.DefaultLimits]. The limit of records is 64 MiB.
func DefaultLimits() Limits {
	return Limits{Engine: engine.DefaultLimits(), Entries: 5000, Bytes: 64 << 20, Series: 1000}
}

// Use describes what a request has read, for access logs and metrics. It contains no text of the query.
type Use struct {
	// From and To are the range of the request in Unix nanoseconds.
	From, To int64
	Report   query.Report
}

// Options configure an [API].
type Options struct {
	// View returns the Backend of a new request: what the caller that the context identifies may read. It is required.
	View func(context.Context) Backend
	// Scope returns a key for what the caller that the context identifies may read. Callers with equal keys share the results of
	// metric queries, for seconds, or for minutes if the range is in the past. If it is nil, no results are kept.
	Scope func(context.Context) string
	// Limits of each request; the zero value is [DefaultLimits].
	Limits Limits
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Version is the version of the program, for status/buildinfo.
	Version string
	// Logger receives failures of storage. It may be nil.
	Logger *slog.Logger
	// Observe is called at the end of each request that has read from storage. It may be nil.
	Observe func(context.Context, Use)
	// Saved returns the queries that all users share. It may be nil: then there are none.
	Saved func() ([]saved.Query, error)
	// NoTail is why there are no live tails; "" if there are.
	NoTail string
	// Poll is the interval at which tail lists storage, Ping the interval at which it checks the connection. The defaults are 5 s
	// and 15 s.
	Poll, Ping time.Duration
}

// API is the handler of all endpoints. It is safe for concurrent use.
type API struct {
	opts    Options
	mux     *http.ServeMux
	results results
}

// New returns an API.
func New(opts Options) *API {
	if opts.Limits == (Limits{}) {
		opts.Limits = DefaultLimits()
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	opts.Logger = logging.OrDiscard(opts.Logger)
	if opts.Poll == 0 {
		opts.Poll = 5 * time.Second
	}
	if opts.Ping == 0 {
		opts.Ping = 15 * time.Second
	}
	a := &API{opts: opts, mux: http.NewServeMux(), results: results{all: map[resultKey]*result{}}}
	for path, handle := range map[string]func(*request) error{
		"query_range":                  (*request).queryRange,
		"query":                        (*request).query,
		"labels":                       (*request).labels,
		"label":                        (*request).labels,
		"label/{name}/values":          (*request).labelValues,
		"series":                       (*request).series,
		"index/stats":                  (*request).indexStats,
		"index/volume":                 (*request).volume,
		"index/volume_range":           (*request).volumeRange,
		"detected_labels":              (*request).detectedLabels,
		"detected_fields":              (*request).detectedFields,
		"detected_field/{name}/values": (*request).detectedFieldValues,
		"patterns":                     (*request).patterns,
		"drilldown-limits":             (*request).drilldownLimits,
		"format_query":                 (*request).formatQuery,
		"status/buildinfo":             (*request).buildInfo,
	} {
		a.route("/loki/api/v1/"+path, handle, http.MethodGet, http.MethodPost)
	}
	a.route("/logstow/api/v1/estimate", (*request).estimate, http.MethodGet, http.MethodPost)
	a.route("/logstow/api/v1/explain", (*request).explain, http.MethodGet, http.MethodPost)
	a.route("/logstow/api/v1/saved", (*request).saved, http.MethodGet)
	a.route("/logstow/api/v1/records", (*request).records, http.MethodGet, http.MethodPost)
	a.route("/loki/api/v1/tail", (*request).tail, http.MethodGet)
	return a
}

// ServeHTTP implements [http.Handler]. The context of the request ends its reads.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.mux.ServeHTTP(w, r) }

func (a *API) route(path string, handle func(*request) error, methods ...string) {
	for _, method := range methods {
		a.mux.HandleFunc(method+" "+path, func(w http.ResponseWriter, r *http.Request) { a.serve(path, handle, w, r) })
	}
}

func (a *API) serve(path string, handle func(*request) error, w http.ResponseWriter, r *http.Request) {
	q := &request{api: a, w: w, http: r, endpoint: path, now: a.opts.Now(), ctx: r.Context()}
	defer q.observe(r.Context())
	err := q.parseForm()
	if err == nil {
		err = handle(q)
	}
	if err != nil {
		q.fail(err)
	}
}

// request is a request that is being served.
type request struct {
	api      *API
	w        http.ResponseWriter
	http     *http.Request
	ctx      context.Context
	endpoint string // the pattern of its path, such as /loki/api/v1/label/{name}/values
	now      time.Time
	opened   Backend
	from, to int64
	started  bool // the first byte of the response may have been sent
	// bad is the error of the first parameter that is invalid; nil if there is none yet. What reads parameters sets it.
	bad error
}

// view returns the Backend of the request, which the first call creates.
func (q *request) view() Backend {
	if q.opened == nil {
		q.opened = q.api.opts.View(q.ctx)
	}
	return q.opened
}

func (q *request) observe(ctx context.Context) {
	if q.opened != nil && q.api.opts.Observe != nil {
		q.api.opts.Observe(ctx, Use{From: q.from, To: q.to, Report: q.opened.Report()})
	}
}

// alignedSteps is the number of steps that the alignment of a range to multiples of its step may add. The limit of steps is that of
// the range before, which [request.step] checks.
const alignedSteps = 2

// engine returns an engine for queries of the view.
func (q *request) engine() *engine.Engine {
	limits := q.api.opts.Limits.Engine
	if limits.Points > 0 {
		limits.Points += alignedSteps
	}
	return &engine.Engine{Source: q.view(), Limits: limits}
}
