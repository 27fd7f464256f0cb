// Package agent runs a shipper: it reads inputs, processes and buffers their records, and
// uploads the batches. It reloads its settings, takes over abandoned buffers of other instances,
// and keeps a status note in its buffer's directory.
package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"logstow/buffer"
	"logstow/config"
	"logstow/input"
	"logstow/input/dedupe"
	"logstow/input/listen"
	"logstow/internal/descriptors"
	"logstow/internal/hint"
	"logstow/internal/retry"
	"logstow/internal/units"
	"logstow/logmetrics"
	"logstow/metrics"
	"logstow/process"
	"logstow/store"
	"logstow/store/open"
	"logstow/tap"
	"logstow/upload"
	"logstow/watch"
)

const (
	// indexWait is the maximum time that an entity waits for others of its batch request.
	indexWait = 5 * time.Second
	// noteInterval is the interval at which the status note is updated.
	noteInterval = 2 * time.Second
	// largeBuffers is the number of inputs of files that may use a large read buffer at the same time.
	largeBuffers = 4
)

// pipeline is a run: inputs, buffer, and upload to stores.
type pipeline struct {
	Settings
	version    string
	getenv     func(string) string
	log        *slog.Logger
	began      time.Time
	progress   func(text func() string) (stop func())
	summarized func(Summary)
	requests   *metrics.Requests
	inputStats metrics.Inputs
	// receiving limits the memory of all network inputs together.
	receiving *listen.Budget
	// connections and openFiles divide the file descriptors among the listeners and the inputs of files.
	connections, followed *descriptors.Share
	// buffers are the read buffers, which all inputs of files share.
	buffers *input.ReadBuffers
	// keys recognizes repeated requests to network inputs.
	keys *dedupe.Keys
	// processed counts what processing changed and dropped.
	processed process.Stats
	// tap shows records to shipper tap; nil without a buffer on disk.
	tap *tap.Tap
	// logMetrics computes metrics from the records.
	logMetrics *logmetrics.Set
	buffer     *buffer.Buffer
	uploader   *upload.Uploader
	// flusher responds to watches, and passes them on to senders, of a relay.
	flusher *watch.Flusher
	senders *watch.Senders
	// opened holds the open stores.
	opened *stores
	note   *noteWriter
	// restoration ends the policy for lost positions.
	restoration *restoration
	// running holds the started inputs that have not ended, failed those that ended with an error.
	// ended receives inputs as they end, reloads new settings.
	running []*running
	ended   chan *running
	failed  []*running
	reloads chan Settings
}

// Options are what a run needs from its process.
type Options struct {
	// Version is the version of the program, for the log and the metrics.
	Version string
	Log     *slog.Logger
	// Getenv looks up environment variables, among them the credentials of the stores.
	Getenv func(string) string
	// Reload reads the settings again. It is called at every SIGHUP if the settings are Reloadable.
	Reload func() (Settings, error)
	// Summarize is called with the totals of a run; nil logs them.
	Summarize func(Summary)
	// Progress shows what text returns until stop is called. It is called for a run with Once; nil shows nothing.
	Progress func(text func() string) (stop func())
}

// ErrStopped is the cause ([context.Cause]) of a context that stops a run in order: the records
// that were read are uploaded within the drain timeout.
var ErrStopped = errors.New("stop requested") //nolint:gochecknoglobals // a sentinel

// ErrInterrupted is the error of a run with Once that was stopped before every
// input was read to its end.
var ErrInterrupted = errors.New("stop requested") //nolint:gochecknoglobals // a sentinel

// SettingsError is an error in the settings: a store, a route, an address or an input is invalid
// and cannot be opened.
type SettingsError struct{ Err error }

func (e *SettingsError) Error() string { return e.Err.Error() }
func (e *SettingsError) Unwrap() error { return e.Err }

// openError wraps the error of an input or address that cannot be opened as a [SettingsError],
// unless another program uses the address.
func openError(err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return err
	}
	return &SettingsError{err}
}

// IncompleteError is the error of a run that ended before everything was stored and indexed.
type IncompleteError struct {
	Err error
	// Denied is set if storage denied access.
	Denied bool
}

func (e *IncompleteError) Error() string { return e.Err.Error() }
func (e *IncompleteError) Unwrap() error { return e.Err }

