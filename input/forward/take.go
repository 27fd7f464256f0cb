package forward

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/vmihailenco/msgpack/v5"

	"logstow/buffer"
	"logstow/input"
	"logstow/input/dedupe"
)

// sinkError is an error of the sink, which ends the input.
type sinkError struct{ error }

func (e sinkError) Unwrap() error { return e.error }

// message accepts the events of a message, and records the acknowledgement if one is requested.
// late ends shortly after ctx.
func (c *conn) message(ctx, late context.Context, raw []byte) error {
	defer c.releaseMessage()
	m, err := parseRequest(raw)
	if m == nil || err != nil {
		return err
	}
	if len(m.chunk) == 0 {
		// Events to be acknowledged do not wait for space for those that are not.
		if err := c.acknowledge(late); err != nil {
			return err
		}
		return c.receive(m, 0, func(list []input.Event, _ int) error { return c.receiveBlocking(ctx, late, list) })
	}
	if c.server.opts.KeepRepeated {
		err = c.receive(m, 0, func(list []input.Event, _ int) error { return c.receiveAcknowledged(late, list) })
	} else {
		err = c.receiveOnce(ctx, late, m, raw)
	}
	if err != nil {
		return err
	}
	ack, err := msgpack.Marshal(map[string]string{"ack": string(m.chunk)})
	c.acks = append(c.acks, ack...)
	return err
}

// receiveOnce receives a message, except for those of its events that are stored already.
func (c *conn) receiveOnce(ctx, late context.Context, m *request, raw []byte) error {
	request, err := c.server.opts.Options.Keys.Begin(ctx, dedupe.ContentKey("forward "+c.server.opts.Service, raw))
	if err != nil {
		return err
	}
	defer request.End()
	if request.Stored() > 0 {
		c.server.opts.Stats.Repeated.Add(1)
	}
	err = c.receive(m, request.Stored(), func(list []input.Event, taken int) error {
		return request.Commit(taken, false, func(positions []buffer.Position) (buffer.LSN, error) {
			err := c.receiveAcknowledged(late, list, positions...)
			return c.lsn, err
		})
	})
	c.lsn = max(c.lsn, request.LSN())
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

// receive passes the events of a message on in batches, except for the first skip, which counts markers of groups too. hand also gets
// how many of the message's events, so counted, are accepted with the batch.
func (c *conn) receive(m *request, skip int, hand func(list []input.Event, taken int) error) error {
	e := &c.events
	taken := skip
	e.source, e.read, e.shared = string(m.tag), c.server.opts.Now().UnixNano(), 0
	next := func() error {
		if len(e.list) == 0 {
			return nil
		}
		if err := hand(e.pieces(), taken); err != nil {
			return err
		}
		e.reset()
		return nil
	}
	if m.one != nil {
		if skip > 0 {
			return nil
		}
		if err := e.pair(&cursor{m.one}); err != nil {
			return err
		}
		taken++
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
	for ; ; skip-- {
		b, err := packed.next()
		if errors.Is(err, io.EOF) {
			return next()
		}
		if err != nil {
			return err
		}
		if skip > 0 {
			if err := e.skip(b); err != nil {
				return err
			}
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
		taken++
	}
}

// releaseMessage releases the memory of a message.
func (c *conn) releaseMessage() {
	if c.parseReserved == 0 {
		c.events.reset()
		c.events.group = group{}
		return
	}
	c.events.release()
	c.server.parseBudget.Give(c.parseReserved)
	c.parseReserved = 0
}

// receiveAcknowledged passes on events that are to be acknowledged.
func (c *conn) receiveAcknowledged(late context.Context, list []input.Event, positions ...buffer.Position) error {
	lsn, err := c.server.receiver.Take(late, "", list, positions...)
	c.lsn = max(c.lsn, lsn)
	switch {
	case err == nil || errors.Is(err, input.ErrBusy):
		return err
	case errors.Is(err, input.ErrTooLarge): // no data of a sender may end the input
		return fmt.Errorf("%w: %w", errTooLong, err)
	}
	return c.failed(late, "hand over", err)
}

// receiveBlocking passes on events of a sender that waits for no acknowledgement, retrying while
// the buffer has no space: meanwhile the sender is blocked.
func (c *conn) receiveBlocking(ctx, late context.Context, list []input.Event) error {
	for {
		_, err := c.server.receiver.Take(late, "", list)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, input.ErrBusy) && ctx.Err() == nil:
			continue
		case errors.Is(err, input.ErrTooLarge): // no data of a sender may end the input
			return fmt.Errorf("%w: %w", errTooLong, err)
		}
		return sinkError{fmt.Errorf("hand over %d events of the forward protocol: %w", len(list), err)}
	}
}

// failed is an error of the sink, or of shutdown.
func (c *conn) failed(late context.Context, what string, err error) error {
	if late.Err() != nil {
		return err
	}
	return sinkError{fmt.Errorf("%s events of the forward protocol: %w", what, err)}
}
