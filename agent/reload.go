package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"sync"
	"syscall"
	"time"

	"logstow/config"
	"logstow/input"
	"logstow/process"
	"logstow/store"
	"logstow/store/open"
)

// awaitReload reads the settings at every SIGHUP and sends them to pipeline.reloads, until ctx ends
// or stop is called. stop returns when no more are sent.
func (p *pipeline) awaitReload(ctx context.Context, read func() (Settings, error)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	received := make(chan os.Signal, 1)
	signal.Notify(received, syscall.SIGHUP)
	var waiting sync.WaitGroup
	waiting.Go(func() {
		for {
			select {
			case <-received:
			case <-ctx.Done():
				return
			}
			if !p.passOn(ctx, read, received) {
				return
			}
		}
	})
	return func() {
		signal.Stop(received)
		cancel()
		waiting.Wait()
	}
}

// passOn reads settings and passes them on; ok is false if ctx ended before. A read may hang, such as that of a named pipe: it delays
// neither the end of the process nor the next reload, which reads again.
func (p *pipeline) passOn(ctx context.Context, read func() (Settings, error), again <-chan os.Signal) (ok bool) {
	for {
		next, failed := make(chan Settings, 1), make(chan error, 1)
		go func() {
			if s, err := read(); err != nil {
				failed <- err
			} else {
				next <- s
			}
		}()
		select {
		case <-again:
			p.log.Warn("reload requested while the configuration was being read: reading it again")
			continue
		case err := <-failed:
			p.log.Error("reload rejected; keeping the old configuration", "error", err)
			return true
		case s := <-next:
			select {
			case p.reloads <- s:
				return true
			case <-ctx.Done():
			}
		case <-ctx.Done():
		}
		return false
	}
}

// reload applies new settings. If they cannot be applied, the old settings remain in use.
func (p *pipeline) reload(ctx context.Context, next Settings) {
	if ctx.Err() != nil {
		return
	}
	if err := p.apply(ctx, next); err != nil {
		if ctx.Err() == nil {
			p.log.Error("reload rejected; keeping the old configuration", "error", err)
		}
		return
	}
	p.warnFixed(next)
}

// apply changes inputs, stores, processing, metrics from logs and the flush intervals. Inputs of which at most the
// processing changes keep running. Other inputs are stopped, and new inputs start at their saved positions. After an
// error the old settings are in use, and the stopped inputs run again.
func (p *pipeline) apply(ctx context.Context, next Settings) error {
	if !next.Stores.equal(p.Stores) {
		if err := next.Stores.try(ctx, p.getenv); err != nil { // before an input is stopped
			return err
		}
	}
	applyMetrics, err := p.logMetrics.Prepare(next.LogMetrics)
	if err != nil {
		return err
	}
	oldStores, oldDirs := p.Stores, p.ownDirs()
	p.Stores = next.Stores
	stopping, kept, added := p.compareInputs(next.Inputs, slices.Equal(p.ownDirs(), oldDirs))
	if err := p.prepareRules(kept); err != nil {
		p.Stores = oldStores
		return err
	}
	replaced := slices.Concat(stopping, p.failed) // added has those that are still configured
	p.stop(stopping)
	stillRunning := len(p.running)
	opened, err := p.open(ctx, added)
	if err == nil {
		err = p.changeStores(ctx, oldStores)
	}
	if err != nil {
		p.Stores = oldStores
		err = errors.Join(err, closeInputs(opened))
		p.reopen(ctx, stopping)
		return err
	}
	changed := 0
	for _, k := range kept {
		if k.apply() {
			changed++
		}
	}
	applyMetrics()
	p.LogMetrics = next.LogMetrics
	p.setFlushIntervals(next.FlushInterval, next.MaxFlushInterval)
	for _, r := range replaced {
		r.release()
	}
	p.start(ctx, opened)
	p.Inputs, p.Watch = next.Inputs, next.Watch
	p.flusher.Configure(p.watchSettings())
	p.log.Info("configuration reloaded",
		"inputs_kept", stillRunning, "inputs_stopped", len(stopping), "inputs_started", len(opened), "inputs_reprocessed", changed)
	return nil
}

// setFlushIntervals changes the flush intervals. They apply to records in the buffer too.
func (p *pipeline) setFlushIntervals(interval, maximum time.Duration) {
	if interval == p.FlushInterval && maximum == p.MaxFlushInterval {
		return
	}
	p.log.Info("flush interval changed", "flush_interval", interval.String(), "previous_flush_interval", p.FlushInterval.String(),
		"max_flush_interval", maximum.String(), "previous_max_flush_interval", p.MaxFlushInterval.String())
	p.FlushInterval, p.MaxFlushInterval = interval, maximum
	p.buffer.SetFlushIntervals(interval, maximum)
	p.uploader.SetIndexWait(min(indexWait, interval))
}

