package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/klauspost/compress/huff0"
)

// The forms of the ids in a page of origins.
const (
	// pagePacked: each id in as many bits as the largest takes, the lowest bit first.
	pagePacked = iota
	// pageHuff0: one byte an id, compressed by huff0 as one stream behind its table.
	pageHuff0
	// pageRuns: pairs of an id and how often it comes again, as unsigned varints.
	pageRuns
)

// maxHuff0 is the number of different ids that huff0 can hold: bytes.
const maxHuff0 = 256

// BlockOrigins says of each record of an output's block which input it is of.
type BlockOrigins struct {
	// Inputs are those that have records in the block, by their index in
	// [Origins.Inputs], ascending.
	Inputs []uint32
	// Before is for each of Inputs the number of its records in earlier blocks.
	Before []uint64
	// IDs has an index into Inputs for each record of the block.
	IDs []uint32
}

// Input is the index in [Origins.Inputs] of the input of a record.
func (b *BlockOrigins) Input(record int) int { return int(b.Inputs[b.IDs[record]]) }

// pageEncoder encodes pages. Not safe for concurrent use.
type pageEncoder struct {
	// before counts the records of each input in the blocks so far.
	before []uint64
	local  []uint32 // by input: one more than its index in the block's dictionary; 0 is none
	inputs []uint32
	ids    []uint32
	bytes  []byte
	huff   huff0.Scratch
}

func newPageEncoder(inputs int) *pageEncoder {
	return &pageEncoder{before: make([]uint64, inputs), local: make([]uint32, inputs), huff: huff0.Scratch{Reuse: huff0.ReusePolicyNone}}
}

// append appends the page of a block whose records are of these inputs.
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
	kindAt := len(dst)
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
	dst, kind := e.appendIDs(dst)
	dst[kindAt] = kind
	for _, input := range origins {
		e.before[input]++
	}
	for _, input := range e.inputs {
		e.local[input] = 0
	}
	return dst
}

// appendIDs appends the ids in the shortest form and returns which that is.
func (e *pageEncoder) appendIDs(dst []byte) ([]byte, byte) {
	width := idWidth(len(e.inputs))
	best := (len(e.ids)*width + 7) / 8
	kind := byte(pagePacked)
	var compressed []byte
	if len(e.inputs) <= maxHuff0 && best > 0 && len(e.ids) <= huff0.BlockSizeMax {
		e.bytes = e.bytes[:0]
		for _, id := range e.ids {
			e.bytes = append(e.bytes, byte(id))
		}
		// What it cannot compress is an error.
		if out, _, err := huff0.Compress1X(e.bytes, &e.huff); err == nil && len(out) < best {
			compressed, best, kind = out, len(out), pageHuff0
		}
	}
	from := len(dst)
	if best > 0 {
		if dst = appendRuns(dst, e.ids, best); len(dst) > from {
			return dst, pageRuns
		}
	}
	if kind == pageHuff0 {
		return append(dst, compressed...), kind
	}
	return appendPacked(dst, e.ids, width), kind
}

// idWidth is the number of bits of an id in a dictionary of n.
func idWidth(n int) int { return bits.Len(uint(n - 1)) }

// appendRuns appends runs of ids if they are shorter than limit; else nothing.
func appendRuns(dst []byte, ids []uint32, limit int) []byte {
	from := len(dst)
	for i := 0; i < len(ids); {
		n := i + 1
		for n < len(ids) && ids[n] == ids[i] {
			n++
		}
		dst = binary.AppendUvarint(dst, uint64(ids[i]))
		dst = binary.AppendUvarint(dst, uint64(n-i-1))
		if len(dst)-from >= limit {
			return dst[:from]
		}
		i = n
	}
	return dst
}

func appendPacked(dst []byte, ids []uint32, width int) []byte {
	var word uint64
	filled := 0
	for _, id := range ids {
		word |= uint64(id) << filled
		for filled += width; filled >= 8; filled -= 8 {
			dst = append(dst, byte(word))
			word >>= 8
		}
	}
	if filled > 0 {
		dst = append(dst, byte(word))
	}
	return dst
}

var errPage = errors.New("its page is malformed")

