// Package sketch estimates quantiles of many numbers.
package sketch

import (
	"encoding/binary"
	"math"

	"logstow/internal/wire"

	"github.com/DataDog/sketches-go/ddsketch/mapping"
	"github.com/DataDog/sketches-go/ddsketch/store"
)

// Sketch is a DDSketch: the number of values by the logarithm of their magnitude. Bins are never collapsed, because the exponents of
// float64 bound their number, so the content does not depend on the order of the values. Make it with [New]. Not safe for concurrent use.
type Sketch struct {
	mapping            *mapping.LogarithmicMapping
	positive, negative bins
	zeros              uint64
}

// bins are the values of one sign.
type bins struct {
	*store.DenseStore
	low, high int // the range of the bins
}

const (
	// Accuracy is the maximum relative error of an estimate, less than the 1% that is documented.
	Accuracy = 0.0099
	// Overhead is the approximate memory of an empty sketch in bytes.
	Overhead = 512
	// maxBin exceeds the index of the bin of every number.
	maxBin = 40_000
	// binSize is the approximate memory of a bin in bytes.
	binSize = 10
)

// New makes an empty sketch.
func New() *Sketch {
	m, _ := mapping.NewLogarithmicMapping(Accuracy) // the accuracy is valid
	none := func() bins { return bins{store.NewDenseStore(), math.MaxInt, math.MinInt} }
	return &Sketch{mapping: m, positive: none(), negative: none()}
}

// Add adds a value, which must be finite. It returns the growth in memory in bytes.
func (s *Sketch) Add(x float64) int64 {
	switch {
	case x > 0:
		return s.positive.add(s.mapping.Index(x), 1)
	case x < 0:
		return s.negative.add(s.mapping.Index(-x), 1)
	}
	s.zeros++
	return 0
}

func (b *bins) add(bin int, count uint64) (grown int64) {
	if bin < b.low || bin > b.high {
		before := b.high - b.low + 1
		if b.low > b.high {
			before = 0
		}
		b.low, b.high = min(b.low, bin), max(b.high, bin)
		grown = binSize * int64(b.high-b.low+1-before)
	}
	b.AddWithCount(bin, float64(count))
	return grown
}

func (b *bins) count() uint64 { return uint64(b.TotalCount()) }

// Count is the number of values.
func (s *Sketch) Count() uint64 { return s.negative.count() + s.zeros + s.positive.count() }

// Rank returns an estimate of the value with a rank, from 1 to Count.
func (s *Sketch) Rank(number uint64) float64 {
	negative := s.negative.count()
	switch {
	case number <= negative:
		return -s.mapping.Value(s.negative.KeyAtRank(float64(negative - number)))
	case number <= negative+s.zeros:
		return 0
	}
	return s.mapping.Value(s.positive.KeyAtRank(float64(number - negative - s.zeros - 1)))
}

// Encode appends the sketch: the number of zeros (uvarint), then for positive and for negative values the number of bins
// (uvarint) and per bin its index (varint) and its number of values (uvarint).
func (s *Sketch) Encode(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, s.zeros)
	for _, b := range [...]bins{s.positive, s.negative} {
		n := uint64(0)
		b.ForEach(func(int, float64) bool { n++; return false })
		dst = binary.AppendUvarint(dst, n)
		b.ForEach(func(bin int, count float64) bool {
			dst = binary.AppendVarint(dst, int64(bin))
			dst = binary.AppendUvarint(dst, uint64(count))
			return false
		})
	}
	return dst
}

// Decode adds the values of a sketch as Encode wrote it. It returns the growth in memory in bytes.
func (s *Sketch) Decode(r *wire.Reader) (grown int64) {
	s.zeros += r.Uvarint()
	for _, b := range [...]*bins{&s.positive, &s.negative} {
		for n := r.Uvarint(); n > 0 && !r.Bad; n-- {
			bin, count := r.Varint(), r.Uvarint()
			if bin < -maxBin || bin > maxBin || count == 0 || count > 1<<53 {
				r.Fail()
				return grown
			}
			grown += b.add(int(bin), count)
		}
	}
	return grown
}

// Merge adds the values of another sketch, which does not change. It returns the growth in memory in bytes.
func (s *Sketch) Merge(o *Sketch) (grown int64) {
	s.zeros += o.zeros
	for _, pair := range [...]struct{ into, from *bins }{{&s.positive, &o.positive}, {&s.negative, &o.negative}} {
		pair.from.ForEach(func(bin int, count float64) bool {
			grown += pair.into.add(bin, uint64(count))
			return false
		})
	}
	return grown
}
