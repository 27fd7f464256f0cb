package agent

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"logstow/input/httpserver"
	"logstow/input/listen"
	"logstow/internal/price"
	"logstow/internal/sdnotify"
	"logstow/metrics"
)

// serveMetrics serves metrics, if an address is set, until end is called. They remain available
// after ctx ends, during the drain.
func (p *pipeline) serveMetrics(ctx context.Context) (end func(), err error) {
	if p.MetricsAddress == "" {
		return func() {}, nil
	}
	opts := metrics.Options{
		Version:   p.version,
		Buffer:    p.buffer,
		Uploader:  p.uploader,
		Inputs:    &p.inputStats,
		Requests:  p.requests,
		Expiries:  p.opened.expiries,
		Processed: p.processed.Counts,
		FromLogs:  p.logMetrics,
		Watches:   p.flusher.Stats,
	}
	if p.paid() {
		opts.Prices = price.Default()
	}
	server, err := httpserver.New(ctx, httpserver.Options{
		Endpoint: listen.Endpoint{Address: p.MetricsAddress, MaxConnections: p.metricsLimit()}, Log: p.log,
	}, metrics.New(opts))
	if err != nil {
		return nil, err
	}
	p.log.Info("serving metrics", "address", server.Addr().String())
	return inBackground(ctx, func(ctx context.Context) {
		if err := server.Run(ctx); err != nil {
			p.log.Error("metrics server failed", "error", err)
		}
	}), nil
}

// inBackground runs f, whose context outlives ctx, until end is called.
func inBackground(ctx context.Context, f func(ctx context.Context)) (end func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() { f(ctx) })
	return func() { cancel(); running.Wait() }
}

// serveTap serves shipper tap until end is called, which must be after the last record has passed.
// The shipper works without it, so errors are only logged.
func (p *pipeline) serveTap(ctx context.Context) (end func()) {
	if p.tap == nil {
		return func() {}
	}
	serve, err := p.tap.Listen(context.WithoutCancel(ctx), p.BufferDir) // before the shipper logs that it has started
	if err != nil {
		p.log.Warn("cannot serve shipper tap", "error", err)
		return func() {}
	}
	return inBackground(ctx, func(ctx context.Context) {
		if err := serve(ctx); err != nil {
			p.log.Warn("cannot serve shipper tap", "error", err)
		}
	})
}

// notifyManager notifies systemd, if it started this process, that the shipper is ready, that it is
// alive, and, when ctx ends, that it is stopping. end ends the notifications.
func (p *pipeline) notifyManager(ctx context.Context) (end func()) {
	manager := sdnotify.FromEnv(p.getenv, os.Getpid())
	if manager == nil {
		return func() {}
	}
	notify := func(state string) {
		if err := manager.Send(context.WithoutCancel(ctx), state); err != nil {
			p.log.Warn("cannot notify the service manager", "error", err)
		}
	}
	notify(sdnotify.Ready)
	endWatch := inBackground(ctx, func(ctx context.Context) { manager.Watch(ctx, p.buffer.Err, p.log) })
	endNotice := inBackground(ctx, func(ended context.Context) {
		select {
		case <-ctx.Done():
			notify(sdnotify.Stopping)
		case <-ended.Done():
		}
	})
	return func() { endWatch(); endNotice() }
}

// paid reports whether requests to a store are billed.
func (p *pipeline) paid() bool { return billed(p.Stores) }

// billed reports whether requests to any of the stores are billed.
func billed(stores Stores) bool {
	return slices.ContainsFunc(stores.Every(), func(spec string) bool { return strings.HasPrefix(spec, "azblob:") })
}

// logStarted logs the inputs, stores and settings, and the expected cost of requests.
func (p *pipeline) logStarted() {
	if p.Once {
		return
	}
	inputs := make([]string, 0, len(p.running))
	for _, r := range p.running {
		inputs = append(inputs, r.spec.Service+": "+r.spec.String())
	}
	durable := "memory"
	if p.BufferDir != "" {
		durable = p.BufferDir
	}
	attrs := []any{
		"version", p.version, "instance", p.Instance, "inputs", inputs, "stores", p.Stores.Every(),
		"buffer", durable, "flush_interval", p.FlushInterval.String(), "max_flush_interval", p.MaxFlushInterval.String(),
		"flush_size", p.FlushSize, "bucket", p.Width.String(),
	}
	if p.paid() {
		// A service that always logs writes a blob and an entity per interval.
		const month = 30 * 24 * time.Hour
		flushes := int64(month / max(p.FlushInterval, time.Second))
		attrs = append(attrs, "monthly_requests_dollars_each_service", price.Default().Cost(price.Usage{Create: flushes, Table: flushes}))
	}
	p.log.Info("started", attrs...)
}
