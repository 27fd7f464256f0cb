package otlp

import (
	"errors"

	"logstow/input"
	"logstow/input/httpserver"
	"logstow/input/protobuf"
)

// collector collects the events of a request.
type collector struct {
	handler *Handler
	lease   *httpserver.Lease

	names names
	// own has the attributes of a record, resource and scope those that records share.
	own      encoder
	resource resource
	scope    shared
	texts    httpserver.Texts
	preview  *input.Preview

	batches input.Batches
	// rejected counts the rejected records.
	rejected int64
}

// collect reads an ExportLogsServiceRequest. Its errors are those of [httpserver.Body].
func (h *Handler) collect(request []byte, lease *httpserver.Lease) (*collector, error) {
	own := httpserver.NewAttributes(lease)
	c := &collector{
		handler: h, lease: lease, names: newNames(), own: encoder{&own}, scope: shared{Shared: httpserver.NewShared(lease)},
		texts: httpserver.NewTexts(lease), preview: input.NewPreview(&h.Options),
	}
	c.resource.Shared = httpserver.NewShared(lease)
	in := protobuf.Fields{Rest: request}
	for in.Next() {
		if in.Tag != 1<<3|protobuf.Text {
			continue
		}
		if err := c.resourceLogs(in.Bytes); err != nil {
			return nil, err
		}
	}
	return c, in.Err
}

// head reads the first and the third field of a ResourceLogs or ScopeLogs, and counts the second ones: fields may come in any order.
func head(message []byte) (of, schema []byte, n int, err error) {
	in := protobuf.Fields{Rest: message}
	for in.Next() {
		switch in.Tag {
		case 1<<3 | protobuf.Text:
			of = in.Bytes
		case 2<<3 | protobuf.Text:
			n++
		case 3<<3 | protobuf.Text:
			schema = in.Bytes
		}
	}
	return of, schema, n, in.Err
}

func (c *collector) resourceLogs(message []byte) error {
	of, schema, _, err := head(message)
	if err != nil {
		return err
	}
	c.resource.reset()
	if err := c.resource.parse(of, schema); err != nil {
		return err
	}
	service := ""
	if c.handler.ServiceFromResource {
		service = c.handler.Services.Admit(c.resource.service)
	}
	in := protobuf.Fields{Rest: message}
	for in.Next() {
		if in.Tag == 2<<3|protobuf.Text {
			if err := c.scopeLogs(in.Bytes, service); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *collector) scopeLogs(message []byte, service string) error {
	of, schema, n, err := head(message)
	if err != nil || n == 0 {
		return err
	}
	c.scope.reset()
	if err := c.scope.scope(of, schema); err != nil {
		return err
	}
	if c.resource.deep || c.scope.deep {
		c.rejected += int64(n)
		return nil
	}
	if err := c.lease.Take(int64(n) * input.EventCost); err != nil {
		return err
	}
	events := c.batches.Of(service, n)
	c.preview.From(service, c.resource.source)
	in := protobuf.Fields{Rest: message}
	for in.Next() {
		if in.Tag != 2<<3|protobuf.Text {
			continue
		}
		switch e, err := c.logRecord(in.Bytes); {
		case errors.Is(err, errTooDeep):
			c.rejected++
		case err != nil:
			return err
		default:
			*events = append(*events, e)
		}
	}
	return nil
}

// logRecord makes an event of a LogRecord.
func (c *collector) logRecord(message []byte) (e input.Event, err error) {
	c.own.Reset()
	r, err := c.parse(message)
	if err != nil {
		return e, err
	}
	e = input.Event{Time: r.timestamp(), Level: r.level(), Source: c.resource.source}
	if e.Message, err = c.message(r.body); err != nil {
		return e, err
	}
	if err := c.addFields(&r, &e); err != nil {
		return e, err
	}
	e.Attributes, err = c.texts.Encode(c.own.Attributes, &c.resource.Shared, &c.scope.Shared, nil)
	return e, err
}
