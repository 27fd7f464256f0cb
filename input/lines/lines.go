// Package lines is the input for text lines and NDJSON over HTTP, POST /v1/lines.
// Every line is a record.
package lines

import (
	"bytes"
	"fmt"
	"net/http"

	"logstow/input"
	"logstow/input/httpserver"
	"logstow/internal/units"
)

// Path is the path of the input.
const Path = "/v1/lines"

// SourceHeader names the records' source; the query parameter "source" takes precedence.
const SourceHeader = "Logstow-Source"

// Handler receives lines. It is an [httpserver.Routes].
type Handler struct{ *httpserver.Intake }

// NewHandler returns a Handler.
func NewHandler(opts httpserver.IntakeOptions) (*Handler, error) {
	intake, err := httpserver.NewIntake("lines", opts)
	if err != nil {
		return nil, err
	}
	return &Handler{intake}, nil
}

// Register registers the handler of [Path].
func (h *Handler) Register(mux *http.ServeMux) { mux.HandleFunc("POST "+Path, h.post) }

// post responds 204 when all lines are durable.
func (h *Handler) post(w http.ResponseWriter, r *http.Request) {
	err := h.take(r)
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	http.Error(w, httpserver.Public(err), h.Reject(w, r, "lines", err))
}

func (h *Handler) take(r *http.Request) error {
	source := r.URL.Query().Get("source")
	if source == "" {
		source = r.Header.Get(SourceHeader)
	}
	lease := h.Lease()
	defer lease.Release()
	body, err := h.Body(r, lease)
	if err != nil {
		return err
	}
	n := bytes.Count(body, []byte{'\n'}) + 1
	if err := lease.Take(int64(n) * input.EventCost); err != nil {
		return fmt.Errorf("%s: %w", units.Count(n, "line"), err)
	}
	return h.Store(r, body, []input.Batch{{Events: events(body, source, n)}})
}

// events splits a body into its lines, which point into it. Empty lines are no records.
func events(body []byte, source string, n int) []input.Event {
	all := make([]input.Event, 0, n)
	for line := range bytes.Lines(body) {
		line = bytes.TrimSuffix(line, []byte{'\n'})
		if len(line) == 0 || len(line) == 1 && line[0] == '\r' {
			continue
		}
		all = append(all, input.Event{Source: source, Message: line})
	}
	return all
}