// Run reads the inputs into the buffer and uploads its batches. It returns when the inputs or ctx
// have ended and everything is stored, or the drain timeout has passed. Its error is a
// [*SettingsError], an [*IncompleteError], [ErrInterrupted], or an error of an input or of the
// buffer.
func Run(ctx context.Context, s Settings, opts Options) error {
	p := newPipeline(s, opts)
	if s.Reloadable { // before anything else: without a handler SIGHUP ends the process
		stop := p.awaitReload(ctx, opts.Reload)
		defer stop()
	}
	return p.openAndRun(ctx)
}

func newPipeline(s Settings, opts Options) *pipeline {
	var before Note // of the last run
	if s.BufferDir != "" {
		before, _ = ReadNote(s.BufferDir)
	}
	p := &pipeline{
		Settings: s, version: opts.Version, getenv: opts.Getenv, log: opts.Log, began: time.Now(), requests: metrics.NewRequests(),
		progress: opts.Progress, summarized: opts.Summarize,
		receiving:   listen.NewBudget(listen.ReceiveMemory, nil),
		buffers:     input.NewReadBuffers(largeBuffers),
		opened:      newStores(opts.Log, opts.Getenv, before.Written),
		restoration: newRestoration(),
		logMetrics:  logmetrics.New(s.Instance),
		senders:     watch.NewSenders(),
		ended:       make(chan *running), reloads: make(chan Settings),
	}
	p.opened.onWritten = p.noteWritten
	p.connections, p.followed = descriptors.Divide(descriptors.Limit())
	p.flusher = watch.NewFlusher(watch.FlusherOptions{
		Instance: p.Instance,
		Stores:   p.newStores,
		Senders:  p.senders,
		Settings: p.watchSettings(),
		Log:      p.log,
	})
	if s.BufferDir != "" {
		p.tap = tap.New(s.Instance, opts.Log)
	}
	return p
}

func (p *pipeline) openAndRun(ctx context.Context) (err error) {
	err = p.Stores.try(ctx, p.getenv)
	if errors.Is(err, store.ErrInvalid) {
		return &SettingsError{err}
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.opened.close()) }()
	st, err := p.opened.open(ctx, p.Stores.All[0])
	if err != nil {
		return err
	}
	route, err := p.Stores.route(p.getenv)
	if err != nil {
		return &SettingsError{err}
	}
	p.opened.configure(p.Stores)
	applyMetrics, err := p.logMetrics.Prepare(p.LogMetrics)
	if err != nil {
		return &SettingsError{err}
	}
	applyMetrics()
	if err := p.openBuffer(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.buffer.Close()) }()
	if err := p.openUploader(st, route); err != nil {
		return err
	}
	return p.run(ctx)
}

func (p *pipeline) openBuffer(ctx context.Context) (err error) {
	p.buffer, err = openOwn(ctx, buffer.Options{
		Dir:              p.BufferDir,
		MaxSize:          p.BufferSize,
		Sync:             p.Sync,
		OnFull:           p.OnFull,
		OnLostPositions:  p.OnLostPositions,
		Instance:         p.Instance,
		Width:            p.Width,
		FlushSize:        p.FlushSize,
		FlushInterval:    p.FlushInterval,
		MaxFlushInterval: p.MaxFlushInterval,
		Once:             p.Once,
		Log:              p.log,
		MaxOpen:          p.MaxOpen,
		MaxLateness:      p.MaxLateness,
		NoFilter:         p.NoFilter,
		Columns:          p.Columns,
		Observe:          p.logMetrics.Observe,
	})
	if errors.Is(err, buffer.ErrLocked) {
		return hint.Wrap(err, "each running shipper needs its own buffer: give this one another --instance or --buffer-dir")
	}
	if err != nil {
		return err
	}
	p.keys = dedupe.New(p.buffer, p.maxKeys(), time.Now)
	p.note = &noteWriter{dir: p.BufferDir, log: p.log, damaged: func() uint64 { return p.buffer.Stats().Damaged }}
	err = p.note.begin(func(n *Note) {
		n.Service, n.Store, n.Relay, n.Written = p.Service, p.Stores.String(), p.relays(), p.opened.written()
	})
	if err != nil {
		return errors.Join(err, p.buffer.Close())
	}
	return nil
}

