package kinds

import (
	"context"
	"errors"
	"fmt"

	"logstow/input"
	"logstow/input/bulk"
	"logstow/input/httpserver"
	"logstow/input/lines"
	"logstow/input/listen"
	"logstow/input/otlp"
	"logstow/input/push"
)

// HTTP configures the input of OTLP, Loki push, Elasticsearch bulk and lines over HTTP.
type HTTP struct {
	Login               httpserver.Login
	ServiceFromResource bool
	// ConfiguredService is set by service-from-labels: false. It is the default for an input with its own stores.
	ConfiguredService bool
}

// Kind implements [input.Spec].
func (h *HTTP) Kind() input.Kind {
	return input.Kind{
		Name:         "http",
		Usage:        "`ADDRESS`: receive OpenTelemetry logs (HTTP /v1/logs and gRPC on one port), Loki push, Elasticsearch bulk and lines (/v1/lines), such as :4318; repeatable",
		CheckAddress: listen.CheckAddress, ServiceFromLabels: !h.ConfiguredService, ServiceFromRecords: h.ServiceFromResource,
	}
}

// Keys implements [input.Spec].
func (h *HTTP) Keys() []input.Key {
	return []input.Key{
		{Name: "service-from-resource", To: &h.ServiceFromResource},
		{Name: "store", To: func() { h.ConfiguredService = true }},
		{Name: "service-from-labels", To: input.Not(&h.ConfiguredService)},
		{Name: "users", To: &h.Login.Users},
		{Name: "tokens", To: &h.Login.Tokens, Check: httpserver.CheckToken},
	}
}

// Open implements [input.Spec].
func (h *HTTP) Open(ctx context.Context, with input.Opening) (input.Reader, error) {
	opts := httpserver.IntakeOptions{
		Options:             with.Options,
		ServiceFromResource: h.ServiceFromResource,
		ConfiguredService:   h.ConfiguredService,
	}
	var routes []httpserver.Routes
	var errs []error
	add := func(r httpserver.Routes, err error) { routes, errs = append(routes, r), append(errs, err) }
	add(otlp.NewHandler(opts))
	add(lines.NewHandler(opts))
	add(push.NewHandler(opts))
	add(bulk.NewHandler(opts))
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	server, err := httpserver.New(ctx, httpserver.Options{
		Endpoint: with.Endpoint, Login: h.Login, Denied: &with.Stats.Denied, Log: with.Log,
		Accepts: "OpenTelemetry logs to " + otlp.Path + ", pushes of Loki to " + push.Path + ", Elasticsearch bulk to " + bulk.Path + ", lines to " + lines.Path,
	}, routes...)
	if err != nil {
		return nil, fmt.Errorf("http input: %w", err)
	}
	return server, nil
}
