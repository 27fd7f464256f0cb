package otlp

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"

	"logstow/input"
	"logstow/input/httpserver"
	"logstow/record/recognize"
)

// eventCost is about what a record takes of memory besides its bytes until it is in the buffer.
const eventCost = 160

// batch is what a request holds for one service.
type batch struct {
	service string
	events  []input.Event
}

// collector makes events of a request.
type collector struct {
	handler *Handler
	lease   *httpserver.Lease
	guard   *recognize.Recognizer
	read    int64

	out object
	// charged is how much of out was charged to lease.
	charged int
	batches []batch
	places  map[string]int
	// rejected counts the records that were not taken.
	rejected int64
}

// collect reads an ExportLogsServiceRequest. Its errors are those of [httpserver.Body].
func (h *Handler) collect(request []byte, lease *httpserver.Lease) (*collector, error) {
	c := &collector{
		handler: h, lease: lease, guard: recognize.New(h.opts.Recognize), read: h.opts.Now().UnixNano(),
		out: object{limit: input.MaxReceive}, places: map[string]int{},
	}
	err := each(request, func(f field) error {
		if !f.is(1, protowire.BytesType) {
			return nil
		}
		return c.resourceLogs(f.bytes)
	})
	return c, err
}

// resourceLogs finds the resource first: fields may come in any order.
func (c *collector) resourceLogs(message []byte) error {
	var raw []byte
	if err := each(message, func(f field) error {
		if f.is(1, protowire.BytesType) {
			raw = f.bytes
		}
		return nil
	}); err != nil {
		return err
	}
	r, err := newResource(raw)
	if err != nil {
		return err
	}
	service := ""
	if c.handler.opts.ServiceFromResource {
		service = c.handler.services.admit(r.service)
	}
	return each(message, func(f field) error {
		if !f.is(2, protowire.BytesType) {
			return nil
		}
		return c.scopeLogs(f.bytes, &r, service)
	})
}

func (c *collector) scopeLogs(message []byte, r *resource, service string) error {
	var scope []byte
	if err := each(message, func(f field) error {
		if f.is(1, protowire.BytesType) {
			scope = f.bytes
		}
		return nil
	}); err != nil {
		return err
	}
	o := object{limit: c.out.limit}
	err := o.scope(scope)
	deep := r.deep || errors.Is(err, errDeep)
	if err != nil && !deep {
		return err
	}
	scope = o.b
	return each(message, func(f field) error {
		if !f.is(2, protowire.BytesType) {
			return nil
		}
		if deep {
			c.rejected++
			return nil
		}
		return c.logRecord(f.bytes, r, scope, service)
	})
}

func (c *collector) logRecord(message []byte, of *resource, scope []byte, service string) error {
	r, err := parseLogRecord(message)
	if err != nil {
		return err
	}
	when, refused := r.when(), int64(0)
	if when != 0 {
		if _, reason := c.guard.Guard(when, c.read); reason != recognize.Taken {
			refused = when
		}
	}
	start := len(c.out.b)
	if err := c.out.logRecord(&r, refused, scope, of.suffix); err != nil {
		if errors.Is(err, errDeep) {
			c.out.b = c.out.b[:start]
			c.rejected++
			return nil
		}
		return err
	}
	grown := cap(c.out.b) - c.charged
	if err := c.lease.Take(int64(grown) + eventCost); err != nil {
		return err
	}
	c.charged += grown
	// Where out moves later, this message stays where it is: what is written is never changed.
	end := len(c.out.b)
	b := c.batch(service)
	b.events = append(b.events, input.Event{Time: when, Level: r.level(), Source: of.source, Message: c.out.b[start:end:end]})
	return nil
}

func (c *collector) batch(service string) *batch {
	i, ok := c.places[service]
	if !ok {
		i = len(c.batches)
		c.places[service] = i
		c.batches = append(c.batches, batch{service: service})
	}
	return &c.batches[i]
}
