package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"logstow/buffer"
	"logstow/input"
	"logstow/input/listen"
	"logstow/internal/cli"
	"logstow/internal/hint"
	"logstow/metrics"
	"logstow/process"
	"logstow/store"
	"logstow/store/open"
	"logstow/upload"
)

const (
	// maxUnindexed is how many segments may wait for the index where they can only do so in memory.
	maxUnindexed = 4096
	// indexWait is how long a row waits for others to be written with, at most.
	indexWait = 5 * time.Second
	// noteEvery is how often it is looked whether the buffer's note is still true.
	noteEvery = 2 * time.Second
)

// pipeline is a run: inputs, buffer, and shipping to a store.
type pipeline struct {
	settings
	log        *slog.Logger
	began      time.Time
	requests   *metrics.Requests
	inputStats metrics.Inputs
	// receiving is the memory that all network inputs share.
	receiving *listen.Budget
	lost      lost
	// processed is what was changed and dropped on the way to the buffer.
	processed process.Stats
	buffer    *buffer.Buffer
	shipper   *upload.Uploader
	opened    *stores
	// running are the inputs that are read, ended gets each that has ended, reloads
	// what is to be changed to.
	running []*running
	ended   chan *running
	reloads chan settings
}

// ship runs the pipeline until the inputs end or ctx does, and all is stored.
// again reads the settings anew.
func ship(ctx context.Context, s settings, again func() (settings, error)) (err error) {
	p := &pipeline{
		settings: s, log: newLogger(os.Stderr), began: time.Now(), requests: metrics.NewRequests(),
		receiving: listen.NewBudget(listen.ReceiveMemory, nil),
		ended:     make(chan *running), reloads: make(chan settings),
	}
	if s.configured { // before anything else: the signal's default is the end
		stop := p.awaitReload(ctx, again)
		defer stop()
	}
	err = s.stores.try(ctx)
	if errors.Is(err, store.ErrInvalid) {
		return cli.Usagef("%w", err)
	}
	if err != nil {
		return err
	}
	p.opened = &stores{log: p.log}
	defer func() { err = errors.Join(err, p.opened.close()) }()
	st, err := p.opened.open(ctx, s.stores.all[0])
	if err != nil {
		return err
	}
	route, err := p.stores.route()
	if err != nil {
		return cli.Usagef("%w", err)
	}
	if err := p.openBuffer(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.buffer.Close()) }()
	if err := p.openShipper(st, route); err != nil {
		return err
	}
	return p.run(ctx)
}

func (p *pipeline) openBuffer(ctx context.Context) (err error) {
	p.buffer, err = openOwn(ctx, buffer.Options{
		Dir: p.bufferDir, MaxSize: p.bufferSize, Sync: p.sync, OnFull: p.onFull,
		Instance: p.instance, Width: p.bucket, FlushSize: p.flushSize, FlushInterval: p.flushInterval, Once: p.once, Log: p.log,
		MaxOpen: p.openBuckets, MaxLateness: p.maxLateness, NoFilter: p.noFilter,
	})
	if errors.Is(err, buffer.ErrLocked) {
		return hint.Wrap(err, "every running shipper needs its own buffer: give this one another --instance or --buffer-dir")
	}
	if err != nil || p.bufferDir == "" {
		return err
	}
	if err := removeNote(p.bufferDir); err != nil {
		return errors.Join(err, p.buffer.Close())
	}
	p.writeNote(nil, false)
	return nil
}

func (p *pipeline) openShipper(st store.Store, route func(service, instance string) string) error {
	name, err := lastingName(p.stores.all[0])
	if err != nil {
		return err
	}
	opts := upload.Options{Buffer: p.buffer, Store: p.requests.Store(st), StoreName: name, Stores: p.openOther, Route: route, Log: p.log}
	opts.IndexWait = min(indexWait, p.flushInterval)
	if p.once {
		opts.RetryFor = p.retryFor
	}
	if p.bufferDir == "" {
		opts.MaxUnindexed = maxUnindexed
	}
	p.shipper = upload.New(opts)
	return nil
}

