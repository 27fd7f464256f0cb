package agent

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// awaitReload reads the Settings again at every SIGHUP and hands them to
// pipeline.read; the function returned ends that and waits for it.
func (p *pipeline) awaitReload(ctx context.Context, again func() (Settings, error)) (stop func()) {
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

// changeStores sends new batches to other stores; those that may have been sent to
// the old ones still go there.
func (p *pipeline) changeStores(ctx context.Context, again Stores) error {
	if again.equal(p.Stores) {
		return nil
	}
	if err := again.try(ctx); err != nil {
		return err
	}
	route, err := again.route()
	if err != nil {
		return err
	}
	name, err := lastingName(again.All[0])
	if err != nil {
		return fmt.Errorf("store %s: %w", again.All[0], err)
	}
	st, err := p.opened.open(ctx, again.All[0])
	if err != nil {
		return fmt.Errorf("store %s: %w", again.All[0], err)
	}
	p.shipper.SetStore(p.requests.Store(st), name, route)
	p.log.Info("new segments go elsewhere", "store", again.String(), "before", p.Stores.String())
	p.Stores = again
	if p.BufferDir != "" {
		p.writeNote(nil, false)
	}
	return nil
}
