package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"logstow/internal/ids"
)

// BlockOrigins maps each record of an output's block to its part of the inputs.
type BlockOrigins struct {
	// Parts are the parts with records in the block, as indexes into [Origins.Parts], ascending.
	Parts []uint32
	// Before has, for each of Parts, the number of its records in earlier blocks.
	Before []uint64
	// IDs has an index into Parts for each record of the block.
	IDs []uint32
}

// Part returns the part of a record, as an index into [Origins.Parts].
func (b *BlockOrigins) Part(record int) int { return int(b.Parts[b.IDs[record]]) }

// pageEncoder encodes pages. Not safe for concurrent use.
type pageEncoder struct {
	// before counts the records of each part in the blocks so far.
	before []uint64
	local  []uint32 // by part: one more than its index in parts; 0 if it has no record in the block
	parts  []uint32
	ids    []uint32
	enc    ids.Encoder
}

func newPageEncoder(parts int) *pageEncoder {
	return &pageEncoder{before: make([]uint64, parts), local: make([]uint32, parts)}
}

// append appends the page of a block; records has the part of each.
func (e *pageEncoder) append(dst []byte, records []uint32) []byte {
	e.parts = e.parts[:0]
	for _, part := range records {
		if e.local[part] == 0 {
			e.local[part] = 1
			e.parts = append(e.parts, part)
		}
	}
	slices.Sort(e.parts)
	for i, part := range e.parts {
		e.local[part] = uint32(i) + 1
	}
	e.ids = e.ids[:0]
	for _, part := range records {
		e.ids = append(e.ids, e.local[part]-1)
	}
	formAt := len(dst)
	dst = append(dst, 0)
	dst = binary.AppendUvarint(dst, uint64(len(e.parts)))
	last := uint32(0)
	for _, part := range e.parts {
		dst = binary.AppendUvarint(dst, uint64(part-last))
		last = part
	}
	for _, part := range e.parts {
		dst = binary.AppendUvarint(dst, e.before[part])
	}
	dst, form := ids.Append(&e.enc, dst, e.ids, len(e.parts))
	dst[formAt] = byte(form)
	for _, part := range records {
		e.before[part]++
	}
	for _, part := range e.parts {
		e.local[part] = 0
	}
	return dst
}

var errPage = errors.New("its page is malformed")

// decodePage decodes the page of a block of n records.
func decodePage(page []byte, n uint64, parts int) (*BlockOrigins, error) {
	if len(page) == 0 {
		return nil, errPage
	}
	form, rest := ids.Form(page[0]), page[1:]
	size, ok := ids.Uvarint(&rest)
	if !ok || size == 0 || size > uint64(parts) || size > n {
		return nil, fmt.Errorf("%w: %d parts", errPage, size)
	}
	b := &BlockOrigins{Parts: make([]uint32, size), Before: make([]uint64, size)}
	at := uint64(0)
	for i := range b.Parts {
		delta, ok := ids.Uvarint(&rest)
		if at += delta; !ok || delta > uint64(parts) || at >= uint64(parts) || i > 0 && delta == 0 {
			return nil, fmt.Errorf("%w: its parts are out of order", errPage)
		}
		b.Parts[i] = uint32(at)
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
		return nil, fmt.Errorf("%w: a part without records", errPage)
	}
	return b, nil
}