// relays reports whether an input receives segments of other shippers.
func (p *pipeline) relays() bool {
	return slices.ContainsFunc(p.Inputs, func(in config.Input) bool { return in.Kind().Segments })
}

// maxKeys is the maximum number of request keys to remember. It is limited by the size of the
// buffer, because every log file of the buffer begins with all keys.
func (p *pipeline) maxKeys() int {
	const bytesPerKey = 1 << 10
	if p.BufferDir == "" || p.BufferSize == 0 {
		return dedupe.Limit
	}
	return int(min(dedupe.Limit, max(1, p.BufferSize/bytesPerKey)))
}

func (p *pipeline) openUploader(st store.Store, route func(service, instance string) string) error {
	name, err := open.Absolute(p.Stores.All[0], p.getenv)
	if err != nil {
		return err
	}
	opts := upload.Options{Buffer: p.buffer, Store: p.requests.Store(st), StoreName: name, Stores: p.openOther, Route: route, Log: p.log}
	opts.IndexWait = min(indexWait, p.FlushInterval)
	if p.Once {
		opts.RetryFor = p.RetryFor
	}
	opts.NoIndex = p.NoIndex
	p.uploader = upload.New(opts)
	return nil
}

// openOther opens a store of a route or of an earlier configuration by its absolute name.
func (p *pipeline) openOther(ctx context.Context, name string) (store.Store, error) {
	st, err := p.opened.open(ctx, name)
	if err != nil {
		return nil, err
	}
	return p.requests.Store(st), nil
}

// newStores returns the stores of new segments, except those that cannot be opened: uploads report them.
func (p *pipeline) newStores(ctx context.Context) (all []store.Store) {
	for _, spec := range p.opened.specs() {
		if st, err := p.openOther(ctx, spec); err == nil {
			all = append(all, st)
		}
	}
	return all
}

// watchSettings returns the settings of the flusher. Polls are rare while no one follows, if they are billed.
func (p *pipeline) watchSettings() watch.Settings {
	s := p.Watch
	if p.paid() {
		s.IdleInterval = watch.IdleInterval
	}
	return s
}

