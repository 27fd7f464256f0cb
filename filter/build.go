package filter

import (
	"encoding/binary"
	"hash/crc32"
	"math/bits"
	"slices"
)

const (
	// Odds is the number of values per key: the probability of a false positive is 1 in Odds per block and lookup.
	Odds = 224
	// sliceBytes is the target length of slices: all are padded to the longest, which exceeds it only slightly at this
	// size. blockBytes is the minimum length of a slice per block.
	sliceBytes, blockBytes = 8 << 10, 32
	// crcBytes is the length of the checksum that ends a slice.
	crcBytes = 4
	// MaxPartitions is the maximum number of partitions of a filter, a power of two.
	MaxPartitions = 1 << 16
	// MaxSlice is the maximum length of a slice in bytes.
	MaxSlice = 4 << 20
)

// A Builder encodes the filter of a segment. The zero value is ready to use. It keeps four bytes
// per key. Not safe for concurrent use.
type Builder struct {
	sets []Set
	keys int
}

// Add adds the tokens of the next block.
func (b *Builder) Add(s Set) {
	b.sets = append(b.sets, s)
	b.keys += s.Len()
}

// Size is the approximate size of the filter in bytes.
func (b *Builder) Size() int64 { return int64(b.keys)*10/8 + int64(len(b.sets))*2 + 16 }

// Append appends the slices of the filter to dst, one after the other, and returns their number and the length of each in
// bytes. The result is deterministic. If the sets are too large for a filter, nothing is appended and partitions is 0.
func (b *Builder) Append(dst []byte) (out []byte, partitions, sliceLength int64) {
	log := b.partitionBits()
	w := bitWriter{out: make([]byte, 0, b.Size())}
	ends := make([]int, 1<<log)
	rest, counts := make([][]Key, len(b.sets)), make([]int, len(b.sets))
	for i, s := range b.sets {
		rest[i] = s.keys
	}
	longest, from := 0, 0
	for p := range ends {
		for i, keys := range rest {
			counts[i] = countFirst(keys, log, p)
		}
		w.out = b.appendHead(w.out, log, p, counts)
		for i, n := range counts {
			w.keys(rest[i][:n], log)
			rest[i] = rest[i][n:]
		}
		w.flush()
		ends[p] = len(w.out)
		longest, from = max(longest, ends[p]-from), ends[p]
	}
	if longest+crcBytes > MaxSlice {
		return dst, 0, 0
	}
	dst = slices.Grow(dst, len(ends)*(longest+crcBytes))
	from = 0
	for _, end := range ends {
		at := len(dst)
		dst = append(dst, w.out[from:end]...)
		dst = append(dst, make([]byte, longest-(end-from))...)
		dst = binary.LittleEndian.AppendUint32(dst, checksum(dst[at:]))
		from = end
	}
	return dst, int64(len(ends)), int64(longest + crcBytes)
}

// partitionBits is the binary logarithm of the number of partitions.
func (b *Builder) partitionBits() uint {
	most := max(sliceBytes, int64(blockBytes*len(b.sets)))
	n := uint64((b.Size() + most - 1) / most)
	return min(uint(bits.Len64(n-1)), uint(bits.Len(MaxPartitions-1)))
}

// appendHead appends the head of a slice: its number, and the number of keys of each block in it.
func (b *Builder) appendHead(dst []byte, log uint, partition int, counts []int) []byte {
	dst = append(dst, byte(log))
	dst = binary.AppendUvarint(dst, uint64(partition))
	dst = binary.AppendUvarint(dst, uint64(len(b.sets)))
	for i, s := range b.sets {
		n := uint64(0)
		if !s.anyToken {
			n = 1 + uint64(counts[i])
		}
		dst = binary.AppendUvarint(dst, n)
	}
	return dst
}

// countFirst is countIn by linear search, for partitions of few keys.
func countFirst(keys []Key, log uint, partition int) int {
	behind := uint64(partition+1) << (32 - log)
	for i, k := range keys {
		if uint64(k) >= behind {
			return i
		}
	}
	return len(keys)
}

// countIn returns the number of keys in a partition; the keys are sorted and none is of an earlier partition.
func countIn(keys []Key, log uint, partition int) int {
	n, _ := slices.BinarySearchFunc(keys, partition+1, func(k Key, p int) int {
		return partitionOf(k, log) - p
	})
	return n
}

// partitionOf returns the partition of a key, by its highest log bits.
func partitionOf(k Key, log uint) int { return int(k >> (32 - log)) }

// valueOf scales a key to the range of values of a block that has n keys in the partition.
func valueOf(k Key, log uint, n int) uint32 {
	return uint32(uint64(k<<log) * uint64(n*Odds) >> 32)
}

func checksum(b []byte) uint32 {
	return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))
}
