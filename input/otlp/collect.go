package otlp

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"

	"logstow/input"
	"logstow/input/httpserver"
	"logstow/record/recognize"
)

// collector collects the events of a request.
type collector struct {
	handler *Handler
	lease   *httpserver.Lease
	guard   *recognize.Recognizer
	read    int64

	// out contains the records, resource the common part of the records of a resource, and scope the common part of
	// those of a scope.
	out, resource, scope object

	batches input.Batches
	// rejected counts the rejected records.
	rejected int64
}

// collect reads an ExportLogsServiceRequest. Its errors are those of [httpserver.Body].
func (h *Handler) collect(request []byte, lease *httpserver.Lease) (*collector, error) {
	fresh := object{lease: lease, limit: input.MaxReceive}
	c := &collector{
		handler: h, lease: lease, guard: recognize.New(h.Options.Recognize), read: h.Options.Now().UnixNano(),
		out: fresh, resource: fresh, scope: fresh,
	}
	err := each(request, func(f field) error {
		if !f.is(1, protowire.BytesType) {
			return nil
		}
		return c.resourceLogs(f.bytes)
	})
	return c, err
}

// resourceLogs parses the resource first: fields may come in any order.
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
	c.resource.reset()
	r, err := newResource(raw, &c.resource)
	if err != nil {
		return err
	}
	service := ""
	if c.handler.serviceFromResource {
		service = c.handler.Services.Admit(r.service)
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
	c.scope.reset()
	err := c.scope.scope(scope)
	deep := r.deep || errors.Is(err, errTooDeep)
	if err != nil && !deep {
		return err
	}
	scope = c.scope.finish()
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
	when, rejected := r.timestamp(), int64(0)
	if when != 0 {
		if _, reason := c.guard.CheckTime(when, c.read); reason != recognize.Accepted {
			rejected = when
		}
	}
	line, ok := r.line()
	if !ok || rejected != 0 || len(scope) > 0 || string(of.suffix) != "}" {
		if err := c.out.logRecord(&r, rejected, scope, of.suffix); err != nil {
			if errors.Is(err, errTooDeep) {
				c.out.discard()
				c.rejected++
				return nil
			}
			return err
		}
		line = c.out.finish()
	}
	if err := c.lease.Take(input.EventCost); err != nil {
		return err
	}
	c.batches.Add(service, input.Event{Time: when, Level: r.level(), Source: of.source, Message: line})
	return nil
}
