package local

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"

	"logstow/store"
)

// writtenAt is the name of the property with the time of the write in Unix nanoseconds. [store.CheckEntities] rejects it
// in entities. Entities of earlier versions do not have it.
const writtenAt = "Timestamp"

// encodeProperties writes properties as one msgpack map, keys in order, and then the time of the write.
func encodeProperties(properties map[string]any, written time.Time) ([]byte, error) {
	var b bytes.Buffer
	enc := msgpack.NewEncoder(&b)
	if err := enc.EncodeMapLen(len(properties) + 1); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if err := errors.Join(enc.EncodeString(name), enc.Encode(properties[name])); err != nil {
			return nil, err
		}
	}
	err := errors.Join(enc.EncodeString(writtenAt), enc.EncodeInt64(written.UnixNano()))
	return b.Bytes(), err
}

// selectProperties decodes the properties that q needs. ok reports whether the conditions of q hold.
// written is zero if it is unknown, or if q.Times is not set.
func selectProperties(stored []byte, q store.Query) (properties map[string]any, written time.Time, ok bool, err error) {
	all, err := decodeProperties(stored, func(name string) bool {
		return q.Times && name == writtenAt || slices.ContainsFunc(q.Columns, func(c store.Column) bool { return c.Name == name }) ||
			slices.ContainsFunc(q.Where, func(c store.Condition) bool { return c.Column == name })
	})
	if err != nil {
		return nil, written, false, err
	}
	for _, c := range q.Where {
		value, isString := all[c.Column].(string)
		if !isString || !holds(c.Op, strings.Compare(value, c.Value)) {
			return nil, written, false, nil
		}
	}
	properties = make(map[string]any, len(q.Columns))
	for _, c := range q.Columns {
		value, there := all[c.Name]
		if !there {
			continue
		}
		if !isKind(value, c.Kind) {
			return nil, written, false, fmt.Errorf("property %s is a %T", c.Name, value)
		}
		properties[c.Name] = value
	}
	if at, known := all[writtenAt].(int64); known {
		written = time.Unix(0, at).UTC()
	}
	return properties, written, true, nil
}

// decodeProperties decodes the wanted properties.
func decodeProperties(stored []byte, wanted func(name string) bool) (map[string]any, error) {
	in := bytes.NewReader(stored) // the decoder reads no further than necessary
	dec := msgpack.NewDecoder(in)
	n, err := dec.DecodeMapLen()
	if err != nil {
		return nil, err
	}
	properties := make(map[string]any)
	for range n {
		text, err := decodeBytes(dec, in)
		if err != nil {
			return nil, err
		}
		name := string(text)
		if !wanted(name) {
			if err := dec.Skip(); err != nil {
				return nil, err
			}
			continue
		}
		if properties[name], err = decodeValue(dec, in); err != nil {
			return nil, err
		}
	}
	return properties, nil
}

func decodeValue(dec *msgpack.Decoder, in *bytes.Reader) (any, error) {
	code, err := dec.PeekCode()
	switch {
	case err != nil:
		return nil, err
	case msgpcode.IsString(code):
		text, err := decodeBytes(dec, in)
		return string(text), err
	case msgpcode.IsBin(code):
		return decodeBytes(dec, in)
	default:
		return dec.DecodeInt64()
	}
}

// decodeBytes decodes a string or bytes. It checks the stored length before allocating, which the library does not.
func decodeBytes(dec *msgpack.Decoder, in *bytes.Reader) ([]byte, error) {
	n, err := dec.DecodeBytesLen()
	if err != nil {
		return nil, err
	}
	if n < 0 || n > in.Len() {
		return nil, fmt.Errorf("%d bytes of %d: %w", in.Len(), n, io.ErrUnexpectedEOF)
	}
	b := make([]byte, n)
	return b, dec.ReadFull(b)
}

// holds reports whether a condition holds for a result of strings.Compare.
func holds(op string, order int) bool {
	switch op {
	case "eq":
		return order == 0
	case "lt":
		return order < 0
	case "le":
		return order <= 0
	case "gt":
		return order > 0
	default: // "ge": store.CheckQuery rejects all others.
		return order >= 0
	}
}

func isKind(value any, kind store.Kind) (ok bool) {
	switch kind {
	case store.String:
		_, ok = value.(string)
	case store.Int64:
		_, ok = value.(int64)
	case store.Binary:
		_, ok = value.([]byte)
	}
	return ok
}
