package httpserver

import (
	"net/http"

	"logstow/internal/logging"
)

// route passes requests to the inputs. A response to others says what the inputs accept, and data that are sent to a wrong path are logged.
func (s *Server) route() http.Handler {
	if s.opts.Accepts == "" {
		return s.mux
	}
	var logLimit logging.Limiter
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		refuse, pattern := s.mux.Handler(r)
		if pattern != "" {
			s.mux.ServeHTTP(w, r)
			return
		}
		to := r.Method + " " + r.URL.Path
		if (r.Method == http.MethodPost || r.Method == http.MethodPut) && logLimit.Allow() {
			s.opts.Log.Warn("HTTP request rejected: no input has this path",
				"address", s.Addr().String(), "from", r.RemoteAddr, "request", to)
		}
		refused := statusOf{header: w.Header()}
		refuse.ServeHTTP(&refused, r)
		http.Error(w, "no input for "+to+": send "+s.opts.Accepts, refused.status)
	})
}

// statusOf is a response of which only the header and the status are used.
type statusOf struct {
	header http.Header
	status int
}

// Header implements [http.ResponseWriter].
func (s *statusOf) Header() http.Header { return s.header }

// Write implements [http.ResponseWriter].
func (s *statusOf) Write(b []byte) (int, error) { return len(b), nil }

// WriteHeader implements [http.ResponseWriter].
func (s *statusOf) WriteHeader(status int) { s.status = status }
