package main

import (
	"context"
	"os"
	"strings"
	"sync"
	"time"

	"logstow/input/httpserver"
	"logstow/input/syslog"
	"logstow/internal/price"
	"logstow/internal/sdnotify"
	"logstow/metrics"
)

// serveMetrics serves metrics, where there is an address for them, until the
// function returned is called: they are asked for also while what was read is shipped.
func (p *pipeline) serveMetrics(ctx context.Context) (end func(), err error) {
	if p.metrics == "" {
		return func() {}, nil
	}
	opts := metrics.Options{
		Version: version, Buffer: p.buffer, Uploader: p.shipper,
		Inputs: &p.inputStats, Requests: p.requests, Processed: p.processed.Counts,
		Lost: map[string]func() uint64{"udp-no-room": p.lost.noRoom, "udp-kernel": p.lost.byKernel},
	}
	if p.paid() {
		opts.Prices = price.Default()
	}
	server, err := httpserver.New(ctx, httpserver.Options{Address: p.metrics, Log: p.log}, metrics.New(opts))
	if err != nil {
		return nil, err
	}
	p.log.Info("serving metrics", "address", server.Addr().String())
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Run(ctx); err != nil {
			p.log.Error("metrics are not served any more", "error", err)
		}
	}()
	return func() { cancel(); <-ended }, nil
}

// tellManager tells systemd, where it started this process, that it reads, that it
// lives, and that it is ending when ctx has; the function returned ends that.
func (p *pipeline) tellManager(ctx context.Context) (end func()) {
	manager := sdnotify.FromEnv(os.Getenv, os.Getpid())
	if manager == nil {
		return func() {}
	}
	tell := func(state string) {
		if err := manager.Send(context.WithoutCancel(ctx), state); err != nil {
			p.log.Warn("the service manager does not hear", "error", err)
		}
	}
	tell(sdnotify.Ready)
	watching, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var all sync.WaitGroup
	all.Go(func() { manager.Watch(watching, p.buffer.Err, p.log) })
	all.Go(func() {
		select {
		case <-ctx.Done():
			tell(sdnotify.Stopping)
		case <-watching.Done():
		}
	})
	return func() { cancel(); all.Wait() }
}

// paid reports whether a store costs money.
func (p *pipeline) paid() bool {
	for _, spec := range p.stores.every() {
		if strings.HasPrefix(spec, "azblob:") {
			return true
		}
	}
	return false
}

// sayStarted says what runs here and how, and what its requests will cost.
func (p *pipeline) sayStarted() {
	if p.once {
		return
	}
	inputs := make([]string, 0, len(p.running))
	for _, r := range p.running {
		inputs = append(inputs, r.spec.Service+": "+describe(&r.spec))
	}
	durable := "memory"
	if p.bufferDir != "" {
		durable = p.bufferDir
	}
	said := []any{
		"version", version, "instance", p.instance, "inputs", inputs, "stores", p.stores.every(),
		"buffer", durable, "flush_interval", p.flushInterval.String(), "flush_size", p.flushSize, "bucket", p.bucket.String(),
	}
	if p.paid() {
		// A service that always logs makes a blob and a row at each interval.
		const month = 30 * 24 * time.Hour
		flushes := int64(month / max(p.flushInterval, time.Second))
		said = append(said, "monthly_requests_dollars_each_service", price.Default().Cost(price.Usage{Create: flushes, Table: flushes}))
	}
	p.log.Info("started", said...)
}

// lost are records that inputs could not take. Safe for concurrent use.
type lost struct {
	mu      sync.Mutex
	servers []*syslog.Server
}

// of adds a server's numbers, which stay when it has ended.
func (l *lost) of(s *syslog.Server) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.servers = append(l.servers, s)
}

func (l *lost) noRoom() uint64   { return l.sum(func(s syslog.Stats) int64 { return s.Dropped }) }
func (l *lost) byKernel() uint64 { return l.sum(func(s syslog.Stats) int64 { return s.LostByKernel }) }

func (l *lost) sum(number func(syslog.Stats) int64) (total uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.servers {
		total += uint64(number(s.Stats()))
	}
	return total
}
