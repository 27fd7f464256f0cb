package forward

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/vmihailenco/msgpack/v5"

	"logstow/buffer"
	"logstow/input"
)

// sinkError is an error of the sink: continuing is pointless.
type sinkError struct{ error }

func (e sinkError) Unwrap() error { return e.error }

// message accepts the events of a message, and records the acknowledgement if one is requested.
// late ends shortly after ctx.
func (c *conn) message(ctx, late context.Context, raw []byte) error {
	defer c.releaseMessage()
	m, err := parseMessage(raw)
	if m == nil || err != nil {
		return err
	}
	if len(m.chunk) == 0 {
		// Events to be acknowledged do not wait for space for those that are not.
		if err := c.acknowledge(late); err != nil {
			return err
		}
		return c.receive(m, new(chunk), func(list []input.Event) (buffer.LSN, error) { return c.receiveBlocking(ctx, late, list) })
	}
	known, err := c.server.chunks.begin(ctx, raw)
	if err != nil {
		return err
	}
	defer known.end()
	if known.taken > 0 {
		c.server.counts.repeated.Add(1)
	}
	if err := c.receive(m, known, func(list []input.Event) (buffer.LSN, error) { return c.receiveAcknowledged(late, list) }); err != nil {
		return err
	}
	ack, err := msgpack.Marshal(map[string]string{"ack": string(m.chunk)})
	c.acks = append(c.acks, ack...)
	c.lsn = max(c.lsn, known.lsn)
	return err
}

// acknowledge waits until everything to be acknowledged is durable, and sends the acknowledgements.
func (c *conn) acknowledge(late context.Context) error {
	if len(c.acks) == 0 {
		return nil
	}
	if err := c.server.receiver.Synced(late, c.lsn); err != nil {
		return c.failed(late, "sync", err)
	}
	err := c.write(c.acks)
	c.acks = c.acks[:0]
	return err
}

// receive passes the events of a message on in batches, except for those already accepted, and
// records the accepted ones in known.
func (c *conn) receive(m *message, known *chunk, hand func([]input.Event) (buffer.LSN, error)) error {
	e := &c.events
	e.source, e.read = string(m.tag), c.server.opts.Now().UnixNano()
	next := func() error {
		if len(e.list) == 0 {
			return nil
		}
		lsn, err := hand(e.pieces())
		if err != nil {
			return err
		}
		known.taken += len(e.list)
		known.lsn = max(known.lsn, lsn)
		e.reset()
		return nil
	}
	if m.one != nil {
		if known.taken > 0 {
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
	for skip := known.taken; ; skip-- {
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

// releaseMessage releases the memory of a message.
func (c *conn) releaseMessage() {
	if c.parseReserved == 0 {
		c.events.reset()
		return
	}
	c.events.release()
	c.server.parseBudget.Give(c.parseReserved)
	c.parseReserved = 0
}

// receiveAcknowledged passes on events that are to be acknowledged.
func (c *conn) receiveAcknowledged(late context.Context, list []input.Event) (buffer.LSN, error) {
	lsn, err := c.server.receiver.Take(late, "", list)
	if err == nil || errors.Is(err, input.ErrBusy) {
		return lsn, err
	}
	return 0, c.failed(late, "hand over", err)
}

// receiveBlocking passes on events of a sender that waits for no acknowledgement, retrying while
// the buffer has no space: meanwhile the sender is blocked.
func (c *conn) receiveBlocking(ctx, late context.Context, list []input.Event) (buffer.LSN, error) {
	for {
		lsn, err := c.server.receiver.Take(late, "", list)
		switch {
		case err == nil:
			return lsn, nil
		case errors.Is(err, input.ErrBusy) && ctx.Err() == nil:
			continue
		}
		return 0, sinkError{fmt.Errorf("hand over %d events of the forward protocol: %w", len(list), err)}
	}
}

// failed is an error of the sink, or of shutdown.
func (c *conn) failed(late context.Context, what string, err error) error {
	if late.Err() != nil {
		return err
	}
	return sinkError{fmt.Errorf("%s events of the forward protocol: %w", what, err)}
}
