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

var errEndBeforeStart = badRequest("end timestamp must not be before start time")

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

// number returns the value of a parameter that must be a positive integer, or missing if there is none.
func (q *request) number(name string, missing int) (int, error) {
	text := q.get(name)
	if text == "" {
		return missing, nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0, badRequest("invalid %s %q: not a whole number", name, text)
	}
	if n <= 0 {
		return 0, badRequest("%s must be a positive value", name)
	}
	return int(n), nil
}

// backward reports whether a log query returns the newest records first.
func (q *request) backward() (bool, error) {
	switch text := q.get("direction"); strings.ToLower(text) {
	case "", "backward":
		return true, nil
	case "forward":
		return false, nil
	default:
		return false, badRequest("invalid direction %q", text)
	}
}

func (q *request) time(name string, missing int64) (int64, error) {
	text := q.get(name)
	if text == "" {
		return missing, nil
	}
	at, err := parseTime(text)
	if err != nil {
		return 0, badRequest("invalid %s: %v", name, err)
	}
	return at, nil
}

func (q *request) duration(name string, missing time.Duration) (time.Duration, error) {
	text := q.get(name)
	if text == "" {
		return missing, nil
	}
	d, err := parseDuration(text)
	if err != nil {
		return 0, badRequest("invalid %s: %v", name, err)
	}
	return d, nil
}

// bounds sets q.from and q.to from the parameters start, end and since. It accepts an end before the start.
func (q *request) bounds(since time.Duration) error {
	now := q.now.UnixNano()
	end, err := q.time("end", now)
	if err != nil {
		return err
	}
	if since, err = q.duration("since", since); err != nil {
		return err
	}
	if since < 0 {
		return badRequest("since must not be negative")
	}
	start, err := q.time("start", max(min(end, now)-int64(since), 0))
	if err != nil {
		return err
	}
	q.from, q.to = start, end
	return nil
}

// ordered is bounds, but returns an error if the end is before the start.
func (q *request) ordered(since time.Duration) error {
	if err := q.bounds(since); err != nil {
		return err
	}
	if q.to < q.from {
		return errEndBeforeStart
	}
	return nil
}

// step returns the parameter step. It must be at least a millisecond, and must divide the range into at most points steps.
func (q *request) step(points int) (time.Duration, error) {
	step, err := q.duration("step", defaultStep(q.from, q.to))
	if err != nil {
		return 0, err
	}
	switch {
	case step <= 0:
		return 0, badRequest("zero or negative query resolution step widths are not accepted: use a positive step")
	case step < time.Millisecond:
		return 0, badRequest("the step %v is below 1ms", step)
	case points > 0 && (q.to-q.from)/int64(step) > int64(points):
		return 0, badRequest("exceeded maximum resolution of %d points per timeseries: increase the step", points)
	}
	return step, nil
}

// matchers returns the matchers of the parameter query, which must be a stream selector without stages.
func (q *request) matchers() ([]*syntax.Matcher, error) { return syntax.ParseMatchers(q.get("query")) }

// selectors returns the selector of the parameter query, which may be missing. No selector selects all streams.
func (q *request) selectors() ([][]*syntax.Matcher, error) {
	if q.get("query") == "" {
		return nil, nil
	}
	one, err := q.matchers()
	return [][]*syntax.Matcher{one}, err
}

// logQuery returns the parameter query, which must be a log query.
func (q *request) logQuery() (*syntax.LogExpr, error) {
	expr, err := syntax.Parse(q.get("query"))
	if err != nil {
		return nil, err
	}
	log, ok := expr.(*syntax.LogExpr)
	if !ok {
		return nil, badRequest("%s needs a log query, this is a metric query", q.endpoint[strings.LastIndexByte(q.endpoint, '/')+1:])
	}
	if _, err := pipeline.Compile(log.Stages, nil, nil); err != nil {
		return nil, badRequest("%v", err)
	}
	return log, nil
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
