package aggregate

import (
	"encoding/binary"

	"logstow/exact"
	"logstow/spill"
)

// Sort keys are bytes that compare as rows do. A component is 0 and a value, or 1 if it is missing,
// which sorts last; the bytes of a value are inverted to sort descending.

// appendOrdered appends the component of a value. Numbers sort before text.
func appendOrdered(dst []byte, v Value, descending bool) []byte {
	if v.Kind == Missing {
		return append(dst, 1)
	}
	dst = append(dst, 0)
	start := len(dst)
	switch v.Kind {
	case Time:
		dst = binary.BigEndian.AppendUint64(dst, uint64(v.Int)^1<<63)
	case Bool, Text:
		dst = spill.AppendKeyText(append(dst, 1), v.Text)
	default:
		var scratch [64]byte
		n, _ := exact.Parse(v.Append(scratch[:0])) // always a number
		dst = n.AppendSortKey(append(dst, 0))
	}
	if descending {
		spill.Invert(dst[start:])
	}
	return dst
}

// appendBucket appends the component of a bucket's lower bound, nil if it is missing.
func appendBucket(dst, bound []byte) []byte {
	if bound == nil {
		return append(dst, 1)
	}
	n, _ := exact.Parse(bound) // always a number
	return n.AppendSortKey(append(dst, 0))
}

// appendSortKey appends the sort key of a row: the items of --sort, then the step, the buckets, the first function descending, and the
// keys bytewise. It omits the step if r has none, and then also the buckets: r is a group that is ranked over the whole range.
func (p *Plan) appendSortKey(dst []byte, r *rowKey, functions []Value) []byte {
	if p.ByKeys {
		return appendTexts(dst, r.texts)
	}
	for _, o := range p.Sort {
		switch {
		case o.Function >= 0:
			dst = appendOrdered(dst, functions[o.Function], o.Descending)
		case o.Key != p.step:
			dst = appendOrdered(dst, r.value(p, o.Key), o.Descending)
		case r.stepped:
			dst = appendOrdered(dst, Value{Kind: Time, Int: r.step}, o.Descending)
		}
	}
	if r.stepped {
		dst = appendOrdered(dst, Value{Kind: Time, Int: r.step}, false)
	}
	if r.stepped || p.step < 0 {
		for i, key := range p.keys {
			if p.By[key].Bucket {
				dst = appendBucket(dst, r.texts[i])
			}
		}
	}
	return appendTexts(appendOrdered(dst, functions[0], true), r.texts)
}

// appendTexts appends the texts of keys; those of missing ones, nil, sort first.
func appendTexts(dst []byte, texts [][]byte) []byte {
	for _, text := range texts {
		if text == nil {
			dst = append(dst, 0)
			continue
		}
		dst = spill.AppendKeyText(append(dst, 1), text)
	}
	return dst
}
