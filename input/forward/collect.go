package forward

import (
	"math"

	"logstow/input"
	"logstow/record/attributes"
	"logstow/record/recognize"
)

const (
	// maxEvents bounds how many events are passed on at once.
	maxEvents = 1 << 13
	// maxBatchBytes bounds the bytes of their messages and attributes, except for a single event.
	maxBatchBytes = 4 << 20
	// initialMessages and initialEvents are the buffers of every connection for messages and
	// events.
	initialMessages, initialEvents = 8 << 10, 16
	// expansion is the approximate maximum of JSON bytes per byte of msgpack.
	expansion = 6
)

// collector makes records of events and collects them.
type collector struct {
	opts  *Options
	guard *recognize.Recognizer
	// grow reserves n bytes of memory before they are used, or returns -n.
	grow   func(n int) error
	source string
	read   int64
	// group is that of the next events, shared the size of the attributes that events of the message got of groups.
	group  group
	shared int

	out  writer
	list []input.Event
	// ends are where the parts of list end in out.
	ends []eventEnd
}

// eventEnd is where the message of an event ends, and the attributes behind it.
type eventEnd struct{ message, attributes int }

// full reports whether the collected events must be passed on before an event of n bytes.
func (c *collector) full(n int) bool {
	return len(c.list) == maxEvents || len(c.list) > 0 && len(c.out.b)+c.need(n) > maxBatchBytes
}

// need is the maximum size of the message and the attributes of an event of n bytes.
func (c *collector) need(n int) int {
	return min(expansion*n+64+c.group.size, c.out.limit+attributes.MaxSize)
}

// pieces are the collected events, complete with their messages and attributes.
func (c *collector) pieces() []input.Event {
	start := 0
	for i, end := range c.ends {
		c.list[i].Message, c.list[i].Attributes = c.out.b[start:end.message:end.message], c.out.b[end.message:end.attributes:end.attributes]
		start = end.attributes
	}
	return c.list
}

// reset discards all events.
func (c *collector) reset() {
	clear(c.list)
	c.list, c.ends, c.out.b = c.list[:0], c.ends[:0], c.out.b[:0]
}

// release releases the memory, except for the initial buffers.
func (c *collector) release() {
	c.group = group{}
	c.out.b = make([]byte, 0, initialMessages)
	c.list, c.ends = make([]input.Event, 0, initialEvents), nil
}

// reserve makes space for the message and the attributes of one more event of n bytes.
func (c *collector) reserve(n int) error {
	if need := len(c.out.b) + c.need(n); need > cap(c.out.b) {
		old, size := cap(c.out.b), max(need, min(2*cap(c.out.b), maxBatchBytes))
		if err := c.grow(size); err != nil {
			return err
		}
		c.out.b = append(make([]byte, 0, size), c.out.b...)
		_ = c.grow(-old)
	}
	if len(c.list) == cap(c.list) {
		more := cap(c.list)
		if err := c.grow(more * input.EventCost); err != nil {
			return err
		}
		c.list = append(make([]input.Event, 0, cap(c.list)+more), c.list...)
	}
	return nil
}

// event collects an event: an array of a time and a record.
func (c *collector) event(b []byte) error {
	in := cursor{b}
	if _, err := in.list(2); err != nil {
		return err
	}
	return c.pair(&in)
}

// pair collects a time and a record.
func (c *collector) pair(in *cursor) error {
	if err := c.reserve(len(in.b)); err != nil {
		return err
	}
	when, err := in.value()
	if err != nil {
		return err
	}
	if kind := markerOf(when); kind != noMarker {
		return c.marker(kind, in)
	}
	e := input.Event{Time: eventNanos(when), Source: c.source}
	var rejected []byte
	if e.Time != 0 {
		if _, reason := c.guard.CheckTime(e.Time, c.read); reason != recognize.Accepted {
			rejected = when
		}
	}
	c.out.begin()
	if err := c.record(in, rejected); err != nil {
		c.out.b = c.out.b[:c.out.start]
		return err
	}
	if c.out.end() {
		c.opts.NoteCut()
	}
	end := eventEnd{message: len(c.out.b)}
	if err := c.attributes(when); err != nil {
		c.out.b = c.out.b[:c.out.start]
		return err
	}
	end.attributes = len(c.out.b)
	c.list, c.ends = append(c.list, e), append(c.ends, end)
	return nil
}

// record writes the message of a record. rejected is a rejected timestamp, or nil.
func (c *collector) record(in *cursor, rejected []byte) error {
	h, ok := readHead(in.b)
	switch {
	case !ok || h.size == 0:
		return errMalformed
	case rejected == nil:
		if line, ok := c.line(in.b, h); ok {
			put(&c.out, input.TrimNewline(line))
			_, err := in.value()
			return err
		}
	}
	if h.kind != kindMap || rejected == nil {
		return c.out.value(in)
	}
	in.b = in.b[h.size:]
	put(&c.out, "{")
	if err := c.out.members(in, h.n); err != nil {
		return err
	}
	if h.n > 0 {
		put(&c.out, ",")
	}
	put(&c.out, `"refused_time":`)
	if err := c.out.value(&cursor{rejected}); err != nil {
		return err
	}
	put(&c.out, "}")
	return nil
}

// line is the text of a record that consists of a text only: see [Spec.MessageKey].
func (c *collector) line(b []byte, h head) ([]byte, bool) {
	in := cursor{b}
	if h.kind == kindText {
		text, err := in.text()
		return text, err == nil
	}
	if h.kind != kindMap || c.opts.MessageKey == "" && h.n != 1 {
		return nil, false
	}
	in.b = b[h.size:]
	for range h.n {
		name, value, err := in.member()
		if err != nil {
			return nil, false
		}
		if !c.isLine(string(name)) {
			continue
		}
		text, err := (&cursor{value}).text()
		return text, err == nil
	}
	return nil, false
}

func (c *collector) isLine(key string) bool {
	if c.opts.MessageKey != "" {
		return key == c.opts.MessageKey
	}
	return input.IsLineName(key)
}

// eventNanos is an event's time in Unix nanoseconds: the protocol's own type, or seconds; in an
// array with metadata, its first element. 0 is none.
func eventNanos(b []byte) int64 {
	in := cursor{b}
	h, body, err := in.next()
	if err == nil && h.kind == kindArray && h.n > 0 {
		h, body, err = in.next()
	}
	if err != nil {
		return 0
	}
	if at, ok := eventTime(h, body); ok {
		return at.UnixNano()
	}
	const most = math.MaxInt64 / 1_000_000_000
	switch h.kind {
	case kindUint:
		return int64(min(h.n, most)) * 1_000_000_000
	case kindInt:
		return max(int64(h.n), -most) * 1_000_000_000
	case kindFloat:
		if v := math.Float64frombits(h.n); v > -most && v < most {
			return int64(v * 1e9)
		}
	}
	return 0
}
