package agent

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"logstow/config"
)

// running is an input that is being read.
type running struct {
	spec   config.Input
	cancel context.CancelFunc
	err    error // set when it has ended
}

// startInput opens an input and reads it until it ends or ctx does; then it is
// sent to pipeline.ended.
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

// read reads the inputs until all have ended, and changes them as it is told.
func (p *pipeline) read(ctx context.Context) error {
	var errs []error // one input's failure is no reason to end the other
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

// openInputs opens all inputs and begins to read them. An error ends those that were opened.
func (p *pipeline) openInputs(ctx context.Context) (err error) {
	p.running, err = p.begin(ctx, p.Inputs)
	if err != nil {
		p.end(p.running)
	}
	return err
}

// reload changes to other Settings: inputs that are the same go on, others end,
// and new ones begin where their positions are. Where an input can not be opened,
// all stays as it was.
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
		p.log.Error("the new configuration is not taken: all stays as it was", "error", err)
		return
	}
	p.end(leave)
	begun, err := p.begin(ctx, wanted)
	if err != nil {
		p.log.Error("the new configuration is not taken: an input can not be opened; going on with the old ones", "error", err)
		p.end(begun)
		old := make([]config.Input, 0, len(leave))
		for _, r := range leave {
			old = append(old, r.spec)
		}
		if begun, err = p.begin(ctx, old); err != nil {
			p.log.Error("an input can not be opened again", "error", err)
		}
		p.running = append(stay, begun...)
		return
	}
	p.running = append(stay, begun...)
	p.Inputs = again.Inputs
	p.log.Info("took up the new configuration", "inputs_kept", len(stay), "inputs_ended", len(leave), "inputs_begun", len(begun))
	p.sayFixed(again)
}

// sameInput reports whether two inputs are read in the same way.
func sameInput(a, b config.Input) bool {
	a.Line, b.Line = 0, 0
	return reflect.DeepEqual(a, b)
}

// end ends inputs and waits for them.
func (p *pipeline) end(inputs []*running) {
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
		p.log.Warn("an input ended", "input", r.spec.Kind, "error", r.err)
	}
}

// begin opens inputs; with an error it returns those that were opened before it.
func (p *pipeline) begin(ctx context.Context, specs []config.Input) (begun []*running, err error) {
	for _, spec := range specs {
		r, err := p.startInput(ctx, spec)
		if err != nil {
			if spec.Line > 0 {
				err = fmt.Errorf("the input in line %d: %w", spec.Line, err)
			}
			return begun, err
		}
		begun = append(begun, r)
	}
	return begun, nil
}

// sayFixed says what a running shipper can not change.
func (p *pipeline) sayFixed(again Settings) {
	for _, f := range []struct {
		name string
		same bool
	}{
		{"instance", again.Instance == p.Instance},
		{"buffer", again.BufferDir == p.BufferDir && again.BufferSize == p.BufferSize && again.Sync == p.Sync && again.OnFull == p.OnFull},
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
			p.log.Warn("this is changed by a restart only", "key", f.name)
		}
	}
}
