package aggregate

import (
	"encoding/binary"

	"logstow/internal/wire"
)

// holds is the number of records for which a condition is true.
type holds struct{}

func (holds) size() int { return 8 }

func (holds) add(_ *memory, b []byte, in *input, i int) {
	if in.Holds[i] {
		addUint(b, in.n)
	}
}

func (holds) addBatch(_ *memory, b []byte, in *batchInput) {
	n := uint64(0)
	for _, i := range in.records {
		if in.holds[i] {
			n++
		}
	}
	addUint(b, n)
}

func (holds) encode(_ *memory, dst, b []byte) []byte {
	return binary.AppendUvarint(dst, binary.LittleEndian.Uint64(b))
}

func (holds) merge(_ *memory, b []byte, r *wire.Reader) { addUint(b, r.Uvarint()) }
