package otlp

import (
	"errors"

	"logstow/input"
	"logstow/input/httpserver"
	"logstow/record"
	"logstow/record/attributes"
	"logstow/record/recognize"
)

// collector collects the events of a request.
type collector struct {
	handler *Handler
	lease   *httpserver.Lease
	read    int64

	names names
	// own has the attributes of a record, resource and scope those that records share.
	own      encoder
	resource resource
	scope    shared
	set      attributes.Set
	// encoded has the encoded attributes of one record. large is set if the memory to shorten them is charged.
	encoded []byte
	large   bool
	space   space

	// guard recognizes what the receiver will recognize: guards has one for each service.
	guard  *recognize.Recognizer
	guards map[string]guard

	batches input.Batches
	// rejected counts the rejected records.
	rejected int64
}

// guard recognizes times and levels of consecutive records of a source, as [input.Receiver] does.
type guard struct {
	source     string
	recognizer *recognize.Recognizer
}

// collect reads an ExportLogsServiceRequest. Its errors are those of [httpserver.Body].
func (h *Handler) collect(request []byte, lease *httpserver.Lease) (*collector, error) {
	c := &collector{
		handler: h, lease: lease, read: h.Options.Now().UnixNano(), names: newNames(), guards: map[string]guard{},
		own: encoder{lease: lease}, space: space{lease: lease, limit: input.MaxReceive},
	}
	c.resource.encoder.lease, c.scope.encoder.lease = lease, lease
	in := fields{rest: request}
	for in.next() {
		if in.tag != 1<<3|text {
			continue
		}
		if err := c.resourceLogs(in.bytes); err != nil {
			return nil, err
		}
	}
	return c, in.err
}

// head reads the first and the third field of a ResourceLogs or ScopeLogs, and counts the second ones: fields may come in any order.
func head(message []byte) (of, schema []byte, n int, err error) {
	in := fields{rest: message}
	for in.next() {
		switch in.tag {
		case 1<<3 | text:
			of = in.bytes
		case 2<<3 | text:
			n++
		case 3<<3 | text:
			schema = in.bytes
		}
	}
	return of, schema, n, in.err
}

func (c *collector) resourceLogs(message []byte) error {
	of, schema, _, err := head(message)
	if err != nil {
		return err
	}
	c.resource.reset(c.lease)
	if err := c.resource.parse(of, schema); err != nil {
		return err
	}
	service := ""
	if c.handler.serviceFromResource {
		service = c.handler.Services.Admit(c.resource.service)
	}
	in := fields{rest: message}
	for in.next() {
		if in.tag == 2<<3|text {
			if err := c.scopeLogs(in.bytes, service); err != nil {
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
	c.scope.reset(c.lease)
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
	g, ok := c.guards[service]
	if !ok || g.source != c.resource.source {
		g = guard{c.resource.source, recognize.New(c.handler.Options.Recognize)}
		c.guards[service] = g
	}
	c.guard = g.recognizer
	in := fields{rest: message}
	for in.next() {
		if in.tag != 2<<3|text {
			continue
		}
		switch e, err := c.logRecord(in.bytes); {
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
	c.own.reset()
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
	e.Attributes, err = c.attributes()
	return e, err
}

// refused reports whether a record does not get its time.
func (c *collector) refused(sent int64) bool {
	_, reason := c.guard.CheckTime(sent, c.read)
	return reason != recognize.Accepted
}

// will returns the time and the level that the receiver gives an event.
func (c *collector) will(e *input.Event) (int64, record.Level) {
	from := c.handler.Options.TimeFrom
	if from == input.TimeProtocol && e.Level != record.None {
		return e.Time, e.Level
	}
	c.guard.Forget()
	stamp := c.guard.Stamp(e.Message, c.read, c.read)
	level := e.Level
	if level == record.None {
		level = stamp.Level
	}
	if from == input.TimeProtocol || !stamp.Found || stamp.Rejected != recognize.Accepted || from != input.TimeLine && stamp.Time > e.Time && !c.refused(e.Time) {
		return e.Time, level
	}
	return stamp.Time, level
}

// attributes encodes the attributes of a record, and those that it shares.
func (c *collector) attributes() ([]byte, error) {
	if err := c.own.addAll(c.resource.top); err != nil {
		return nil, err
	}
	if err := c.own.addAll(c.scope.top); err != nil {
		return nil, err
	}
	const more = 256 // the names of the objects, and the number of cuts
	size := c.own.size + c.resource.size + c.scope.size + more
	if size > attributes.MaxSize {
		size = attributes.MaxSize + more
		if !c.large {
			if err := c.lease.Take(16 * attributes.MaxSize); err != nil {
				return nil, err
			}
			c.large = true
		}
	}
	if cap(c.encoded) < size {
		var err error
		if c.encoded, err = c.lease.Grow(c.encoded[:0], size); err != nil {
			return nil, err
		}
	}
	c.set.Own, c.set.Resource, c.set.Scope = c.own.list, c.resource.group, c.scope.group
	c.set.Cut = c.own.cut + c.resource.cut + c.scope.cut
	c.encoded, _ = c.set.Append(c.encoded[:0])
	if len(c.encoded) == 0 {
		return nil, nil
	}
	return c.space.keep(c.encoded)
}
