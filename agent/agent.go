// Package agent runs a shipper: it reads inputs, processes and buffers their records, and
// uploads the batches. It reloads its settings, takes over the buffers of instances that
// are gone, and writes a note about itself into its buffer's directory.
package agent

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
	Settings
	version    string
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
	reloads chan Settings
}

// Options are what a run gets from its process.
type Options struct {
	// Version is the program's, for the log and the metrics.
	Version string
	Log     *slog.Logger
	// Reload reads the settings again, at every SIGHUP; it is called only if the settings are Reloadable.
	Reload func() (Settings, error)
}

// ErrStopped is the cause ([context.Cause]) of a context that asks a run to end in order:
// what was read is uploaded within the drain timeout.
var ErrStopped = errors.New("asked to stop") //nolint:gochecknoglobals // a sentinel

// ErrInterrupted is the error of a run with Once that was asked to stop before every
// input was read to its end.
var ErrInterrupted = errors.New("asked to stop") //nolint:gochecknoglobals // a sentinel

// SettingsError is an error in the settings: a store, a route, an address or an input
// that cannot be opened as it is given.
type SettingsError struct{ Err error }

func (e *SettingsError) Error() string { return e.Err.Error() }
func (e *SettingsError) Unwrap() error { return e.Err }

// IncompleteError is the error of a run that ended before everything was stored and indexed.
type IncompleteError struct {
	Err error
	// Denied reports whether the reason is that storage denies access.
	Denied bool
}

func (e *IncompleteError) Error() string { return e.Err.Error() }
func (e *IncompleteError) Unwrap() error { return e.Err }

// Run reads the inputs into the buffer and uploads its batches until the inputs end or ctx
// does, and everything is stored. Its error is a [*SettingsError], an [*IncompleteError],
// [ErrInterrupted], or that of an input or of the buffer.
func Run(ctx context.Context, s Settings, opts Options) (err error) {
	p := &pipeline{
		Settings: s, version: opts.Version, log: opts.Log, began: time.Now(), requests: metrics.NewRequests(),
		receiving: listen.NewBudget(listen.ReceiveMemory, nil),
		ended:     make(chan *running), reloads: make(chan Settings),
	}
	if s.Reloadable { // before anything else: the signal's default is the end
		stop := p.awaitReload(ctx, opts.Reload)
		defer stop()
	}
	err = s.Stores.try(ctx)
	if errors.Is(err, store.ErrInvalid) {
		return &SettingsError{err}
	}
	if err != nil {
		return err
	}
	p.opened = &stores{log: p.log}
	defer func() { err = errors.Join(err, p.opened.close()) }()
	st, err := p.opened.open(ctx, s.Stores.All[0])
	if err != nil {
		return err
	}
	route, err := p.Stores.route()
	if err != nil {
		return &SettingsError{err}
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
		Dir: p.BufferDir, MaxSize: p.BufferSize, Sync: p.Sync, OnFull: p.OnFull,
		Instance: p.Instance, Width: p.Width, FlushSize: p.FlushSize, FlushInterval: p.FlushInterval, Once: p.Once, Log: p.log,
		MaxOpen: p.MaxOpen, MaxLateness: p.MaxLateness, NoFilter: p.NoFilter,
	})
	if errors.Is(err, buffer.ErrLocked) {
		return hint.Wrap(err, "every running shipper needs its own buffer: give this one another --instance or --buffer-dir")
	}
	if err != nil || p.BufferDir == "" {
		return err
	}
	if err := removeNote(p.BufferDir); err != nil {
		return errors.Join(err, p.buffer.Close())
	}
	p.writeNote(nil, false)
	return nil
}

