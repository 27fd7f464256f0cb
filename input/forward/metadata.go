package forward

import (
	"math"
	"strconv"
	"time"

	"logstow/message"
	"logstow/record/attributes"
)

// maxMetadata is the maximum size of the metadata of an event in bytes; larger ones exceed the limits of attributes.
const maxMetadata = attributes.MaxSize

// attributes appends the attributes of an event: its metadata, which are in an array with its time, and those of its group.
func (c *collector) attributes(when []byte) error {
	if h, _ := readHead(when); h.kind != kindArray && c.group.size == 0 {
		return nil
	}
	set := attributes.Set{}
	if err := metadata(&set, when); err != nil {
		return err
	}
	if c.shared += c.group.size; c.shared <= maxShared {
		c.group.add(&set)
	} else if c.group.size > 0 {
		set.Cut += c.group.all + c.group.cut
	}
	c.out.b, _ = set.Append(c.out.b)
	return nil
}

// metadata adds the metadata of an event.
func metadata(set *attributes.Set, when []byte) error {
	in := cursor{when}
	if h, _, err := in.next(); err != nil || h.kind != kindArray || h.n < 2 {
		return err
	}
	if _, err := in.value(); err != nil {
		return err
	}
	h, _, err := in.next()
	if err != nil || h.kind != kindMap || h.n == 0 {
		return err
	}
	if len(in.b) > maxMetadata {
		set.Cut = int(min(h.n, math.MaxInt32))
		return nil
	}
	set.Own, err = members(&in, h.n, 0)
	for i := range set.Own {
		set.Own[i].Name = attributes.OwnName(set.Own[i].Name, attributes.ResourceSchema, attributes.ResourceDropped,
			attributes.ScopeName, attributes.ScopeVersion, attributes.ScopeSchema, attributes.ScopeDropped)
	}
	return err
}

// members reads n members of a map.
func members(in *cursor, n uint64, depth int) (all []attributes.Member, err error) {
	for range n {
		key, err := in.value()
		if err != nil {
			return nil, err
		}
		name, err := keyText(key)
		if err != nil {
			return nil, err
		}
		value, err := attribute(nil, in, depth)
		if err != nil {
			return nil, err
		}
		all = append(all, attributes.Member{Name: name, Value: value})
	}
	return all, nil
}

// keyText returns a key; one that is no text as in a message.
func keyText(key []byte) (string, error) {
	if text, err := (&cursor{key}).text(); err == nil {
		return string(text), nil
	}
	w := writer{limit: expansion * maxMetadata}
	if err := w.key(&cursor{key}); err != nil {
		return "", err
	}
	return string(message.UnescapeInPlace(message.Unquoted(w.b))), nil
}

// attribute appends the next value as one of an attribute. What is nested too deeply becomes a text.
func attribute(dst []byte, in *cursor, depth int) ([]byte, error) {
	before := *in
	h, body, err := in.next()
	if err != nil {
		return dst, err
	}
	switch h.kind {
	case kindBool:
		return attributes.AppendBool(dst, h.n != 0), nil
	case kindInt:
		return attributes.AppendInt(dst, int64(h.n)), nil
	case kindUint:
		return strconv.AppendUint(dst, h.n, 10), nil
	case kindFloat:
		v := math.Float64frombits(h.n)
		if h.single { // the shortest form
			v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', -1, 32), 64)
		}
		return attributes.AppendDouble(dst, v), nil
	case kindText:
		return attributes.AppendText(dst, body), nil
	case kindExt:
		if at, ok := eventTime(h, body); ok {
			return attributes.AppendText(dst, at.Format(time.RFC3339Nano)), nil
		}
		return attributes.AppendBytes(dst, body), nil
	case kindArray, kindMap:
		if depth < attributes.MaxDepth {
			return composite(dst, in, h, depth)
		}
		w := writer{limit: expansion * maxMetadata}
		*in = before
		err := w.value(in)
		return attributes.AppendText(dst, w.b), err
	}
	return attributes.AppendNull(dst), nil
}

// composite appends an array or a map.
func composite(dst []byte, in *cursor, h head, depth int) ([]byte, error) {
	if h.kind == kindMap {
		all, err := members(in, h.n, depth+1)
		if err != nil {
			return dst, err
		}
		dst, _ = attributes.AppendMap(dst, all)
		return dst, nil
	}
	var values [][]byte
	for range h.n {
		value, err := attribute(nil, in, depth+1)
		if err != nil {
			return dst, err
		}
		values = append(values, value)
	}
	return attributes.AppendArray(dst, values), nil
}
