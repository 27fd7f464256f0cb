package httpserver

import (
	"net/http"
	"strings"

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
			s.opts.Log.Warn("HTTP connection limit reached: further connections get a response to retry", "address", s.Addr().String(), "connections", s.opts.MaxConnections)
		}
		const reason = "too many connections"
		if isCall(r) {
			const unavailable = "14"
			rejectCall(w, r, unavailable, reason)
			return
		}
		status := Status(input.ErrBusy)
		Head(w.Header(), status)
		http.Error(w, reason, status)
	})
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