// decodePage decodes the page of a block of n records, of an output of so many inputs.
func decodePage(page []byte, n uint64, inputs int) (*BlockOrigins, error) {
	if len(page) == 0 {
		return nil, errPage
	}
	kind, rest := page[0], page[1:]
	size, ok := uvarint(&rest)
	if !ok || size == 0 || size > uint64(inputs) || size > n {
		return nil, fmt.Errorf("%w: %d inputs", errPage, size)
	}
	b := &BlockOrigins{Inputs: make([]uint32, size), Before: make([]uint64, size)}
	at := uint64(0)
	for i := range b.Inputs {
		delta, ok := uvarint(&rest)
		if at += delta; !ok || delta > uint64(inputs) || at >= uint64(inputs) || i > 0 && delta == 0 {
			return nil, fmt.Errorf("%w: its inputs are out of order", errPage)
		}
		b.Inputs[i] = uint32(at)
	}
	for i := range b.Before {
		if b.Before[i], ok = uvarint(&rest); !ok {
			return nil, fmt.Errorf("%w: a count is missing", errPage)
		}
	}
	b.IDs = make([]uint32, n)
	if err := decodeIDs(kind, rest, b.IDs, int(size)); err != nil {
		return nil, err
	}
	used := make([]bool, size)
	for _, id := range b.IDs {
		if uint64(id) >= size {
			return nil, fmt.Errorf("%w: id %d of %d", errPage, id, size)
		}
		used[id] = true
	}
	if slices.Contains(used, false) {
		return nil, fmt.Errorf("%w: an input without records", errPage)
	}
	return b, nil
}

// decodeIDs fills ids.
func decodeIDs(kind byte, data []byte, ids []uint32, size int) error {
	switch kind {
	case pagePacked:
		return decodePacked(data, ids, idWidth(size))
	case pageHuff0:
		return decodeHuff0(data, ids, size)
	case pageRuns:
		return decodeRuns(data, ids)
	}
	return fmt.Errorf("%w: form %d is unknown", errPage, kind)
}

func decodePacked(data []byte, ids []uint32, width int) error {
	if len(data) != (len(ids)*width+7)/8 {
		return fmt.Errorf("%w: %d bytes of ids", errPage, len(data))
	}
	var word uint64
	filled := 0
	for i := range ids {
		for ; filled < width; filled += 8 {
			word |= uint64(data[0]) << filled
			data = data[1:]
		}
		ids[i] = uint32(word & (1<<width - 1))
		word >>= width
		filled -= width
	}
	if word != 0 {
		return fmt.Errorf("%w: bits follow the last id", errPage)
	}
	return nil
}

func decodeHuff0(data []byte, ids []uint32, size int) error {
	if size > maxHuff0 || len(ids) > huff0.BlockSizeMax {
		return fmt.Errorf("%w: huff0 of %d ids", errPage, size)
	}
	s := &huff0.Scratch{MaxDecodedSize: len(ids)}
	s, data, err := huff0.ReadTable(data, s)
	if err != nil {
		return fmt.Errorf("%w: %w", errPage, err)
	}
	out, err := s.Decoder().Decompress1X(make([]byte, 0, len(ids)), data)
	if err != nil {
		return fmt.Errorf("%w: %w", errPage, err)
	}
	if len(out) != len(ids) {
		return fmt.Errorf("%w: %d of %d ids", errPage, len(out), len(ids))
	}
	for i, id := range out {
		ids[i] = uint32(id)
	}
	return nil
}

func decodeRuns(data []byte, ids []uint32) error {
	for len(ids) > 0 {
		id, ok := uvarint(&data)
		again, more := uvarint(&data)
		if !ok || !more || id > MaxOrigins || again >= uint64(len(ids)) {
			return fmt.Errorf("%w: a run is missing or too long", errPage)
		}
		for i := range again + 1 {
			ids[i] = uint32(id)
		}
		ids = ids[again+1:]
	}
	if len(data) > 0 {
		return fmt.Errorf("%w: %d bytes follow the last run", errPage, len(data))
	}
	return nil
}

// uvarint takes an unsigned varint off data.
func uvarint(data *[]byte) (uint64, bool) {
	v, n := binary.Uvarint(*data)
	if n <= 0 {
		return 0, false
	}
	*data = (*data)[n:]
	return v, true
}
