package loki

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"logstow/internal/hint"
	"logstow/logql/engine"
	"logstow/logql/syntax"
	"logstow/query"
	"logstow/store"
)

// statusClosed is the status of nginx for a request whose client has disconnected, for logs and metrics.
const statusClosed = 499

// statusOf returns the status for an error: 400 if the query, a parameter or a limit is the cause, 413 for a form that is too
// large, 504 after a deadline, 503 if storage is temporarily unavailable, otherwise 500.
func statusOf(err error) int {
	var client *clientError
	var parse *syntax.Error
	var tooLarge *http.MaxBytesError
	is := func(targets ...error) bool {
		for _, t := range targets {
			if errors.Is(err, t) {
				return true
			}
		}
		return false
	}
	switch {
	case errors.As(err, &client), errors.As(err, &parse), is(engine.ErrLimit, engine.ErrQuery, query.ErrBudget, query.ErrSelection):
		return http.StatusBadRequest
	case errors.As(err, &tooLarge):
		return http.StatusRequestEntityTooLarge
	case is(context.DeadlineExceeded):
		return http.StatusGatewayTimeout
	case is(context.Canceled):
		return statusClosed
	case store.Retryable(err):
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}

// fail responds with an error and its hints as plain text.
func (q *request) fail(err error) {
	if q.started {
		abort()
	}
	if q.ctx.Err() != nil { // the server or the client ended the request, and err is a consequence
		err = context.Cause(q.ctx)
	}
	status, text := statusOf(err), err.Error()
	if status == http.StatusInternalServerError || status == http.StatusServiceUnavailable {
		q.api.opts.Logger.LogAttrs(q.ctx, slog.LevelError, "cannot answer a request", slog.String("endpoint", q.endpoint),
			slog.Any("error", err))
	}
	for _, advice := range hint.All(err) {
		text += "\nhint: " + advice
	}
	http.Error(q.w, text, status)
}

// abort closes the connection, so that the client sees that the response is incomplete.
func abort() {
	panic(http.ErrAbortHandler) //nolint:forbidigo // net/http's way to close a connection in a handler
}
