package otlp

import (
	"math"
	"time"

	"logstow/input"
	"logstow/input/httpserver"
	"logstow/input/protobuf"
	"logstow/record"
)

// logRecord is a parsed LogRecord message; its slices point into the request.
type logRecord struct {
	body, text, event []byte
	traceID, spanID   []byte
	time, observed    uint64
	severity          int
	flags, dropped    uint64
}

// parse parses a LogRecord, whose attributes it adds to the collector's.
func (c *collector) parse(message []byte) (r logRecord, err error) {
	in := protobuf.Fields{Rest: message}
	for n := 0; in.Next(); {
		switch in.Tag {
		case 1<<3 | protobuf.Fixed64:
			r.time = in.Number
		case 2<<3 | protobuf.Varint:
			r.severity = int(int32(in.Number)) //nolint:gosec // an enum has 32 bits
		case 3<<3 | protobuf.Text:
			r.text = in.Bytes
		case 5<<3 | protobuf.Text:
			r.body = in.Bytes
		case 6<<3 | protobuf.Text:
			key, value, err := protobuf.Pair(in.Bytes)
			if err != nil {
				return r, err
			}
			name, err := c.names.stored(n, key, c.own.Attributes)
			if err != nil {
				return r, err
			}
			if err := c.own.attribute(name, value); err != nil {
				return r, err
			}
			n++
		case 7<<3 | protobuf.Varint:
			r.dropped = uint64(uint32(in.Number)) //nolint:gosec // as protobuf decodes it
		case 8<<3 | protobuf.Fixed32:
			r.flags = in.Number
		case 9<<3 | protobuf.Text:
			r.traceID = in.Bytes
		case 10<<3 | protobuf.Text:
			r.spanID = in.Bytes
		case 11<<3 | protobuf.Fixed64:
			r.observed = in.Number
		case 12<<3 | protobuf.Text:
			r.event = in.Bytes
		}
	}
	return r, in.Err
}

// timestamp returns the record's time in Unix nanoseconds, or 0 if it has none.
func (r *logRecord) timestamp() int64 {
	t := r.time
	if t == 0 {
		t = r.observed
	}
	return int64(min(t, math.MaxInt64)) //nolint:gosec // bounded
}

// level returns the level of the severity number, or of the severity text if there is no number.
func (r *logRecord) level() record.Level {
	if l := record.LevelFromOTel(r.severity); l != record.None {
		return l
	}
	return record.LevelFromAlias(r.text)
}

// kind is the value of the attribute body_kind.
func kind(tag uint64) string {
	switch tag {
	case anyBool:
		return "bool"
	case anyInt:
		return "int"
	case anyDouble:
		return "double"
	case anyArray:
		return "array"
	case anyMap:
		return "map"
	case anyBytes:
		return "bytes"
	}
	return "empty"
}

// message returns the message of a body: its text, its JSON, or nothing. It adds the attributes that tell what the body was.
func (c *collector) message(body []byte) ([]byte, error) {
	v, err := valueOf(body)
	switch {
	case err != nil:
		return nil, err
	case v.tag == anyString:
		return v.bytes, nil
	case v.tag == anyMap:
		if name, line, ok := memberText(v.bytes); ok {
			return line, httpserver.AddText(c.own.Attributes, nameBodyMember, name)
		}
	}
	if err := httpserver.AddText(c.own.Attributes, nameBodyKind, kind(v.tag)); err != nil || v.tag == 0 {
		return nil, err
	}
	at := len(c.own.Text)
	if err := c.own.content(&v, maxDepth); err != nil {
		return nil, err
	}
	return c.texts.Keep(c.own.Text[at:])
}

// addFields adds the attributes for the fields of a record that its time and its level do not tell. e is the event without
// attributes.
func (c *collector) addFields(r *logRecord, e *input.Event) error {
	if err := c.own.id(nameTraceID, r.traceID); err != nil {
		return err
	}
	if err := c.own.id(nameSpanID, r.spanID); err != nil {
		return err
	}
	if len(r.event) > 0 {
		if err := httpserver.AddText(c.own.Attributes, nameEvent, r.event); err != nil {
			return err
		}
	}
	if r.flags != 0 {
		if err := httpserver.AddNumber(c.own.Attributes, nameFlags, r.flags); err != nil {
			return err
		}
	}
	if r.dropped != 0 {
		if err := httpserver.AddNumber(c.own.Attributes, nameDropped, r.dropped); err != nil {
			return err
		}
	}
	made := c.preview.Event(e)
	if err := c.addTimes(r, &made); err != nil {
		return err
	}
	return c.addSeverity(r, made.Level)
}

// addTimes adds the times that the stored record does not tell: the time if it is another one or was not sent, and the time of observation
// if it was sent and is not the record's for want of a time.
func (c *collector) addTimes(r *logRecord, made *input.Outcome) error {
	sent := r.timestamp()
	known := sent != 0 && (made.Time == sent || made.Rejected) && (r.time|r.observed)>>63 == 0 // to those who read the record
	if made.Rejected {
		if err := httpserver.AddText(c.own.Attributes, nameRefused, time.Unix(0, sent).UTC().Format(time.RFC3339Nano)); err != nil {
			return err
		}
	}
	if r.time == 0 || !known {
		if err := httpserver.AddNumber(c.own.Attributes, nameTime, r.time); err != nil {
			return err
		}
	}
	if r.observed == 0 && r.time != 0 || r.time == 0 && known {
		return nil
	}
	return httpserver.AddNumber(c.own.Attributes, nameObserved, r.observed)
}

// addSeverity adds what the level of the stored record does not tell.
func (c *collector) addSeverity(r *logRecord, level record.Level) error {
	if r.severity != firstOf(level) {
		if err := httpserver.AddNumber(c.own.Attributes, nameSeverityNumber, int64(r.severity)); err != nil {
			return err
		}
	}
	implied := ""
	if l := record.LevelFromOTel(r.severity); l != record.None {
		implied = l.String()
	}
	if string(r.text) == implied {
		return nil
	}
	return httpserver.AddText(c.own.Attributes, nameSeverityText, r.text)
}

// firstOf is the first severity number of a level, 0 for none.
func firstOf(level record.Level) int {
	if level == record.None {
		return 0
	}
	return 1 + 4*int(level-record.Trace)
}
