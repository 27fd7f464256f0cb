package forward

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"strconv"
	"time"

	"logstow/input"
	"logstow/message"
)

// writer writes consecutive messages. Of each it keeps at most limit bytes and counts the rest.
type writer struct {
	b     []byte
	limit int
	// start is where the current message began, size its length if nothing was truncated.
	start int
	size  int64
}

// begin starts a message.
func (w *writer) begin() { w.start, w.size = len(w.b), 0 }

// end ends a message; one over the limit gets the truncation mark. It reports whether it was
// truncated.
func (w *writer) end() (cut bool) {
	if w.size <= int64(w.limit) {
		return false
	}
	message := input.Cut(w.b[w.start:], w.limit, w.size)
	w.b = w.b[:w.start+len(message)]
	return true
}

// put adds bytes to the message.
func put[T string | []byte](w *writer, p T) {
	w.size += int64(len(p))
	w.b = append(w.b, p[:min(len(p), w.limit-(len(w.b)-w.start))]...)
}

// value writes a value as JSON.
func (w *writer) value(c *cursor) error {
	h, body, err := c.next()
	if err != nil {
		return err
	}
	var scratch [32]byte
	switch h.kind {
	case kindNil:
		put(w, "null")
	case kindBool:
		put(w, strconv.AppendBool(scratch[:0], h.n != 0))
	case kindInt:
		put(w, strconv.AppendInt(scratch[:0], int64(h.n), 10))
	case kindUint:
		put(w, strconv.AppendUint(scratch[:0], h.n, 10))
	case kindFloat:
		bits := 64
		if h.single {
			bits = 32
		}
		put(w, message.AppendFloat(scratch[:0], math.Float64frombits(h.n), bits))
	case kindText:
		w.text(body)
	case kindExt:
		if at, ok := eventTime(h, body); ok {
			put(w, `"`)
			put(w, at.AppendFormat(scratch[:0], time.RFC3339Nano))
			put(w, `"`)
			return nil
		}
		w.binary(body)
	case kindArray:
		return w.array(c, h.n)
	case kindMap:
		put(w, "{")
		if err := w.members(c, h.n); err != nil {
			return err
		}
		put(w, "}")
	}
	return nil
}

func (w *writer) array(c *cursor, n uint64) error {
	put(w, "[")
	for i := range n {
		if i > 0 {
			put(w, ",")
		}
		if err := w.value(c); err != nil {
			return err
		}
	}
	put(w, "]")
	return nil
}

// members writes n members of an object, in their order.
func (w *writer) members(c *cursor, n uint64) error {
	for i := range n {
		if i > 0 {
			put(w, ",")
		}
		if err := w.key(c); err != nil {
			return err
		}
		put(w, ":")
		if err := w.value(c); err != nil {
			return err
		}
	}
	return nil
}

// key writes a key, which is a string in JSON.
func (w *writer) key(c *cursor) error {
	h, ok := readHead(c.b)
	switch {
	case !ok:
		return errMalformed
	case h.kind == kindArray || h.kind == kindMap:
		raw, err := c.value()
		w.binary(raw)
		return err
	case h.kind == kindText || h.kind == kindExt:
		return w.value(c)
	case h.kind == kindFloat && quoted(math.Float64frombits(h.n)):
		return w.value(c)
	}
	put(w, `"`)
	err := w.value(c)
	put(w, `"`)
	return err
}

// quoted reports whether a number cannot be represented in JSON.
func quoted(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }

// binary writes bytes that are not text.
func (w *writer) binary(b []byte) {
	put(w, `"`)
	var scratch [4 * 48]byte
	for len(b) > 0 {
		n := min(len(b), 3*48)
		put(w, base64.StdEncoding.AppendEncode(scratch[:0], b[:n]))
		b = b[n:]
	}
	put(w, `"`)
}

// text writes a string. Invalid UTF-8 becomes U+FFFD.
func (w *writer) text(s []byte) {
	put(w, `"`)
	for len(s) > 0 {
		plain, escape, size := message.Escape(s)
		put(w, s[:plain])
		put(w, escape)
		s = s[plain+size:]
	}
	put(w, `"`)
}

// eventTime reads the protocol's own type of time, or the timestamp of MessagePack
// (https://github.com/msgpack/msgpack/blob/master/spec.md#timestamp-extension-type).
func eventTime(h head, body []byte) (time.Time, bool) {
	const eventType, timestampType = 0, -1
	var seconds, nanos int64
	switch n := len(body); {
	case h.kind != kindExt:
		return time.Time{}, false
	case h.ext == eventType && n == 8:
		seconds, nanos = int64(binary.BigEndian.Uint32(body)), int64(binary.BigEndian.Uint32(body[4:]))
	case h.ext == timestampType && n == 4:
		seconds = int64(binary.BigEndian.Uint32(body))
	case h.ext == timestampType && n == 8:
		packed := binary.BigEndian.Uint64(body)
		seconds, nanos = int64(packed&(1<<34-1)), int64(packed>>34)
	case h.ext == timestampType && n == 12:
		seconds, nanos = int64(binary.BigEndian.Uint64(body[4:])), int64(binary.BigEndian.Uint32(body))
	default:
		return time.Time{}, false
	}
	return time.Unix(seconds, nanos).UTC(), true
}
