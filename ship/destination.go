package ship

import (
	"context"
	"errors"
	"fmt"

	"logstow/blobnaming"
	"logstow/buffer"
	"logstow/store"
)

// destination is a store and what is known of it. Safe for concurrent use.
type destination struct {
	// name is written down with a batch, so that later runs find the store again.
	name      string
	container string
	blobs     store.Blobs
	tables    store.Tables
	numbers   *blobnaming.Numberer
	firsts    firsts
	// blobTrouble and indexTrouble say what does not work at the moment.
	blobTrouble, indexTrouble trouble
}

func newDestination(name string, st store.Store, opts *Options) *destination {
	return &destination{
		name:         name,
		container:    st.Container(),
		blobs:        st.Blobs(),
		tables:       st.Tables(),
		numbers:      blobnaming.NewNumberer(opts.Random),
		firsts:       newFirsts(),
		blobTrouble:  trouble{log: opts.Log, what: "storing segments", where: st.String()},
		indexTrouble: trouble{log: opts.Log, what: "writing the index", where: st.String()},
	}
}

// errNoStore says that a store which a batch was being sent to can not be opened now.
type errNoStore struct {
	name  string
	cause error // not unwrapped: what is invalid is the configuration, not the batch
}

func (e errNoStore) Error() string {
	return fmt.Sprintf("open %s, where a segment may be stored already: %v; make it available again", e.name, e.cause)
}

// other is the destination that batches of an earlier configuration were being
// sent to. What may have been applied there must be found there: such a batch
// waits for its store.
func (s *Shipper) other(ctx context.Context, name string) (*destination, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.others[name]; d != nil {
		return d, nil
	}
	if s.opts.Stores == nil {
		return nil, errNoStore{name, errors.New("it is not the store configured now")}
	}
	st, err := s.opts.Stores(ctx, name)
	if err != nil {
		return nil, errNoStore{name, err}
	}
	d := newDestination(name, st, &s.opts)
	s.others[name] = d
	return d, nil
}

// forward gives a batch of another store to that store's own sender, so that
// none of the workers ever waits for it.
func (r *run) forward(ctx context.Context, b *buffer.Batch) {
	name := b.Store()
	r.mu.Lock()
	defer r.mu.Unlock()
	queue, running := r.elsewhere[name]
	r.elsewhere[name] = append(queue, b)
	if !running {
		r.senders.Add(1)
		r.group.Go(func() error {
			defer r.senders.Done()
			return r.sendElsewhere(ctx, name)
		})
	}
}

// sendElsewhere delivers the batches of another store until none is left.
func (r *run) sendElsewhere(ctx context.Context, name string) error {
	defer func() {
		for b := r.nextElsewhere(name); b != nil; b = r.nextElsewhere(name) {
			b.Return()
		}
	}()
	opening := trouble{log: r.s.opts.Log, what: "reaching the store of an earlier configuration", where: name}
	for {
		var d *destination
		err := r.s.retry(ctx, &opening, func() (err error) {
			d, err = r.s.other(ctx, name)
			return err
		})
		if err != nil {
			return err
		}
		b := r.nextElsewhere(name)
		if b == nil {
			return nil
		}
		if err := r.deliver(ctx, d, b); err != nil {
			return err
		}
	}
}

// nextElsewhere takes the next batch of another store. After nil, forward starts a new sender.
func (r *run) nextElsewhere(name string) *buffer.Batch {
	r.mu.Lock()
	defer r.mu.Unlock()
	queue := r.elsewhere[name]
	if len(queue) == 0 {
		delete(r.elsewhere, name)
		return nil
	}
	r.elsewhere[name] = queue[1:]
	return queue[0]
}
