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

	"logstow/config"
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

// apply changes inputs and stores: unchanged inputs keep running, others stop, and new ones start
// at their saved positions. After an error the stores are as before and the stopped inputs run again.
func (p *pipeline) apply(ctx context.Context, again Settings) error {
	if !again.Stores.equal(p.Stores) {
		if err := again.Stores.try(ctx, p.getenv); err != nil { // before an input is stopped
			return err
		}
	}
	before, skipped := p.Stores, p.ownDirs()
	p.Stores = again.Stores
	leave, wanted := p.compareInputs(again.Inputs, slices.Equal(p.ownDirs(), skipped))
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
	p.start(ctx, opened)
	p.Inputs = again.Inputs
	p.log.Info("configuration reloaded", "inputs_kept", stay, "inputs_stopped", len(leave), "inputs_started", len(opened))
	return nil
}

// compareInputs returns the running inputs that leave, and those that are to be started. Inputs of
// files are started again if the directories that they skip, of stores and buffers, change.
func (p *pipeline) compareInputs(again []config.Input, sameDirs bool) (leave []*running, wanted []config.Input) {
	wanted = slices.Clone(again)
	for _, r := range p.running {
		i := slices.IndexFunc(wanted, func(in config.Input) bool { return sameInput(in, r.spec) })
		if i >= 0 && (sameDirs || r.spec.Kind != config.KindFiles) {
			wanted = slices.Delete(wanted, i, i+1)
		} else {
			leave = append(leave, r)
		}
	}
	return leave, wanted
}

// sameInput reports whether two inputs are read in the same way.
func sameInput(a, b config.Input) bool {
	a.Line, b.Line = 0, 0
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
			p.failures = append(p.failures, err)
		}
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
	name, err := absoluteName(again.All[0], p.getenv)
	if err != nil {
		return fmt.Errorf("store %s: %w", again.All[0], err)
	}
	st, err := p.opened.open(ctx, again.All[0])
	if err != nil {
		return fmt.Errorf("store %s: %w", again.All[0], err)
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
		{"flush-interval", again.FlushInterval == p.FlushInterval},
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
