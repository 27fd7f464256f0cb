package serve

import (
	"log/slog"
	"strings"
	"time"
)

// maxLoggedPath is the maximum length of a path in the log, in bytes.
const maxLoggedPath = 256

// logRequest logs a request: its token, path, range, size, cost and duration. It never logs the text of a query or a secret.
func (s *Server) logRequest(q *request, status int, aborted bool) {
	level := slog.LevelInfo
	switch endpointOf(q.URL.Path) {
	case "ready", "metrics", "page":
		level = slog.LevelDebug
	}
	if !s.opts.Log.Enabled(q.Context(), level) {
		return
	}
	path := q.URL.Path
	if len(path) > maxLoggedPath {
		path = path[:maxLoggedPath]
	}
	attrs := []slog.Attr{
		slog.String("method", q.Method), slog.String("path", path), slog.String("remote", q.RemoteAddr),
		slog.String("token", q.identity.Token), slog.String("services", services(q)),
	}
	if q.used != nil {
		if from, to, ok := q.used.Range(); ok {
			attrs = append(attrs, slog.Time("start", time.Unix(0, from).UTC()), slog.Time("end", time.Unix(0, to).UTC()))
		}
	}
	attrs = append(attrs, slog.Int("status", status), slog.Int64("bytes", q.w.bytes.Load()))
	if q.used != nil {
		read, cost := q.used.Read()
		attrs = append(attrs, slog.Int64("read_bytes", read), slog.Float64("cost_dollars", cost))
	}
	if aborted {
		attrs = append(attrs, slog.Bool("incomplete", true))
	}
	attrs = append(attrs, slog.Duration("duration", q.elapsed()))
	s.opts.Log.LogAttrs(q.Context(), level, "request", attrs...)
}

// services returns the globs of the services that a request may read.
func services(q *request) string {
	if q.identity.Unrestricted {
		return "*"
	}
	return strings.Join(q.identity.Services, ",")
}
