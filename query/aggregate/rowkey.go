package aggregate

import (
	"encoding/binary"

	"logstow/internal/wire"
)

// rowKey is the decoded key of a group. Its parts refer to the key's bytes.
type rowKey struct {
	flags uint32
	// others are the encoded keys other than step and pivot, row the same with the step.
	others, row []byte
	// texts are the values of others, nil for a missing one.
	texts   [][]byte
	step    int64
	stepped bool
	// pivot is the encoded pivot key.
	pivot []byte
}

// parse decodes a key; pivot is set if the key has a pivot key. It is not ok if the key is malformed.
func (k *rowKey) parse(p *Plan, key []byte, flags uint32, pivot bool) bool {
	*k = rowKey{flags: flags, texts: k.texts[:0]}
	r := &wire.Reader{Rest: key}
	for range p.keys {
		k.texts = append(k.texts, readKey(r))
	}
	k.others = key[:len(key)-len(r.Rest)]
	if p.step >= 0 {
		step := r.Bytes(8)
		if r.Bad {
			return false
		}
		k.step, k.stepped = int64(binary.BigEndian.Uint64(step)^1<<63), true
	}
	k.row = key[:len(key)-len(r.Rest)]
	k.pivot = r.Rest
	return !r.Bad && pivot == (len(k.pivot) > 0)
}

// readKey reads a value of a key, nil if it is missing.
func readKey(r *wire.Reader) []byte {
	n := r.Uvarint()
	if n == 0 {
		return nil
	}
	return r.Bytes(n - 1)
}

// value returns the value of a key of By other than the pivot key.
func (k *rowKey) value(p *Plan, key int) Value {
	if key == p.step {
		return Value{Kind: Time, Int: k.step}
	}
	for i, other := range p.keys {
		if other == key {
			return keyValue(k.texts[i], k.flags>>key&1 != 0)
		}
	}
	return Value{}
}
