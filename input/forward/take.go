package forward

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/vmihailenco/msgpack/v5"

	"logstow/input"
)

// sinkError is an error of the sink: there is no use in going on.
type sinkError struct{ error }

func (e sinkError) Unwrap() error { return e.error }

// message takes what a message holds, and acknowledges it where that is asked
// for. late ends somewhat after ctx does.
func (c *conn) message(ctx, late context.Context, raw []byte) error {
	defer c.settle()
	m, err := parseMessage(raw)
	if m == nil || err != nil {
		return err
	}
	if len(m.chunk) == 0 {
		return c.take(ctx, m, new(int), func(list []input.Event) error { return c.push(ctx, late, list) })
	}
	known, err := c.server.chunks.begin(ctx, raw)
	if err != nil {
		return err
	}
	defer known.end()
	if known.taken > 0 {
		c.server.counts.repeated.Add(1)
	}
	if err := c.take(ctx, m, &known.taken, func(list []input.Event) error { return c.receive(late, list) }); err != nil {
		return err
	}
	ack, err := msgpack.Marshal(map[string]string{"ack": string(m.chunk)})
	if err != nil {
		return err
	}
	return c.write(ack)
}

// take hands over the events of a message in pieces, but for the first ones that
// were taken before, and counts in taken those that are.
func (c *conn) take(ctx context.Context, m *message, taken *int, hand func([]input.Event) error) error {
	e := &c.events
	e.source, e.read = string(m.tag), c.server.opts.Now().UnixNano()
	next := func() error {
		if len(e.list) == 0 {
			return nil
		}
		if err := hand(e.pieces()); err != nil {
			return err
		}
		*taken += len(e.list)
		e.reset()
		return nil
	}
	if m.one != nil {
		if *taken > 0 {
			return nil
		}
		if err := e.pair(&cursor{m.one}); err != nil {
			return err
		}
		return next()
	}
	if m.gzip {
		if err := e.grow(gzipCost); err != nil {
			return err
		}
	}
	packed, err := newEvents(m, e.grow)
	if err != nil {
		return err
	}
	for skip := *taken; ; skip-- {
		b, err := packed.next()
		if errors.Is(err, io.EOF) {
			return next()
		}
		if err != nil {
			return err
		}
		if skip > 0 {
			continue
		}
		if e.full(len(b)) {
			if err := next(); err != nil {
				return err
			}
		}
		if err := e.event(b); err != nil {
			return err
		}
	}
}

// settle lets go of what a message needed.
func (c *conn) settle() {
	if c.making == 0 {
		c.events.reset()
		return
	}
	c.events.free()
	c.server.making.Give(c.making)
	c.making = 0
}

// receive hands over events that are to be acknowledged: after nil they are durable.
func (c *conn) receive(late context.Context, list []input.Event) error {
	err := c.server.receiver.Receive(late, "", list)
	if err == nil || errors.Is(err, input.ErrBusy) || late.Err() != nil {
		return err
	}
	return sinkError{fmt.Errorf("hand over %d events of the forward protocol: %w", len(list), err)}
}

// push hands over events of a sender that waits for no answer, again and again
// while the buffer has no room: meanwhile the sender can not send on.
func (c *conn) push(ctx, late context.Context, list []input.Event) error {
	for {
		err := c.server.receiver.Take(late, "", list)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, input.ErrBusy) && ctx.Err() == nil:
			continue
		}
		return sinkError{fmt.Errorf("hand over %d events of the forward protocol: %w", len(list), err)}
	}
}
