// Package loki answers Loki's read API from stores: the endpoints that Grafana's data source, Logs Drilldown, alert rules and
// logcli use. Shapes, defaults, orders and statuses are those of Grafana's documentation of Loki's HTTP API; docs/serve-api.md
// lists the differences.
//
// Who may ask is decided before a request arrives here: the handler checks no token, host or origin.
package loki

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"logstow/logql/engine"
	"logstow/logql/storage"
	"logstow/logql/syntax"
	"logstow/query"
)

// Backend is the storage as one request sees it: what it may read, and what it read so far. [storage.View] is one. It is used by
// one goroutine at a time, apart from the methods of [engine.Source].
type Backend interface {
	engine.Source
	// Report is what the request has read so far.
	Report() query.Report
	// Streams, Volumes, Fields, Patterns, Estimate and Tail are as those of [storage.View].
	Streams(ctx context.Context, selectors [][]*syntax.Matcher, from, to int64) ([]storage.StreamInfo, error)
	Volumes(ctx context.Context, matchers []*syntax.Matcher, from, to int64, width time.Duration) ([]storage.Volume, error)
	Fields(ctx context.Context, log *syntax.LogExpr, from, to int64, lines, values int) ([]storage.Field, error)
	Patterns(ctx context.Context, matchers []*syntax.Matcher, from, to int64, width time.Duration, limit int) ([]storage.Pattern, error)
	Estimate(ctx context.Context, selections []engine.Selection) (storage.Estimate, error)
	Tail(ctx context.Context, log *syntax.LogExpr, from int64, limit int, poll time.Duration, emit func(*engine.Entry) error, idle func() error) error
}

// watcher is a [Backend] that may make shippers flush early for Tail. It is called by Tail's idle.
type watcher interface{ Watched() bool }

var _ Backend = (*storage.View)(nil)

// Limits of a request. A request past one of them ends with status 400.
type Limits struct {
	// Engine limits metric queries.
	Engine engine.Limits
	// Entries is the maximum of the parameter limit of log queries, as Loki's max_entries_limit_per_query.
	Entries int
	// Bytes is the maximum size of the encoded records of a log query, which are held in memory until it ends.
	Bytes int64
	// Series is the maximum number of series of a volume, as Loki's volume_max_series.
	Series int
	// Duration is the maximum duration of a request for drilldown-limits, 0 if there is none: who passes requests on ends
	// their contexts.
	Duration time.Duration
}

// DefaultLimits are Loki's where it has them: 5,000 entries, 1,000 series of a volume, those of [engine.DefaultLimits]; and 64 MiB of
// records.
func DefaultLimits() Limits {
	return Limits{Engine: engine.DefaultLimits(), Entries: 5000, Bytes: 64 << 20, Series: 1000}
}

// Use is what a request used, for access logs and metrics. It contains no part of the query.
type Use struct {
	// From and To are its range in Unix nanoseconds.
	From, To int64
	Report   query.Report
}

// Options configure an [API].
type Options struct {
	// View begins a request: it returns what the caller, known from the context, may read. Required.
	View func(context.Context) Backend
	// Scope names what the caller, known from the context, may read: callers of one scope may have the results of each other's metric
	// queries, for seconds, or minutes if the range is one of the past. Nil keeps no results.
	Scope func(context.Context) string
	// Limits of each request; the zero value is [DefaultLimits].
	Limits Limits
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Version is the version of the program, for status/buildinfo.
	Version string
	// Logger gets failures of storage; nil is none.
	Logger *slog.Logger
	// Observe is called at the end of each request that read from storage; nil is not.
	Observe func(context.Context, Use)
	// Poll is how often tail lists storage, Ping how often it checks that the client is there; 0 is 5 s and 15 s.
	Poll, Ping time.Duration
}

// API is the handler of all endpoints. It is safe for concurrent use.
type API struct {
	opts    Options
	mux     *http.ServeMux
	results results
}

// New makes an API.
func New(opts Options) *API {
	if opts.Limits == (Limits{}) {
		opts.Limits = DefaultLimits()
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
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
	a.route("/logstow/api/v1/records", (*request).records, http.MethodGet, http.MethodPost)
	a.route("/loki/api/v1/tail", (*request).tail, http.MethodGet)
	return a
}

// ServeHTTP answers a request. Its context is that of all reads: they end with it.
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

// request is a request while it is answered.
type request struct {
	api      *API
	w        http.ResponseWriter
	http     *http.Request
	ctx      context.Context
	endpoint string // the pattern of its path, such as /loki/api/v1/label/{name}/values
	now      time.Time
	opened   Backend
	from, to int64
	started  bool // the answer's first byte may have been sent
}

// view is what the request may read.
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

// engine answers queries from the view.
func (q *request) engine() *engine.Engine {
	return &engine.Engine{Source: q.view(), Limits: q.api.opts.Limits.Engine}
}
