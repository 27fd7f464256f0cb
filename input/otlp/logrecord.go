package otlp

import (
	"bytes"
	"encoding/hex"
	"math"
	"strconv"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"logstow/input"
	"logstow/record"
)

// logRecord is a parsed LogRecord message; its slices point into the request.
type logRecord struct {
	message           []byte
	body, text, event []byte
	traceID, spanID   []byte
	time, observed    uint64
	severity          int
	flags, dropped    uint64
	hasAttributes     bool
}

func parseLogRecord(message []byte) (logRecord, error) {
	r := logRecord{message: message}
	for len(message) > 0 {
		f, rest, err := next(message)
		if err != nil {
			return r, err
		}
		message = rest
		switch {
		case f.is(1, protowire.Fixed64Type):
			r.time = f.value
		case f.is(2, protowire.VarintType):
			r.severity = int(int32(f.value)) //nolint:gosec // an enum has 32 bits
		case f.is(3, protowire.BytesType):
			r.text = f.bytes
		case f.is(5, protowire.BytesType):
			r.body = f.bytes
		case f.is(6, protowire.BytesType):
			r.hasAttributes = true
		case f.is(7, protowire.VarintType):
			r.dropped = f.value
		case f.is(8, protowire.Fixed32Type):
			r.flags = f.value
		case f.is(9, protowire.BytesType):
			r.traceID = f.bytes
		case f.is(10, protowire.BytesType):
			r.spanID = f.bytes
		case f.is(11, protowire.Fixed64Type):
			r.observed = f.value
		case f.is(12, protowire.BytesType):
			r.event = f.bytes
		}
	}
	return r, nil
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

// line is the text of a record that holds nothing but a text and times, without a newline at its
// end. It points into the request. The body may be an object whose only member is that text.
func (r *logRecord) line() ([]byte, bool) {
	if r.severity != 0 || len(r.text) > 0 || len(r.event) > 0 || r.hasAttributes || r.dropped != 0 || r.flags != 0 ||
		!zeros(r.traceID) || !zeros(r.spanID) {
		return nil, false
	}
	text, ok := plainText(r.body)
	if !ok {
		text, ok = memberText(r.body)
	}
	return input.TrimNewline(text), ok
}

// logRecord writes the record's object: the record's fields in a fixed order, then those of its
// scope and resource. rejected is a rejected timestamp, or 0.
func (o *object) logRecord(r *logRecord, rejected int64, scope, resource []byte) error {
	put(o, `{"body":`)
	if err := o.value(r.body, 0); err != nil {
		return err
	}
	if rejected != 0 {
		put(o, `,"refused_time":"`+time.Unix(0, rejected).UTC().Format(time.RFC3339Nano)+`"`)
	}
	if err := o.member(`,"severity":`, r.text); err != nil {
		return err
	}
	if r.severity != 0 {
		put(o, `,"severity_number":`)
		o.integer(int64(r.severity))
	}
	if err := o.member(`,"event_name":`, r.event); err != nil {
		return err
	}
	if r.hasAttributes {
		put(o, `,"attributes":`)
		if err := o.keyValues(r.message, 6, 0); err != nil {
			return err
		}
	}
	if r.dropped != 0 {
		put(o, `,"dropped_attributes":`+strconv.FormatUint(r.dropped, 10))
	}
	o.id(`,"trace_id":"`, r.traceID)
	o.id(`,"span_id":"`, r.spanID)
	if r.flags != 0 {
		put(o, `,"flags":`+strconv.FormatUint(r.flags, 10))
	}
	put(o, scope)
	put(o, resource)
	return o.err
}

// member writes a member that is a string, if it has one.
func (o *object) member(name string, value []byte) error {
	if len(value) == 0 {
		return nil
	}
	put(o, name)
	return o.text(value)
}

// id writes an ID in hexadecimal. It writes nothing if the ID is empty or all zeros.
func (o *object) id(name string, id []byte) {
	if zeros(id) {
		return
	}
	put(o, name)
	if o.reserve(hex.EncodedLen(len(id))) {
		o.b = hex.AppendEncode(o.b, id)
	}
	put(o, `"`)
}

func zeros(id []byte) bool { return len(bytes.Trim(id, "\x00")) == 0 }
