// Package otlp is the input for OpenTelemetry logs: OTLP over HTTP, as protobuf or JSON, and over gRPC. The message of a record is
// the body of the log record; everything else is in its attributes, from which the log record can be rebuilt.
//
// https://github.com/open-telemetry/opentelemetry-proto/blob/main/docs/specification.md
package otlp

import (
	"net/http"

	"connectrpc.com/connect"

	"logstow/input/httpserver"
)

const (
	// Path is the path of the input over HTTP.
	Path = "/v1/logs"
	// Procedure is the path of the gRPC method.
	Procedure = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"

	// requests names requests in the log.
	requests = "OpenTelemetry logs"
)

// Handler receives OpenTelemetry logs. It is an [httpserver.Routes].
type Handler struct {
	*httpserver.Intake
	grpc *connect.ErrorWriter
}

// NewHandler returns a Handler.
func NewHandler(opts httpserver.IntakeOptions) (*Handler, error) {
	intake, err := httpserver.NewIntake("otlp", opts)
	if err != nil {
		return nil, err
	}
	return &Handler{intake, connect.NewErrorWriter()}, nil
}

// Register registers the handlers of [Path] and [Procedure].
func (h *Handler) Register(mux *http.ServeMux) {
	mux.HandleFunc("POST "+Path, h.serveHTTP)
	mux.HandleFunc("POST "+Procedure, h.serveGRPC)
}
