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
)

// awaitReload reads the settings at every SIGHUP and sends them to pipeline.reloads;
// stop ends that and waits for it.
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
			s, err := read()
			if err != nil {
				p.log.Error("reload rejected; keeping the old configuration", "error", err)
				continue
			}
			select {
			case p.reloads <- s:
			case <-ctx.Done():
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

// reload applies new settings. If they cannot be applied, the old ones stay.
func (p *pipeline) reload(ctx context.Context, again Settings) {
	if ctx.Err() != nil {
		return
	}
	if err := p.apply(ctx, again); err != nil {
		if ctx.Err() == nil {
			p.log.Error("reload rejected; keeping the old configuration", "error", err)
		}
		return
	}
	p.warnFixed(again)
}

// apply changes inputs, stores, processing, metrics from logs and the flush interval: unchanged inputs keep running,
// also if only their processing changes; others stop, and new ones start at their saved positions. After an error
// everything is as before, and the stopped inputs run again.
func (p *pipeline) apply(ctx context.Context, again Settings) error {
	if !again.Stores.equal(p.Stores) {
		if err := again.Stores.try(ctx, p.getenv); err != nil { // before an input is stopped
			return err
		}
	}
	applyMetrics, err := p.logMetrics.Prepare(again.LogMetrics)
	if err != nil {
		return err
	}
	before, skipped := p.Stores, p.ownDirs()
	p.Stores = again.Stores
	leave, kept, wanted := p.compareInputs(again.Inputs, slices.Equal(p.ownDirs(), skipped))
	if err := p.prepareRules(kept); err != nil {
		p.Stores = before
		return err
	}
	gone := slices.Concat(leave, p.failed) // what the new configuration still has of these is opened again
	p.stop(leave)
	stay := len(p.running)
	opened, err := p.open(ctx, wanted)
	if err == nil {
		err = p.changeStores(ctx, before)
	}
	if err != nil {
		p.Stores = before
		err = errors.Join(err, closeInputs(opened))
		p.reopen(ctx, leave)
		return err
	}
	changed := 0
	for _, k := range kept {
		if k.apply() {
			changed++
		}
	}
	applyMetrics()
	p.LogMetrics = again.LogMetrics
	p.setFlushInterval(again.FlushInterval)
	for _, r := range gone {
		r.release()
	}
	p.start(ctx, opened)
	p.Inputs, p.Watch = again.Inputs, again.Watch
	p.flusher.Configure(p.Watch)
	p.log.Info("configuration reloaded", "inputs_kept", stay, "inputs_stopped", len(leave), "inputs_started", len(opened), "inputs_reprocessed", changed)
	return nil
}

// setFlushInterval changes the flush interval, also of the records that wait for it.
func (p *pipeline) setFlushInterval(d time.Duration) {
	if d == p.FlushInterval {
		return
	}
	p.log.Info("flush interval changed", "flush_interval", d.String(), "previous_flush_interval", p.FlushInterval.String())
	p.FlushInterval = d
	p.buffer.SetFlushInterval(d)
	p.uploader.SetIndexWait(min(indexWait, d))
}

// keptInput is an input that keeps running, with its new settings: only the processing of its records may differ.
type keptInput struct {
	*running
	again     config.Input
	changed   bool
	processor input.Processor
}

// apply changes the settings; it reports whether the processing changes.
func (k *keptInput) apply() bool {
	k.spec = k.again
	if k.changed {
		k.rules.Set(k.processor)
	}
	return k.changed
}

// prepareRules makes the processors of inputs whose processing changes.
func (p *pipeline) prepareRules(kept []keptInput) (err error) {
	for i := range kept {
		k := &kept[i]
		if k.changed = !reflect.DeepEqual(k.again.Process, k.spec.Process); !k.changed {
			continue
		}
		if k.processor, err = p.processor(&k.again); err != nil {
			return atLine(&k.again, err)
		}
	}
	return nil
}

// compareInputs returns the running inputs that leave, those that are kept, and those that are to be started. Inputs of
// files are started again if the directories that they skip, of stores and buffers, change.
func (p *pipeline) compareInputs(again []config.Input, sameDirs bool) (leave []*running, kept []keptInput, wanted []config.Input) {
	wanted = slices.Clone(again)
	for _, r := range p.running {
		i := slices.IndexFunc(wanted, func(in config.Input) bool { return sameReading(in, r.spec) })
		if i >= 0 && (sameDirs || r.spec.Kind != config.KindFiles) {
			kept = append(kept, keptInput{running: r, again: wanted[i]})
			wanted = slices.Delete(wanted, i, i+1)
		} else {
			leave = append(leave, r)
		}
	}
	return leave, kept, wanted
}

// sameReading reports whether two inputs are read in the same way: at most the processing of their records differs.
func sameReading(a, b config.Input) bool {
	a.Line, b.Line = 0, 0
	a.Process, b.Process = process.Options{}, process.Options{}
	return reflect.DeepEqual(a, b)
}

// reopen starts inputs again that were stopped. One that cannot be opened has failed.
func (p *pipeline) reopen(ctx context.Context, stopped []*running) {
	for _, r := range stopped {
		opened, err := p.open(ctx, []config.Input{r.spec})
		if ctx.Err() != nil { // the run ends
			_ = closeInputs(opened)
			return
		}
		if err != nil {
			p.log.Error("cannot reopen an input", "input", r.spec.Kind, "service", r.spec.Service, "error", err)
			p.failed = append(p.failed, &running{spec: r.spec, release: r.release, err: err})
			continue
		}
		r.release()
		p.start(ctx, opened)
	}
}

// changeStores routes new batches to the stores of the settings, which were others before. Batches
// that may already have been sent to one of those stay with it.
func (p *pipeline) changeStores(ctx context.Context, before Stores) error {
	again := p.Stores
	if again.equal(before) {
		return nil
	}
	route, err := again.route(p.getenv)
	if err != nil {
		return err
	}
	first := again.All[0]
	name, err := absoluteName(first, p.getenv)
	var st store.Store
	if err == nil {
		st, err = p.opened.open(ctx, first)
	}
	if err != nil {
		return fmt.Errorf("store %s: %w", first, err)
	}
	p.uploader.SetStore(p.requests.Store(st), name, route)
	p.opened.configure(again)
	p.note.update(func(n *Note) { n.Store = again.String() })
	p.log.Info("store changed for new segments", "store", again.String(), "previous_store", before.String())
	return nil
}

// warnFixed logs the changed settings that require a restart.
func (p *pipeline) warnFixed(again Settings) {
	for _, f := range []struct {
		name string
		same bool
	}{
		{"instance", again.Instance == p.Instance},
		{"buffer", again.BufferDir == p.BufferDir && again.BufferSize == p.BufferSize && again.Sync == p.Sync && again.OnFull == p.OnFull && again.OnLostPositions == p.OnLostPositions},
		{"bucket", again.Width == p.Width},
		{"filter", again.NoFilter == p.NoFilter},
		{"columns", slices.Equal(again.Columns, p.Columns)},
		{"metrics", again.MetricsAddress == p.MetricsAddress},
		{"flush-size", again.FlushSize == p.FlushSize},
		{"max-lateness", again.MaxLateness == p.MaxLateness},
		{"open-buckets", again.MaxOpen == p.MaxOpen},
		{"drain-timeout", again.DrainTimeout == p.DrainTimeout},
	} {
		if !f.same {
			p.log.Warn("requires a restart", "setting", f.name)
		}
	}
}
