package agent

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"logstow/config"
)

// running is an input that is read.
type running struct {
	spec   config.Input
	cancel context.CancelFunc
	err    error // set when it has ended
}

// startInput opens an input and reads it until it ends or ctx does; then it is sent to
// pipeline.ended.
func (p *pipeline) startInput(ctx context.Context, spec config.Input) (*running, error) {
	reader, err := p.openInput(ctx, &spec)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	r := &running{spec: spec, cancel: cancel}
	go func() {
		r.err = reader.Run(ctx)
		p.ended <- r
	}()
	return r, nil
}

// read waits until all inputs have ended, and applies reloads.
func (p *pipeline) read(ctx context.Context) error {
	var errs []error // the failure of one input does not end the others
	for len(p.running) > 0 {
		select {
		case r := <-p.ended:
			p.running = slices.DeleteFunc(p.running, func(other *running) bool { return other == r })
			r.cancel()
			errs = append(errs, r.err)
		case again := <-p.reloads:
			p.reload(ctx, again)
		}
	}
	err := errors.Join(errs...)
	if p.Once && errors.Is(context.Cause(ctx), ErrStopped) {
		p.log.Warn("interrupted: the inputs were not read to their end")
		return ErrInterrupted
	}
	return err
}

// openInputs opens and starts all inputs; after an error none is left running.
func (p *pipeline) openInputs(ctx context.Context) (err error) {
	p.running, err = p.start(ctx, p.Inputs)
	if err != nil {
		p.stop(p.running)
	}
	return err
}

// reload applies new settings: unchanged inputs keep running, others stop, and new ones
// start at their saved positions. If an input cannot be opened, the old settings stay.
func (p *pipeline) reload(ctx context.Context, again Settings) {
	if ctx.Err() != nil {
		return
	}
	wanted := slices.Clone(again.Inputs)
	var stay, leave []*running
	for _, r := range p.running {
		i := slices.IndexFunc(wanted, func(in config.Input) bool { return sameInput(in, r.spec) })
		if i < 0 {
			leave = append(leave, r)
			continue
		}
		stay = append(stay, r)
		wanted = slices.Delete(wanted, i, i+1)
	}
	if err := p.changeStores(ctx, again.Stores); err != nil {
		p.log.Error("reload rejected; keeping the old configuration", "error", err)
		return
	}
	p.stop(leave)
	started, err := p.start(ctx, wanted)
	if err != nil {
		p.log.Error("reload rejected: cannot open an input; keeping the old inputs", "error", err)
		p.stop(started)
		old := make([]config.Input, 0, len(leave))
		for _, r := range leave {
			old = append(old, r.spec)
		}
		if started, err = p.start(ctx, old); err != nil {
			p.log.Error("cannot reopen an input", "error", err)
		}
		p.running = append(stay, started...)
		return
	}
	p.running = append(stay, started...)
	p.Inputs = again.Inputs
	p.log.Info("configuration reloaded", "inputs_kept", len(stay), "inputs_stopped", len(leave), "inputs_started", len(started))
	p.warnFixed(again)
}

// sameInput reports whether two inputs are read in the same way.
func sameInput(a, b config.Input) bool {
	a.Line, b.Line = 0, 0
	return reflect.DeepEqual(a, b)
}

// stop stops inputs and waits for them.
func (p *pipeline) stop(inputs []*running) {
	for _, r := range inputs {
		r.cancel()
	}
	for waiting := len(inputs); waiting > 0; {
		r := <-p.ended
		if slices.Contains(inputs, r) {
			waiting--
			continue
		}
		p.running = slices.DeleteFunc(p.running, func(other *running) bool { return other == r })
		p.log.Warn("input ended", "input", r.spec.Kind, "error", r.err)
	}
}

// start opens and starts inputs; with an error it returns those that were started before it.
func (p *pipeline) start(ctx context.Context, specs []config.Input) (started []*running, err error) {
	for _, spec := range specs {
		r, err := p.startInput(ctx, spec)
		if err != nil {
			if spec.Line > 0 {
				err = fmt.Errorf("the input in line %d: %w", spec.Line, err)
			}
			return started, err
		}
		started = append(started, r)
	}
	return started, nil
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
