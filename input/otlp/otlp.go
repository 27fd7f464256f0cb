// Package otlp is the input for OpenTelemetry logs: OTLP over HTTP, as protobuf or JSON, and over gRPC. The message of a record is
// the body of the log record; everything else is in its attributes, from which the log record can be rebuilt.
//
// https://github.com/open-telemetry/opentelemetry-proto/blob/main/docs/specification.md
package otlp

import (
	"net/http"

	"connectrpc.com/connect"

	"logstow/input"
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

// Options configure a [Handler].
type Options struct {
	input.Options
	httpserver.Limits
	// ServiceFromResource sets the service of a record to the service.name of its resource, converted to a
	// valid name. Records without a service.name get the configured service.
	ServiceFromResource bool
}

// Handler receives OpenTelemetry logs. It is an [httpserver.Routes].
type Handler struct {
	*httpserver.Intake
	serviceFromResource bool
	grpc                *connect.ErrorWriter
}

// NewHandler returns a Handler.
func NewHandler(opts Options) (*Handler, error) {
	intake, err := httpserver.NewIntake("otlp", opts.Options, opts.Limits)
	if err != nil {
		return nil, err
	}
	return &Handler{intake, opts.ServiceFromResource, connect.NewErrorWriter()}, nil
}

// Register registers the handlers of [Path] and [Procedure].
func (h *Handler) Register(mux *http.ServeMux) {
	mux.HandleFunc("POST "+Path, h.serveHTTP)
	mux.HandleFunc("POST "+Procedure, h.serveGRPC)
}