// openOther opens a store of a route or of an earlier configuration.
func (p *pipeline) openOther(ctx context.Context, name string) (store.Store, error) {
	st, err := p.opened.open(ctx, name)
	if err != nil {
		return nil, err
	}
	return p.requests.Store(st), nil
}

// ownDirs are the directories that shippers write to: what is in them is never read as logs.
func (p *pipeline) ownDirs() []string {
	var dirs []string
	if p.bufferDir != "" {
		dirs = append(dirs, p.bufferDir)
	}
	if all, err := buffersDir(os.Getenv, os.Getuid()); err == nil {
		dirs = append(dirs, all)
	}
	for _, spec := range p.stores.every() {
		if dir, ok := open.Dir(spec); ok {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// run reads and ships. What keeps a record from being stored goes before what
// kept one from being read.
func (p *pipeline) run(ctx context.Context) error {
	late, cancel := input.Grace(ctx, p.drainTimeout)
	defer cancel()
	reading, stopReading := context.WithCancel(ctx)
	defer stopReading()
	endMetrics, err := p.serveMetrics(ctx)
	if err != nil {
		return cli.Usagef("%w", err)
	}
	defer endMetrics()
	if err := p.openInputs(reading); err != nil {
		return cli.Usagef("%w", err)
	}
	p.sayStarted()
	endWatch := p.tellManager(ctx)
	defer endWatch()
	// On a full disk sealing waits for delivery: there is nothing to wait for after it.
	shipping, endShipping := context.WithCancel(late)
	defer endShipping()
	shipped := make(chan error, 1)
	go func() {
		err := p.shipper.Run(late)
		endShipping()
		if err != nil { // nothing more can be taken
			p.buffer.Drain(shipping)
			stopReading()
		}
		shipped <- err
	}()
	endBeside := p.beside(reading)
	readErr := p.read(reading)
	p.buffer.Drain(shipping)
	shipErr := <-shipped
	stopReading()
	endBeside()
	if p.once && shipErr == nil {
		shipErr = p.rebuildIndexes(late)
	}
	err = p.outcome(shipErr, readErr)
	p.noteEnd(shipErr)
	p.summarize(err)
	return err
}

// beside starts what runs beside reading and shipping; the function returned waits for its end, which comes with ctx's.
func (p *pipeline) beside(ctx context.Context) (wait func()) {
	var all sync.WaitGroup
	if p.bufferDir != "" {
		all.Go(func() { p.keepNote(ctx) })
	}
	if !p.once {
		all.Go(func() { p.keepIndexes(ctx) })
	}
	if p.bufferDir != "" && !p.once {
		t := &takeover{dir: p.bufferDir, service: p.service, instance: p.instance, shipper: p.shipper, log: p.log}
		all.Go(func() { t.run(ctx) })
	}
	return all.Wait
}

// keepNote writes down what does not work for as long as it does not, for shipper status.
func (p *pipeline) keepNote(ctx context.Context) {
	ticker := time.NewTicker(noteEvery)
	defer ticker.Stop()
	var said error
	for {
		if trouble := p.shipper.CurrentError(); (trouble == nil) != (said == nil) {
			p.writeNote(trouble, false)
			said = trouble
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// noteEnd writes down how it ended.
func (p *pipeline) noteEnd(shipErr error) {
	if p.bufferDir == "" {
		return
	}
	held := p.buffer.Stats()
	left := held.Open+held.Waiting+held.Sending > 0 || held.Unsealed+held.Failed > 0
	p.writeNote(shipErr, shipErr == nil && !left && p.buffer.Err() == nil)
}

func (p *pipeline) writeNote(trouble error, drained bool) {
	n := note{Service: p.service, Store: p.stores.String(), Drained: drained, Time: time.Now().UTC()}
	if trouble != nil {
		n.Error, n.Hint = trouble.Error(), hint.Of(trouble)
	}
	if err := n.write(p.bufferDir); err != nil {
		p.log.Debug("the buffer's note could not be written", "dir", p.bufferDir, "error", err)
	}
}

// outcome is what the run comes to.
func (p *pipeline) outcome(shipErr, readErr error) error {
	held := p.buffer.Stats()
	stats := p.shipper.Stats()
	var unbuilt errNotRebuilt
	switch {
	case errors.As(shipErr, &unbuilt):
		return &cli.Error{Status: cli.Incomplete, Err: shipErr}
	case shipErr != nil:
		status := cli.Incomplete
		if errors.Is(shipErr, store.ErrAccessDenied) && !errors.Is(shipErr, errStopped) {
			status = cli.AccessDenied
		}
		return &cli.Error{Status: status, Err: p.left(held, shipErr)}
	case held.Unsealed > 0:
		return fmt.Errorf("%d batches could not be written to %s; their records are in its log, and the next start goes on with them", held.Unsealed, p.bufferDir)
	case held.Failed > 0:
		return fmt.Errorf("%d segments could not be sealed and are lost; see the log", held.Failed)
	case p.bufferDir == "" && stats.Quarantined > 0:
		return fmt.Errorf("%d segments could not be delivered and are lost; see the log", stats.Quarantined)
	case p.buffer.InQuarantine() > 0:
		return hint.Wrap(fmt.Errorf("the quarantine of %s is not empty: %d files", p.bufferDir, p.buffer.InQuarantine()),
			"run shipper quarantine list --buffer-dir %s", p.bufferDir)
	case p.once && stats.Unindexed > 0:
		return fmt.Errorf("%d segments are stored, but not in the index", stats.Unindexed)
	}
	return readErr
}

// left says what is not done and what becomes of it.
func (p *pipeline) left(held buffer.Stats, err error) error {
	fate := "they are kept in " + p.bufferDir + ", and the next start goes on with them"
	if p.bufferDir == "" {
		fate = "they were kept in memory alone and those not stored are lost"
	}
	return fmt.Errorf("%d segments are not stored or not indexed: %w (%d of them are stored; %s)",
		held.Waiting+held.Sending+int(held.Unsealed), err, held.Unindexed, fate)
}

// summarize says what was done.
func (p *pipeline) summarize(err error) {
	message := "done"
	if err != nil {
		message = "incomplete"
	}
	if n := p.buffer.InQuarantine(); n > 0 {
		p.log.Error("the quarantine is not empty", "dir", p.bufferDir, "files", n)
	}
	read := p.inputStats.Total()
	s, held, requests := p.shipper.Stats(), p.buffer.Stats(), p.requests.Counts()
	p.log.Info(message,
		"records", s.Records, "input_bytes", read.Bytes, "raw_bytes", s.RawBytes,
		"segments", s.Segments, "stored_bytes", s.StoredBytes,
		"creates", s.Creates, "conflicts", s.Conflicts, "requests", requests.Total(),
		"cut", read.Cut, "split", read.Split, "late", held.Late, "processed", p.processedCounts(), "times_refused", read.TimesRejected, "times_ahead", read.Ahead, "times_missed", read.TimesNotFound,
		"replayed", held.Replayed, "dropped", held.Dropped, "waiting", held.Waiting+held.Sending, "quarantined", p.buffer.InQuarantine(),
		"seconds", time.Since(p.began).Round(time.Millisecond).Seconds())
}

// processedCounts is what was changed and dropped on the way to the buffer, by reason.
func (p *pipeline) processedCounts() slog.Value {
	var attrs []slog.Attr
	for reason, n := range p.processed.Counts() {
		if n > 0 {
			attrs = append(attrs, slog.Int64(reason, n))
		}
	}
	return slog.GroupValue(attrs...)
}
