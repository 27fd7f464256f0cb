package httpserver

import (
	"net/http"
	"strings"
	"sync/atomic"

	"logstow/input"
	"logstow/internal/connlimit"
)

// rejectExcess responds with 503 to requests on connections past the limit, and with
// UNAVAILABLE to gRPC calls.
func (s *Server) rejectExcess(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if connlimit.Admit(w, r) {
			next.ServeHTTP(w, r)
			return
		}
		if s.logLimit.Allow() {
			s.opts.Log.Warn("HTTP connection limit reached: further connections get a response to retry",
				"address", s.Addr().String(), "connections", s.opts.MaxConnections)
		}
		rejectBusy(w, r, "too many connections")
	})
}

// limitStreams responds in the same way to requests over HTTP/2 while too many are in progress, without reading their bodies. Over
// HTTP/1 there is one of each connection.
func (s *Server) limitStreams(next http.Handler) http.Handler {
	var running atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor < 2 {
			next.ServeHTTP(w, r)
			return
		}
		defer running.Add(-1)
		if running.Add(1) <= maxRequests {
			next.ServeHTTP(w, r)
			return
		}
		if s.logLimit.Allow() {
			s.opts.Log.Warn("HTTP request limit reached: further requests get a response to retry",
				"address", s.Addr().String(), "requests", maxRequests)
		}
		rejectBusy(w, r, "too many requests at a time")
	})
}

// rejectBusy responds that the sender must retry.
func rejectBusy(w http.ResponseWriter, r *http.Request, reason string) {
	if isCall(r) {
		const unavailable = "14"
		rejectCall(w, r, unavailable, reason)
		return
	}
	status := Status(input.ErrBusy)
	Head(w.Header(), status)
	http.Error(w, reason, status)
}

// isCall reports whether a request is a gRPC call.
func isCall(r *http.Request) bool {
	return r.ProtoMajor >= 2 && strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc")
}

// rejectCall responds to a gRPC call with a code, in headers only, which are trailers too.
func rejectCall(w http.ResponseWriter, r *http.Request, code, reason string) {
	h := w.Header()
	h.Set("Content-Type", r.Header.Get("Content-Type"))
	h.Set("Grpc-Status", code)
	h.Set("Grpc-Message", reason)
	w.WriteHeader(http.StatusOK)
}
