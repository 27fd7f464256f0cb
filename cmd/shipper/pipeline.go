package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"logstow/buffer"
	"logstow/input"
	"logstow/input/stdin"
	"logstow/input/tail"
	"logstow/internal/cli"
	"logstow/record/recognize"
	shipping "logstow/ship"
	"logstow/store"
	"logstow/store/open"
)

// stopWait is how long storing may go on after the end is asked for.
const stopWait = 25 * time.Second

// pipeline is a run: inputs, buffer, and shipping to a store.
type pipeline struct {
	settings
	log     *slog.Logger
	began   time.Time
	counter store.Counter
	stats   input.Stats
	buffer  *buffer.Buffer
	shipper *shipping.Shipper
	// inputs are what is read; each runs until it ends or its context does.
	inputs []func(context.Context) error
}

// ship runs the pipeline until the inputs end or ctx does, and all is stored.
func ship(ctx context.Context, s settings) (err error) {
	p := &pipeline{settings: s, log: newLogger(os.Stderr), began: time.Now()}
	st, err := open.Store(ctx, s.store, open.Options{Getenv: os.Getenv, Log: p.log})
	if errors.Is(err, store.ErrInvalid) {
		return cli.Usagef("%w", err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	p.buffer, err = buffer.Open(buffer.Options{
		Instance: s.instance, Width: s.bucket, FlushSize: s.flushSize, FlushInterval: s.flushInterval, Once: s.once, Log: p.log,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.buffer.Close()) }()
	opts := shipping.Options{Buffer: p.buffer, Store: p.counter.Store(st), Log: p.log}
	if s.once {
		opts.RetryFor = s.retryFor
	}
	p.shipper = shipping.New(opts)
	if err := p.openInputs(); err != nil {
		return cli.Usagef("%w", err)
	}
	return p.run(ctx)
}

// openInputs makes the inputs; they read nothing yet.
func (p *pipeline) openInputs() error {
	opts := input.Options{
		Service: p.service, Class: p.class, MaxRecord: p.maxRecord,
		Recognize: recognize.Options{Zone: p.zone}, Sink: p.buffer, Stats: &p.stats, Log: p.log,
	}
	if len(p.paths) > 0 {
		files, err := tail.New(tail.Options{Options: opts, Paths: p.paths, Once: p.once, FromStart: p.fromStart})
		if err != nil {
			return err
		}
		p.inputs = append(p.inputs, files.Run)
	}
	if p.stdin {
		p.inputs = append(p.inputs, func(ctx context.Context) error { return stdin.Run(ctx, os.Stdin, opts) })
	}
	return nil
}

// run reads and ships. What keeps a record from being stored goes before what
// kept one from being read.
func (p *pipeline) run(ctx context.Context) error {
	late, cancel := input.Grace(ctx, stopWait)
	defer cancel()
	reading, stopReading := context.WithCancel(ctx)
	defer stopReading()
	shipped := make(chan error, 1)
	go func() {
		err := p.shipper.Run(late)
		if err != nil { // nothing more can be taken
			p.buffer.Drain()
			stopReading()
		}
		shipped <- err
	}()
	readErr := p.read(reading)
	p.buffer.Drain()
	err := p.outcome(<-shipped, readErr)
	p.summarize(err)
	return err
}

// read runs the inputs until all have ended.
func (p *pipeline) read(ctx context.Context) error {
	var g errgroup.Group // one input's failure is no reason to end the other
	for _, run := range p.inputs {
		g.Go(func() error { return run(ctx) })
	}
	err := g.Wait()
	if p.once && errors.Is(context.Cause(ctx), errStopped) {
		p.log.Warn("interrupted: the inputs were not read to their end")
		return &cli.Error{Status: cli.Interrupted, Err: errStopped}
	}
	return err
}

// outcome is what the run comes to.
func (p *pipeline) outcome(shipErr, readErr error) error {
	held := p.buffer.Stats()
	stats := p.shipper.Stats()
	switch {
	case shipErr != nil:
		status := cli.Incomplete
		if errors.Is(shipErr, store.ErrRefused) {
			status = cli.Refused
		}
		return &cli.Error{Status: status, Err: fmt.Errorf("%d segments are not stored or not indexed: %w", held.Waiting+held.Sending, shipErr)}
	case held.Failed > 0:
		return fmt.Errorf("%d segments could not be sealed and are lost; see the log", held.Failed)
	case stats.Quarantined > 0:
		return fmt.Errorf("%d segments were set aside; see the log", stats.Quarantined)
	case p.once && stats.Unindexed > 0:
		return fmt.Errorf("%d segments are stored, but not in the index", stats.Unindexed)
	}
	return readErr
}

// summarize says what was done.
func (p *pipeline) summarize(err error) {
	message := "done"
	if err != nil {
		message = "incomplete"
	}
	s, requests := p.shipper.Stats(), p.counter.Requests()
	p.log.Info(message,
		"records", s.Records, "input_bytes", p.stats.Bytes.Load(), "raw_bytes", s.RawBytes,
		"segments", s.Segments, "stored_bytes", s.StoredBytes,
		"creates", s.Creates, "conflicts", s.Conflicts, "requests", requests.Total(),
		"cut", p.stats.Cut.Load(), "times_refused", p.stats.Refused.Load(),
		"seconds", time.Since(p.began).Round(time.Millisecond).Seconds())
}