// ownDirs returns the directories that shippers write to. Inputs never read files in them as logs.
func (p *pipeline) ownDirs() []string {
	var dirs []string
	if p.BufferDir != "" {
		dirs = append(dirs, p.BufferDir)
	}
	if all, err := BufferRoot(p.getenv, os.Getuid()); err == nil {
		dirs = append(dirs, all)
	}
	for _, spec := range p.Stores.Every() {
		if dir, ok := open.Dir(spec); ok {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// run reads and uploads. An upload error takes precedence over a read error.
func (p *pipeline) run(ctx context.Context) error {
	drain, cancel := input.Grace(ctx, p.DrainTimeout)
	defer cancel()
	reading, stopReading := context.WithCancel(ctx)
	defer stopReading()
	endMetrics, err := p.serveMetrics(ctx)
	if err != nil {
		return openError(fmt.Errorf("metrics: %w", err))
	}
	defer endMetrics()
	opened, err := p.open(reading, p.Inputs)
	if err != nil {
		return openError(err)
	}
	p.restoration.release()
	// On a full disk sealing waits for uploads, so it must not continue to wait once uploading has ended.
	uploading, endUploading := context.WithCancel(drain)
	defer endUploading()
	uploaded := make(chan error, 1)
	go func() {
		err := p.uploader.Run(drain)
		endUploading()
		if err != nil { // nothing more can be uploaded
			p.buffer.Drain(uploading)
			stopReading()
		}
		uploaded <- err
	}()
	endProgress := p.showProgress()
	defer endProgress()
	waitBackground := p.startBackground(reading)
	endTap := p.serveTap(ctx)
	p.start(reading, opened)
	p.logStarted()
	endWatch := p.notifyManager(ctx)
	defer endWatch()
	readErr := p.read(reading)
	endTap()
	if readErr == nil { // all inputs have positions in the buffer
		readErr = p.buffer.PositionsRestored(uploading)
	}
	p.buffer.Drain(uploading)
	uploadErr := <-uploaded
	stopReading()
	waitBackground()
	if p.Once && uploadErr == nil {
		uploadErr = p.rebuildIndexes(drain)
	}
	err = p.outcome(uploadErr, readErr)
	p.noteEnd(uploadErr)
	endProgress()
	p.summarize(err)
	return err
}

// startBackground starts the tasks that run until ctx ends. wait waits for their ends.
func (p *pipeline) startBackground(ctx context.Context) (wait func()) {
	var all sync.WaitGroup
	if p.BufferDir != "" {
		all.Go(func() { p.updateNote(ctx) })
	}
	if !p.Once {
		all.Go(func() { p.rebuildLoop(ctx) })
		all.Go(func() { p.restorePositions(ctx) })
		all.Go(func() { p.flusher.Run(ctx, p.buffer) })
		all.Go(func() { p.estimateLoop(ctx) })
	}
	if p.BufferDir != "" && !p.Once {
		t := &takeover{dir: p.BufferDir, service: p.Service, instance: p.Instance, uploader: p.uploader, log: p.log}
		all.Go(func() { t.run(ctx) })
	}
	return all.Wait
}

// updateNote writes the current upload error into the status note until ctx ends.
func (p *pipeline) updateNote(ctx context.Context) {
	var reported error
	retry.Every(ctx, noteInterval, func() {
		if failure := p.uploader.CurrentError(); (failure == nil) != (reported == nil) {
			p.note.update(func(n *Note) { n.setError(failure) })
			reported = failure
		}
	})
}

// noteWritten writes the stores that were written to into the status note.
func (p *pipeline) noteWritten() {
	p.note.update(func(n *Note) { n.Written = p.opened.written() })
}

// noteEnd writes the outcome into the status note.
func (p *pipeline) noteEnd(uploadErr error) {
	held := p.buffer.Stats()
	p.note.update(func(n *Note) {
		n.setError(uploadErr)
		n.Drained = uploadErr == nil && held.Open+held.Undelivered() == 0 && p.buffer.Err() == nil
	})
}

// outcome returns the error of the whole run.
func (p *pipeline) outcome(uploadErr, readErr error) error {
	held := p.buffer.Stats()
	stats := p.uploader.Stats()
	var unbuilt errNotRebuilt
	switch {
	case errors.As(uploadErr, &unbuilt):
		return &IncompleteError{Err: uploadErr}
	case uploadErr != nil:
		denied := errors.Is(uploadErr, store.ErrAccessDenied) && !errors.Is(uploadErr, ErrStopped)
		return &IncompleteError{Err: p.left(held, uploadErr), Denied: denied}
	case held.Unsealed > 0:
		return fmt.Errorf("%s could not be sealed in %s; the records are in its log, and the next start continues",
			units.Count(held.Unsealed, "batch"), p.BufferDir)
	case held.Failed > 0:
		return fmt.Errorf("lost %s that could not be sealed; see the log", units.Count(held.Failed, "segment"))
	case held.DamageLoss() != "":
		return fmt.Errorf("the buffer was damaged: %s; see the log", held.DamageLoss())
	case p.BufferDir == "" && stats.Quarantined > 0:
		return fmt.Errorf("lost %s that could not be delivered; see the log", units.Count(stats.Quarantined, "segment"))
	case p.buffer.InQuarantine() > 0:
		return hint.Wrap(fmt.Errorf("the quarantine of %s is not empty: %s", p.BufferDir, units.Count(p.buffer.InQuarantine(), "file")),
			"run shipper quarantine list --buffer-dir %s", p.BufferDir)
	case p.Once && stats.Unindexed+held.EntitiesDropped > 0 && !p.NoIndex:
		return hint.Wrap(fmt.Errorf("%s stored, but not in the index", units.Count(stats.Unindexed+held.EntitiesDropped, "segment")),
			"run shipper reindex on the store")
	}
	return readErr
}

// left returns the error that says how many segments are not stored or not indexed, and what happens
// to them.
func (p *pipeline) left(held buffer.Stats, err error) error {
	fate := "they stay in " + p.BufferDir + ", and the next start continues"
	if p.BufferDir == "" {
		fate = "they were buffered in memory only: those not stored are lost"
	}
	return fmt.Errorf("%s not stored or not indexed: %w (%d of them stored; %s)",
		units.Count(held.Waiting+held.Sending+int(held.Unsealed)+held.Unindexed, "segment"), err, held.Unindexed, fate)
}
