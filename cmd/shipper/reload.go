package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"logstow/store/open"
)

// awaitReload reads the settings again at every SIGHUP and hands them to
// pipeline.read; the function returned ends that and waits for it.
func (p *pipeline) awaitReload(ctx context.Context, again func() (settings, error)) (stop func()) {
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
			s, err := again()
			if err != nil {
				p.log.Error("the new configuration is not taken: going on with the old one", "error", err)
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

// changeStore sends new batches to another store; those that may have been sent to
// the old one still go there.
func (p *pipeline) changeStore(ctx context.Context, spec string) error {
	if spec == p.store {
		return nil
	}
	name, err := lastingName(spec)
	if err != nil {
		return fmt.Errorf("store %s: %w", spec, err)
	}
	st, err := open.Store(ctx, spec, open.Options{Getenv: os.Getenv, Log: p.log})
	if err != nil {
		return fmt.Errorf("store %s: %w", spec, err)
	}
	p.others.keep(st)
	p.shipper.SetStore(p.counter.Store(st), name, nil)
	p.log.Info("new segments go to another store", "store", spec, "before", p.store)
	p.store = spec
	if p.bufferDir != "" {
		p.writeNote(nil, false)
	}
	return nil
}
