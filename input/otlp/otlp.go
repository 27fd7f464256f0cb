// Package otlp is the input for OpenTelemetry logs: OTLP over HTTP, as protobuf
// or JSON, and over gRPC. A log record that holds nothing but a text becomes that text, any other
// one compact JSON object.
//
// https://github.com/open-telemetry/opentelemetry-proto/blob/main/docs/specification.md
package otlp

import (
	"log/slog"
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
	// DefaultMaxServices is the default number of distinct services.
	DefaultMaxServices = 100
)

// Options configure a [Handler].
type Options struct {
	input.Options
	// ServiceFromResource takes a record's service from its resource's service.name, cleaned to a
	// valid name. The configured service is for records without one.
	ServiceFromResource bool
	// MaxServices is the maximum number of such services; records of further ones get the
	// configured one. 0 is [DefaultMaxServices].
	MaxServices int
	// MaxBody is the maximum decompressed size of a request in bytes; 0, and any larger value, is
	// [input.MaxReceive].
	MaxBody int
	// MaxMemory is the memory limit of all requests together; 0 is [httpserver.DefaultMemory].
	MaxMemory int64
}

// Handler receives OpenTelemetry logs. It is an [httpserver.Routes].
type Handler struct {
	opts     Options
	receiver *input.Receiver
	memory   *httpserver.Memory
	services services
	resumed  partialRequests
	grpc     *connect.ErrorWriter
}

// NewHandler makes a Handler.
func NewHandler(opts Options) (*Handler, error) {
	var err error
	if opts.Options, err = opts.WithDefaults(); err != nil {
		return nil, err
	}
	receiver, err := input.NewReceiver(opts.Options)
	if err != nil {
		return nil, err
	}
	if opts.MaxBody <= 0 || opts.MaxBody > input.MaxReceive {
		opts.MaxBody = input.MaxReceive
	}
	if opts.MaxServices <= 0 {
		opts.MaxServices = DefaultMaxServices
	}
	return &Handler{
		opts:     opts,
		receiver: receiver,
		memory:   httpserver.NewMemory(opts.MaxMemory, opts.Memory),
		services: services{limit: opts.MaxServices, log: opts.Log},
		grpc:     connect.NewErrorWriter(),
	}, nil
}

// Register makes mux answer [Path] and [Procedure].
func (h *Handler) Register(mux *http.ServeMux) {
	mux.HandleFunc("POST "+Path, h.serveHTTP)
	mux.HandleFunc("POST "+Procedure, h.serveGRPC)
}

func (h *Handler) logRejected(r *http.Request, err error) {
	h.opts.Log.LogAttrs(r.Context(), slog.LevelDebug, "OpenTelemetry logs rejected", slog.String("from", r.RemoteAddr), slog.Any("error", err))
}
