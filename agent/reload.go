package agent

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
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

// changeStores routes new batches to other stores. Batches that may already have been
// sent to an old store stay with it.
func (p *pipeline) changeStores(ctx context.Context, again Stores) error {
	if again.equal(p.Stores) {
		return nil
	}
	if err := again.try(ctx, p.getenv); err != nil {
		return err
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
	p.log.Info("store changed for new segments", "store", again.String(), "previous_store", p.Stores.String())
	p.Stores = again
	if p.BufferDir != "" {
		p.writeNote(nil, false)
	}
	return nil
}
