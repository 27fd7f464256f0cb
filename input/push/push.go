// Package push is the input of Loki's push protocol, POST /loki/api/v1/push: protobuf compressed with
// snappy, and JSON. The message of a record is the entry's line, byte for byte.
//
// https://grafana.com/docs/loki/latest/reference/loki-http-api/#ingest-logs
//
// # Content of a record
//
// The time is the time of the entry or the time in its line, see [input.TimeFrom]. The service is the value of the
// label service_name, service or app, see [httpserver.IntakeOptions]. The source is the pod, or the first other label
// that tells where the entry is from. The level is the first valid value of detected_level, level and severity, first in
// the metadata and then in the labels. Labels and structured metadata are the record's attributes.
package push

import (
	"errors"
	"fmt"
	"mime"
	"net/http"

	"logstow/input/httpserver"
)

const (
	// Path is the path of the input.
	Path = "/loki/api/v1/push"
	// ReadyPath is the path of the readiness check of senders.
	ReadyPath = "/ready"

	typeProtobuf = "application/x-protobuf"
	typeJSON     = "application/json"
)

// Handler receives push requests. It is an [httpserver.Routes].
type Handler struct{ *httpserver.Intake }

// NewHandler returns a Handler.
func NewHandler(opts httpserver.IntakeOptions) (*Handler, error) {
	intake, err := httpserver.NewIntake("push", opts)
	if err != nil {
		return nil, err
	}
	return &Handler{intake}, nil
}

// Register registers the handlers of [Path] and [ReadyPath].
func (h *Handler) Register(mux *http.ServeMux) {
	mux.HandleFunc("POST "+Path, h.post)
	mux.HandleFunc("GET "+ReadyPath, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("ready\n")) // the error is that of a closed connection
	})
}

// errEntries reports that some entries of a request are malformed. The other entries are stored.
var errEntries = errors.New("entries rejected")

// post responds 204 when all entries are durable.
func (h *Handler) post(w http.ResponseWriter, r *http.Request) {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind == "" {
		kind = typeProtobuf
	}
	if kind != typeProtobuf && kind != typeJSON {
		http.Error(w, "content type not supported: send "+typeProtobuf+" or "+typeJSON, http.StatusUnsupportedMediaType)
		return
	}
	err := h.receive(r, kind)
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if errors.Is(err, errEntries) {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	http.Error(w, httpserver.Public(err), h.Reject(w, r, "Loki push", err))
}

// receive receives a request. If it returns nil, all entries are durable; if it returns errEntries, those that are
// not malformed.
func (h *Handler) receive(r *http.Request, kind string) error {
	lease := h.Lease()
	defer lease.Release()
	encoding := r.Header.Get("Content-Encoding")
	if kind == typeProtobuf && encoding == "snappy" {
		encoding = "" // it always is
	}
	body, err := httpserver.Body(r.Body, encoding, h.MaxBody, lease)
	if err != nil {
		return err
	}
	c := h.collector(lease)
	if kind == typeJSON {
		err = c.json(body)
	} else if body, err = uncompress(body, h.MaxBody, lease); err == nil {
		err = c.protobuf(body)
	}
	if err != nil {
		return err
	}
	err = h.Store(r, body, c.batches.All())
	if err == nil && c.rejected > 0 {
		h.Log.Warn("Loki push: entries rejected", "records", c.rejected, "reason", c.reason)
		return fmt.Errorf("%d %w, the others are stored: %s", c.rejected, errEntries, c.reason)
	}
	return err
}
