package agent

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"logstow/config"
	"logstow/input"
	"logstow/process"
)

// running is an input that is open or being read.
type running struct {
	spec   config.Input
	reader input.Reader
	// rules process its records.
	rules *process.Switch
	// release ends the wait of the restoration for its positions.
	release func()
	cancel  context.CancelFunc
	// give gives its file descriptors back.
	give func()
	// err is set when the input has ended.
	err error
}

// open opens inputs, which read nothing yet. After an error none of them is open.
func (p *pipeline) open(ctx context.Context, specs []config.Input) (opened []*running, err error) {
	for i := range specs {
		one, err := p.openOne(ctx, specs[i], specs[i+1:])
		if err != nil {
			return nil, errors.Join(atLine(&specs[i], err), closeInputs(opened))
		}
		opened = append(opened, one)
	}
	return opened, nil
}

// openOne opens an input. further are those that are opened after it.
func (p *pipeline) openOne(ctx context.Context, spec config.Input, further []config.Input) (*running, error) {
	processor, err := p.processor(&spec)
	if err != nil {
		return nil, err
	}
	rules := process.NewSwitch(processor)
	sink, release := p.sink(spec.Kind().Positions)
	allowed := spec
	give := p.takeDescriptors(&allowed, further)
	reader, err := p.openInput(ctx, &allowed, rules, sink)
	if err != nil {
		release()
		give()
		return nil, err
	}
	return &running{spec: spec, reader: reader, rules: rules, release: release, give: give}, nil
}

// closeInputs closes inputs that were opened but not started.
func closeInputs(opened []*running) error {
	var errs []error
	for _, r := range opened {
		r.release()
		r.give()
		if c, ok := r.reader.(io.Closer); ok {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}

// startTimeout limits how long start waits for inputs. While the buffer is full they cannot store positions, and the start of the
// system service should not wait for that.
const startTimeout = 10 * time.Second

// start starts inputs, which run until they or ctx end and are then sent to pipeline.ended. It waits, at most startTimeout, until the
// inputs of files have stored where the existing files end, so that everything appended later is read. The uploader must already
// run: uploads may be needed to make space for the positions.
func (p *pipeline) start(ctx context.Context, opened []*running) {
	for _, r := range opened {
		var reading context.Context
		reading, r.cancel = context.WithCancel(ctx)
		go func() {
			r.err = r.reader.Run(reading)
			p.ended <- r
		}()
	}
	p.running = append(p.running, opened...)
	if p.Once {
		return
	}
	timeout := time.NewTimer(startTimeout)
	defer timeout.Stop()
	for _, r := range opened {
		files, ok := r.reader.(interface{ Started() <-chan struct{} })
		if !ok {
			continue
		}
		select {
		case <-files.Started():
		case <-timeout.C:
			select {
			case <-files.Started(): // it was ready too: continue with the next input
				timeout.Reset(0)
				continue
			default:
			}
			p.log.Warn("started before all files were found: without --from-start, lines appended to the others in the meantime are not read",
				"input", r.spec.Kind().Name, "service", r.spec.Service, "after", startTimeout.String())
			return
		case <-ctx.Done():
			return
		}
	}
}

// read waits until all inputs have ended, and applies reloads.
func (p *pipeline) read(ctx context.Context) error {
	for len(p.running) > 0 {
		select {
		case r := <-p.ended:
			p.remove(r)
			if r.err != nil && len(p.running) > 0 && !p.Once && ctx.Err() == nil {
				p.log.Error("input failed; the others continue, and a reload or a restart starts it again",
					"input", r.spec.Kind().Name, "service", r.spec.Service, "address", r.spec.Address, "error", r.err)
			}
		case next := <-p.reloads:
			p.reload(ctx, next)
		}
	}
	if p.Once && errors.Is(context.Cause(ctx), ErrStopped) {
		p.log.Warn("interrupted: the inputs were not read to their end")
		return ErrInterrupted
	}
	var errs []error
	for _, r := range p.failed {
		errs = append(errs, r.err)
	}
	return errors.Join(errs...)
}

// remove removes an input that has ended. If it failed, the other inputs continue.
func (p *pipeline) remove(r *running) {
	p.running = slices.DeleteFunc(p.running, func(other *running) bool { return other == r })
	r.cancel()
	r.give()
	if r.err != nil {
		p.failed = append(p.failed, r)
	}
}

// stop stops inputs and waits for their ends. It also removes other inputs that end meanwhile.
func (p *pipeline) stop(inputs []*running) {
	for _, r := range inputs {
		r.cancel()
	}
	for waiting := len(inputs); waiting > 0; {
		r := <-p.ended
		p.remove(r)
		if slices.Contains(inputs, r) {
			waiting--
		} else {
			p.log.Warn("input ended", "input", r.spec.Kind().Name, "service", r.spec.Service, "error", r.err)
		}
	}
}
