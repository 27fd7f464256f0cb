// Package bulk is the input of Elasticsearch's bulk API, POST /_bulk and /{index}/_bulk. It also responds to the
// requests that clients send before. The message of a record is the document, byte for byte.
//
// https://www.elastic.co/docs/api/doc/elasticsearch/operation/operation-bulk
//
// # Content of a record
//
// The time is the value of the first of the members @timestamp, timestamp and time. Without them it is recognized
// in the document, see [input.TimeFrom]. The service is the value of the member service_name, service (a text or
// an object with a name), service.name or app, see [httpserver.IntakeOptions]. The source is the index.
package bulk

import (
	"cmp"
	"errors"
	"net/http"

	"logstow/input"
	"logstow/input/httpserver"
)

// Path and IndexPath are the paths of the input.
const (
	Path      = "/_bulk"
	IndexPath = "/{index}/_bulk"
)

// Handler receives documents. It is an [httpserver.Routes].
type Handler struct{ *httpserver.Intake }

// NewHandler returns a Handler.
func NewHandler(opts httpserver.IntakeOptions) (*Handler, error) {
	opts.TimeFrom = cmp.Or(opts.TimeFrom, input.TimeProtocol)
	intake, err := httpserver.NewIntake("bulk", opts)
	if err != nil {
		return nil, err
	}
	return &Handler{intake}, nil
}

// Register registers the handlers of [Path], [IndexPath] and the requests that clients send first.
func (h *Handler) Register(mux *http.ServeMux) {
	mux.HandleFunc("POST "+Path, h.bulk)
	mux.HandleFunc("PUT "+Path, h.bulk)
	mux.HandleFunc("POST "+IndexPath, h.bulk)
	registerProbes(mux)
}

// bulk responds when all documents are durable, except for those that the response rejects.
func (h *Handler) bulk(w http.ResponseWriter, r *http.Request) {
	lease := h.Lease()
	defer lease.Release()
	items, err := h.receive(r, lease)
	if err == nil {
		writeItems(w, items)
		return
	}
	status := h.Reject(w, r, "bulk request", err)
	if errors.Is(err, input.ErrBusy) {
		status = http.StatusTooManyRequests
	}
	writeError(w, status, httpserver.Public(err))
}

func (h *Handler) receive(r *http.Request, lease *httpserver.Lease) (items, error) {
	body, err := h.Body(r, lease)
	if err != nil {
		return nil, err
	}
	c := newCollector(h, lease, r.PathValue("index"))
	if err := c.collect(body); err != nil {
		return nil, err
	}
	return c.items, h.Store(r, body, c.batches.All())
}