func (p *pipeline) openShipper(st store.Store, route func(service, instance string) string) error {
	name, err := lastingName(p.Stores.All[0])
	if err != nil {
		return err
	}
	opts := upload.Options{Buffer: p.buffer, Store: p.requests.Store(st), StoreName: name, Stores: p.openOther, Route: route, Log: p.log}
	opts.IndexWait = min(indexWait, p.FlushInterval)
	if p.Once {
		opts.RetryFor = p.RetryFor
	}
	if p.BufferDir == "" {
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
	if p.BufferDir != "" {
		dirs = append(dirs, p.BufferDir)
	}
	if all, err := BufferRoot(os.Getenv, os.Getuid()); err == nil {
		dirs = append(dirs, all)
	}
	for _, spec := range p.Stores.Every() {
		if dir, ok := open.Dir(spec); ok {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// run reads and ships. What keeps a record from being stored goes before what
// kept one from being read.
func (p *pipeline) run(ctx context.Context) error {
	late, cancel := input.Grace(ctx, p.DrainTimeout)
	defer cancel()
	reading, stopReading := context.WithCancel(ctx)
	defer stopReading()
	endMetrics, err := p.serveMetrics(ctx)
	if err != nil {
		return &SettingsError{err}
	}
	defer endMetrics()
	if err := p.openInputs(reading); err != nil {
		return &SettingsError{err}
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
	if p.Once && shipErr == nil {
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
	if p.BufferDir != "" {
		all.Go(func() { p.keepNote(ctx) })
	}
	if !p.Once {
		all.Go(func() { p.keepIndexes(ctx) })
	}
	if p.BufferDir != "" && !p.Once {
		t := &takeover{dir: p.BufferDir, service: p.Service, instance: p.Instance, shipper: p.shipper, log: p.log}
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
		if trouble := p.shipper.Trouble(); (trouble == nil) != (said == nil) {
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
	if p.BufferDir == "" {
		return
	}
	held := p.buffer.Stats()
	left := held.Open+held.Waiting+held.Sending > 0 || held.Unsealed+held.Failed > 0
	p.writeNote(shipErr, shipErr == nil && !left && p.buffer.Err() == nil)
}

func (p *pipeline) writeNote(trouble error, drained bool) {
	n := Note{Service: p.Service, Store: p.Stores.String(), Drained: drained, Time: time.Now().UTC()}
	if trouble != nil {
		n.Error, n.Hint = trouble.Error(), hint.Of(trouble)
	}
	if err := n.write(p.BufferDir); err != nil {
		p.log.Debug("the buffer's note could not be written", "dir", p.BufferDir, "error", err)
	}
}

// outcome is what the run comes to.
func (p *pipeline) outcome(shipErr, readErr error) error {
	held := p.buffer.Stats()
	stats := p.shipper.Stats()
	var unbuilt errNotRebuilt
	switch {
	case errors.As(shipErr, &unbuilt):
		return &IncompleteError{Err: shipErr}
	case shipErr != nil:
		denied := errors.Is(shipErr, store.ErrAccessDenied) && !errors.Is(shipErr, ErrStopped)
		return &IncompleteError{Err: p.left(held, shipErr), Denied: denied}
	case held.Unsealed > 0:
		return fmt.Errorf("%d batches could not be written to %s; their records are in its log, and the next start goes on with them", held.Unsealed, p.BufferDir)
	case held.Failed > 0:
		return fmt.Errorf("%d segments could not be sealed and are lost; see the log", held.Failed)
	case p.BufferDir == "" && stats.Quarantined > 0:
		return fmt.Errorf("%d segments could not be delivered and are lost; see the log", stats.Quarantined)
	case p.buffer.InQuarantine() > 0:
		return hint.Wrap(fmt.Errorf("the quarantine of %s is not empty: %d files", p.BufferDir, p.buffer.InQuarantine()),
			"run shipper quarantine list --buffer-dir %s", p.BufferDir)
	case p.Once && stats.Unindexed > 0:
		return fmt.Errorf("%d segments are stored, but not in the index", stats.Unindexed)
	}
	return readErr
}

// left says what is not done and what becomes of it.
func (p *pipeline) left(held buffer.Stats, err error) error {
	fate := "they are kept in " + p.BufferDir + ", and the next start goes on with them"
	if p.BufferDir == "" {
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
		p.log.Error("the quarantine is not empty", "dir", p.BufferDir, "files", n)
	}
	read := p.inputStats.Total()
	s, held, requests := p.shipper.Stats(), p.buffer.Stats(), p.requests.Made()
	p.log.Info(message,
		"records", s.Records, "input_bytes", read.Bytes, "raw_bytes", s.RawBytes,
		"segments", s.Segments, "stored_bytes", s.StoredBytes,
		"creates", s.Creates, "conflicts", s.Conflicts, "requests", requests.Total(),
		"cut", read.Cut, "split", read.Split, "late", held.Late, "processed", p.processedCounts(), "times_refused", read.Refused, "times_ahead", read.Ahead, "times_missed", read.Missed,
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