// keptInput is an input that keeps running. Its next settings differ at most in the processing of records; changed is
// set if they do, and then processor is the new one.
type keptInput struct {
	*running
	next      config.Input
	changed   bool
	processor input.Processor
}

// apply changes the settings of the input and reports whether its processing has changed.
func (k *keptInput) apply() bool {
	k.spec = k.next
	if k.changed {
		k.rules.Set(k.processor)
	}
	return k.changed
}

// prepareRules creates the processors of the inputs whose processing changes.
func (p *pipeline) prepareRules(kept []keptInput) (err error) {
	for i := range kept {
		k := &kept[i]
		if k.changed = !reflect.DeepEqual(k.next.Process, k.spec.Process); !k.changed {
			continue
		}
		if k.processor, err = p.processor(&k.next); err != nil {
			return atLine(&k.next, err)
		}
	}
	return nil
}

// compareInputs returns the running inputs to stop, those to keep, and the settings of those to start. Unless sameDirs
// is set, the directories to skip have changed, and inputs of files are stopped and started again.
func (p *pipeline) compareInputs(next []config.Input, sameDirs bool) (stopping []*running, kept []keptInput, added []config.Input) {
	added = slices.Clone(next)
	for _, r := range p.running {
		i := slices.IndexFunc(added, func(in config.Input) bool { return sameReading(in, r.spec) })
		if i >= 0 && (sameDirs || !r.spec.Kind().Files) {
			kept = append(kept, keptInput{running: r, next: added[i]})
			added = slices.Delete(added, i, i+1)
		} else {
			stopping = append(stopping, r)
		}
	}
	return stopping, kept, added
}

// sameReading reports whether two inputs differ at most in their line and in the processing of records.
func sameReading(a, b config.Input) bool {
	a.Line, b.Line = 0, 0
	a.Process, b.Process = process.Options{}, process.Options{}
	return reflect.DeepEqual(a, b)
}

// reopen opens and starts stopped inputs again. Inputs that cannot be opened are added to pipeline.failed.
func (p *pipeline) reopen(ctx context.Context, stopped []*running) {
	for _, r := range stopped {
		opened, err := p.open(ctx, []config.Input{r.spec})
		if ctx.Err() != nil { // the run ends
			_ = closeInputs(opened)
			return
		}
		if err != nil {
			p.log.Error("cannot reopen an input", "input", r.spec.Kind().Name, "service", r.spec.Service, "error", err)
			p.failed = append(p.failed, &running{spec: r.spec, release: r.release, err: err})
			continue
		}
		r.release()
		p.start(ctx, opened)
	}
}

// changeStores routes new batches to the stores of the settings, if they differ from the old ones.
// Batches that may already have been sent to an old store remain assigned to it.
func (p *pipeline) changeStores(ctx context.Context, old Stores) error {
	next := p.Stores
	if next.equal(old) {
		return nil
	}
	route, err := next.route(p.getenv)
	if err != nil {
		return err
	}
	first := next.All[0]
	name, err := open.Absolute(first, p.getenv)
	var st store.Store
	if err == nil {
		st, err = p.opened.open(ctx, first)
	}
	if err != nil {
		return fmt.Errorf("store %s: %w", first, err)
	}
	p.uploader.SetStore(p.requests.Store(st), name, route)
	p.opened.configure(next)
	p.note.update(func(n *Note) { n.Store, n.Written = next.String(), p.opened.written() })
	p.log.Info("store changed for new segments", "store", next.String(), "previous_store", old.String())
	return nil
}

// warnFixed logs the changed settings that require a restart.
func (p *pipeline) warnFixed(next Settings) {
	for _, f := range []struct {
		name string
		same bool
	}{
		{"instance", next.Instance == p.Instance},
		{"buffer", next.BufferDir == p.BufferDir && next.BufferSize == p.BufferSize && next.Sync == p.Sync && next.OnFull == p.OnFull && next.OnLostPositions == p.OnLostPositions},
		{"bucket", next.Width == p.Width},
		{"filter", next.NoFilter == p.NoFilter},
		{"index", next.NoIndex == p.NoIndex},
		{"columns", slices.Equal(next.Columns, p.Columns)},
		{"metrics", next.MetricsAddress == p.MetricsAddress},
		{"flush-size", next.FlushSize == p.FlushSize},
		{"max-lateness", next.MaxLateness == p.MaxLateness},
		{"open-buckets", next.MaxOpen == p.MaxOpen},
		{"drain-timeout", next.DrainTimeout == p.DrainTimeout},
	} {
		if !f.same {
			p.log.Warn("requires a restart", "setting", f.name)
		}
	}
}
