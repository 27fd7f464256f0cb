package loki

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"logstow/logql/pipeline"
	"logstow/logql/syntax"
)

// Defaults and limits of parameters. The defaults are Loki's.
const (
	maxForm         = 1 << 20 // bytes of a form
	defaultLimit    = 100
	querySince      = time.Hour
	labelsSince     = 6 * time.Hour
	defaultLines    = 100  // detected_fields' line_limit
	defaultFields   = 1000 // detected_fields' limit
	defaultPatterns = 300
	maxDelay        = 5 // seconds of tail's delay_for
)

// parseForm reads the parameters of the URL and of a form in the body.
func (q *request) parseForm() error {
	q.http.Body = http.MaxBytesReader(q.w, q.http.Body, maxForm)
	err := q.http.ParseForm()
	if tooLarge := (*http.MaxBytesError)(nil); err == nil || errors.As(err, &tooLarge) {
		return err
	}
	return badRequest("cannot parse the parameters: %v", err)
}

// get returns the value of a parameter, or "" if it is missing.
func (q *request) get(name string) string { return q.http.Form.Get(name) }

// reject sets q.bad, unless another parameter was invalid before.
func (q *request) reject(err error) {
	if q.bad == nil {
		q.bad = err
	}
}

// number returns the value of a parameter that must be a positive integer, or missing if there is none.
func (q *request) number(name string, missing int) int {
	text := q.get(name)
	if text == "" {
		return missing
	}
	n, err := strconv.ParseInt(text, 10, 32)
	switch {
	case err != nil:
		q.reject(badRequest("invalid %s %q: not a whole number", name, text))
	case n <= 0:
		q.reject(badRequest("%s must be a positive value", name))
	}
	return int(n)
}

// backward reports whether a log query returns the newest records first.
func (q *request) backward() bool {
	text := q.get("direction")
	direction := strings.ToLower(text)
	if direction != "" && direction != "backward" && direction != "forward" {
		q.reject(badRequest("invalid direction %q: want forward or backward", text))
	}
	return direction != "forward"
}

// parameter returns the value of a parameter, or missing if there is none.
func parameter[T any](q *request, name string, missing T, parse func(string) (T, error)) T {
	text := q.get(name)
	if text == "" {
		return missing
	}
	v, err := parse(text)
	if err != nil {
		q.reject(badRequest("invalid %s: %v", name, err))
	}
	return v
}

func (q *request) time(name string, missing int64) int64 {
	return parameter(q, name, missing, parseTime)
}

func (q *request) duration(name string, missing time.Duration) time.Duration {
	return parameter(q, name, missing, parseDuration)
}

// bounds sets q.from and q.to from the parameters start, end and since. The end must not be before the start.
func (q *request) bounds(since time.Duration) {
	now := q.now.UnixNano()
	q.to = q.time("end", now)
	if since = q.duration("since", since); since < 0 {
		q.reject(badRequest("since must not be negative"))
	}
	if q.from = q.time("start", max(min(q.to, now)-int64(since), 0)); q.to < q.from {
		q.reject(badRequest("end timestamp must not be before start time"))
	}
}

// step returns the parameter step. It must be at least a millisecond, and must divide the range into not more steps than a series may have
// points.
func (q *request) step() time.Duration {
	step, points := q.duration("step", defaultStep(q.from, q.to)), q.api.opts.Limits.Engine.Points
	switch {
	case step <= 0:
		q.reject(badRequest("zero or negative query resolution step widths are not accepted: use a positive step"))
	case step < time.Millisecond:
		q.reject(badRequest("the step %v is below 1ms", step))
	case points > 0 && (q.to-q.from)/int64(step) > int64(points):
		q.reject(badRequest("exceeded maximum resolution of %d points per timeseries: increase the step", points))
	}
	return step
}

// matchers returns the matchers of the parameter query, which must be a stream selector without stages.
func (q *request) matchers() []*syntax.Matcher {
	all, err := syntax.ParseMatchers(q.get("query"))
	if err != nil {
		q.reject(err)
	}
	return all
}

// selectors returns the selector of the parameter query, which may be missing. No selector selects all streams.
func (q *request) selectors() [][]*syntax.Matcher {
	if q.get("query") == "" {
		return nil
	}
	return [][]*syntax.Matcher{q.matchers()}
}

// expr returns the parameter query.
func (q *request) expr() syntax.Expr {
	expr, err := syntax.Parse(q.get("query"))
	if err != nil {
		q.reject(err)
	}
	return expr
}

// logQuery returns the parameter query, which must be a log query.
func (q *request) logQuery() *syntax.LogExpr {
	log, ok := q.expr().(*syntax.LogExpr)
	if !ok {
		q.reject(badRequest("%s needs a log query, this is a metric query", q.endpoint[strings.LastIndexByte(q.endpoint, '/')+1:]))
		return nil
	}
	if _, err := pipeline.Compile(log.Stages, nil, nil); err != nil {
		q.reject(badRequest("%v", err))
	}
	return log
}

// categorize reports whether the client requests the labels of records by category. It does so with a header, or with a parameter,
// since browsers cannot set headers for a websocket.
func (q *request) categorize() bool {
	if q.get("categorize") == "1" {
		return true
	}
	for _, header := range q.http.Header.Values("X-Loki-Response-Encoding-Flags") {
		for flag := range strings.SplitSeq(header, ",") {
			if strings.TrimSpace(flag) == categorizeLabels {
				return true
			}
		}
	}
	return false
}

// categorizeLabels is the encoding flag of [request.categorize].
const categorizeLabels = "categorize-labels"

// badRequest returns an error that the client caused.
func badRequest(format string, args ...any) error { return &clientError{fmt.Sprintf(format, args...)} }

type clientError struct{ text string }

func (e *clientError) Error() string { return e.text }
