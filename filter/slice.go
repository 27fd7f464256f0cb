package filter

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"logstow/blobnaming"
)

// ErrDamaged is returned for bytes that are not a slice of a filter. The caller must then assume that every block may
// contain every token.
var ErrDamaged = errors.New("token filter slice is damaged")

// MaxBlocks is the maximum number of blocks in a filter.
const MaxBlocks = 4096

// Locate returns offset and length in the blob, in bytes, of the slice for a key. It is not ok if this version cannot
// read f.
func Locate(f blobnaming.Filter, k Key) (offset, length int64, ok bool) {
	n := f.Partitions
	if f.Offset <= 0 || n <= 0 || n > MaxPartitions || n&(n-1) != 0 || f.SliceLength <= 0 || f.SliceLength > MaxSlice {
		return 0, 0, false
	}
	p := partitionOf(k, uint(bits.TrailingZeros64(uint64(n))))
	return f.Offset + int64(p)*f.SliceLength, f.SliceLength, true
}

// A Slice is one slice of a filter, decoded. Safe for concurrent use.
type Slice struct {
	log       uint
	partition int
	blocks    []blockValues
}

// blockValues are the values of one block's keys, ascending.
type blockValues struct {
	values []uint32
	// anyToken is set if the block may contain any token.
	anyToken bool
}

// ParseSlice verifies and decodes the bytes of a slice. Damage is [ErrDamaged]. The result takes up to four times the
// memory of stored, plus 24 bytes per block.
func ParseSlice(stored []byte) (*Slice, error) {
	if len(stored) > MaxSlice || len(stored) < crcBytes {
		return nil, damaged("%d bytes, %d to %d allowed", len(stored), crcBytes, MaxSlice)
	}
	body, sum := stored[:len(stored)-crcBytes], binary.LittleEndian.Uint32(stored[len(stored)-crcBytes:])
	if got := checksum(body); got != sum {
		return nil, damaged("checksum is %08x, %08x expected", got, sum)
	}
	s, counts, body, err := parseHead(body)
	if err != nil {
		return nil, err
	}
	if err := s.parseValues(counts, body); err != nil {
		return nil, err
	}
	return s, nil
}

// parseHead reads the head of a slice. For each block, counts has one more than its number of keys, or 0 if it may
// contain any token.
func parseHead(body []byte) (s *Slice, counts []uint64, rest []byte, err error) {
	next := func() uint64 {
		v, n := binary.Uvarint(body)
		if n <= 0 {
			err = damaged("its head is cut short")
			return 0
		}
		body = body[n:]
		return v
	}
	log, partition, blocks := next(), next(), next()
	switch {
	case err != nil:
		return nil, nil, nil, err
	case log > uint64(bits.Len(MaxPartitions-1)) || partition >= 1<<log:
		return nil, nil, nil, damaged("it is number %d of 2^%d", partition, log)
	case blocks > MaxBlocks || blocks > uint64(len(body)):
		return nil, nil, nil, damaged("%d blocks", blocks)
	}
	counts = make([]uint64, blocks)
	total, most := uint64(0), uint64(0)
	for i := range counts {
		counts[i] = next()
		if most = uint64(len(body)) * 8 / (riceBits + 1); counts[i] > most+1 {
			return nil, nil, nil, damaged("block %d has %d keys", i, counts[i])
		}
		total += max(counts[i], 1) - 1
	}
	if err == nil && total > most {
		err = damaged("%d keys in %d bytes", total, len(body))
	}
	return &Slice{log: uint(log), partition: int(partition)}, counts, body, err
}

// parseValues reads the values of all blocks.
func (s *Slice) parseValues(counts []uint64, body []byte) error {
	s.blocks = make([]blockValues, len(counts))
	total := uint64(0)
	for _, n := range counts {
		total += max(n, 1) - 1
	}
	all := make([]uint32, 0, total)
	r := bitReader{in: body}
	for i, n := range counts {
		if n == 0 {
			s.blocks[i].anyToken = true
			continue
		}
		from, last := len(all), uint32(0)
		limit := uint32(n-1) * Odds
		for range n - 1 {
			d, ok := r.difference(limit - last)
			if !ok {
				return damaged("values of block %d", i)
			}
			last += d
			all = append(all, last)
		}
		s.blocks[i].values = all[from:]
	}
	return nil
}

// Check checks that the slice is that of a partition, of a filter with this number of partitions and blocks. Otherwise it
// returns [ErrDamaged].
func (s *Slice) Check(partition, partitions int64, blocks int) error {
	if int64(s.partition) != partition || int64(1)<<s.log != partitions || len(s.blocks) != blocks {
		return damaged("it is number %d of %d for %d blocks, not number %d of %d for %d",
			s.partition, 1<<s.log, len(s.blocks), partition, partitions, blocks)
	}
	return nil
}

// Blocks returns the blocks of the segment that may contain the token of at least one key. The keys must be ascending.
// The result includes every block that the filter does not cover, and all blocks if a key belongs to another slice.
func (s *Slice) Blocks(keys ...Key) Blocks {
	if slices.ContainsFunc(keys, func(k Key) bool { return partitionOf(k, s.log) != s.partition }) {
		return All()
	}
	b := Blocks{known: len(s.blocks), bits: make([]uint64, (len(s.blocks)+63)/64)}
	for i := range s.blocks {
		if s.blocks[i].mayContain(keys, s.log) {
			b.bits[i/64] |= 1 << (i % 64)
		}
	}
	return b
}

// mayContain reports whether the block may contain the token of at least one key. Keys, and therefore their values, are
// ascending.
func (b *blockValues) mayContain(keys []Key, log uint) bool {
	rest := b.values
	for _, k := range keys {
		at, found := slices.BinarySearch(rest, valueOf(k, log, len(b.values)))
		if found {
			return true
		}
		if rest = rest[at:]; len(rest) == 0 {
			break
		}
	}
	return b.anyToken
}

// Holds reports whether the slice has every token of a block that belongs to its partition.
func (s *Slice) Holds(block int, tokens Set) bool {
	if block >= len(s.blocks) || s.blocks[block].anyToken {
		return true
	}
	first, values := countIn(tokens.keys, s.log, s.partition-1), s.blocks[block].values
	here := tokens.keys[first:countIn(tokens.keys, s.log, s.partition)]
	return !tokens.anyToken && !slices.ContainsFunc(here, func(k Key) bool {
		_, found := slices.BinarySearch(values, valueOf(k, s.log, len(values)))
		return !found
	})
}

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}
