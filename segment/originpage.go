package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"logstow/internal/ids"
)

// BlockOrigins maps each record of an output's block to its input.
type BlockOrigins struct {
	// Inputs are the inputs with records in the block, as indexes into [Origins.Inputs], ascending.
	Inputs []uint32
	// Before has, for each of Inputs, the number of its records in earlier blocks.
	Before []uint64
	// IDs has an index into Inputs for each record of the block.
	IDs []uint32
}

// Input returns the input of a record, as an index into [Origins.Inputs].
func (b *BlockOrigins) Input(record int) int { return int(b.Inputs[b.IDs[record]]) }

// pageEncoder encodes pages. Not safe for concurrent use.
type pageEncoder struct {
	// before counts the records of each input in the blocks so far.
	before []uint64
	local  []uint32 // by input: one more than its index in inputs; 0 if it has no record in the block
	inputs []uint32
	ids    []uint32
	enc    ids.Encoder
}

func newPageEncoder(inputs int) *pageEncoder {
	return &pageEncoder{before: make([]uint64, inputs), local: make([]uint32, inputs)}
}

// append appends the page of a block; origins has the input of each record.
func (e *pageEncoder) append(dst []byte, origins []uint32) []byte {
	e.inputs = e.inputs[:0]
	for _, input := range origins {
		if e.local[input] == 0 {
			e.local[input] = 1
			e.inputs = append(e.inputs, input)
		}
	}
	slices.Sort(e.inputs)
	for i, input := range e.inputs {
		e.local[input] = uint32(i) + 1
	}
	e.ids = e.ids[:0]
	for _, input := range origins {
		e.ids = append(e.ids, e.local[input]-1)
	}
	formAt := len(dst)
	dst = append(dst, 0)
	dst = binary.AppendUvarint(dst, uint64(len(e.inputs)))
	last := uint32(0)
	for _, input := range e.inputs {
		dst = binary.AppendUvarint(dst, uint64(input-last))
		last = input
	}
	for _, input := range e.inputs {
		dst = binary.AppendUvarint(dst, e.before[input])
	}
	dst, form := ids.Append(&e.enc, dst, e.ids, len(e.inputs))
	dst[formAt] = byte(form)
	for _, input := range origins {
		e.before[input]++
	}
	for _, input := range e.inputs {
		e.local[input] = 0
	}
	return dst
}

var errPage = errors.New("its page is malformed")

// decodePage decodes the page of a block of n records.
func decodePage(page []byte, n uint64, inputs int) (*BlockOrigins, error) {
	if len(page) == 0 {
		return nil, errPage
	}
	form, rest := ids.Form(page[0]), page[1:]
	size, ok := ids.Uvarint(&rest)
	if !ok || size == 0 || size > uint64(inputs) || size > n {
		return nil, fmt.Errorf("%w: %d inputs", errPage, size)
	}
	b := &BlockOrigins{Inputs: make([]uint32, size), Before: make([]uint64, size)}
	at := uint64(0)
	for i := range b.Inputs {
		delta, ok := ids.Uvarint(&rest)
		if at += delta; !ok || delta > uint64(inputs) || at >= uint64(inputs) || i > 0 && delta == 0 {
			return nil, fmt.Errorf("%w: its inputs are out of order", errPage)
		}
		b.Inputs[i] = uint32(at)
	}
	for i := range b.Before {
		if b.Before[i], ok = ids.Uvarint(&rest); !ok {
			return nil, fmt.Errorf("%w: a count is missing", errPage)
		}
	}
	b.IDs = make([]uint32, n)
	if err := ids.Decode(new(ids.Decoder), b.IDs, form, rest, int(size)); err != nil {
		return nil, fmt.Errorf("%w: %w", errPage, err)
	}
	used := make([]bool, size)
	for _, id := range b.IDs {
		used[id] = true
	}
	if slices.Contains(used, false) {
		return nil, fmt.Errorf("%w: an input without records", errPage)
	}
	return b, nil
}
