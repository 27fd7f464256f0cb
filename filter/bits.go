package filter

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// riceBits is the Rice parameter: the number of low bits of a difference that are written verbatim. The code is shortest
// for a mean difference of about Odds.
const riceBits = 7

// A bitWriter appends bits to bytes, starting with the lowest bit of each.
type bitWriter struct {
	out []byte
	acc uint64 // bits that are not in out yet
	n   uint   // their number, below 8
}

// keys writes the values of the keys of one block in one partition: their differences in Golomb-Rice code. The high part
// of a difference is written in unary, as zeros and a one, followed by its low bits.
func (w *bitWriter) keys(keys []Key, log uint) {
	// The high parts sum up to at most that of the last value, which is less than 2 per key.
	w.out = slices.Grow(w.out, len(keys)*(riceBits+3)/8+16)
	out, at, acc, n := w.out[:cap(w.out)], len(w.out), w.acc, w.n // locals stay in registers
	last := uint32(0)
	for _, k := range keys {
		v := valueOf(k, log, len(keys))
		d := v - last
		last = v
		high := uint(d >> riceBits)
		for ; high > 32; high -= 32 {
			binary.LittleEndian.PutUint32(out[at:], uint32(acc))
			at, acc = at+4, 0
		}
		acc |= (uint64(d%(1<<riceBits))<<1 | 1) << ((n + high) % 64)
		n += high + 1 + riceBits
		binary.LittleEndian.PutUint64(out[at:at+8:at+8], acc)
		at += int(n / 8)
		acc >>= n &^ 7 % 64
		n %= 8
	}
	w.out, w.acc, w.n = out[:at], acc, n
}

// flush pads the bits with zeros to a whole byte.
func (w *bitWriter) flush() {
	for ; w.n > 0; w.n -= min(w.n, 8) {
		w.out = append(w.out, byte(w.acc))
		w.acc >>= 8
	}
}

// A bitReader reads what a bitWriter wrote.
type bitReader struct {
	in  []byte
	acc uint64
	n   uint
}

// fill reads bytes until there are more than 56 bits, or no bytes left.
func (r *bitReader) fill() {
	if r.n <= 32 && len(r.in) >= 4 {
		r.acc |= uint64(binary.LittleEndian.Uint32(r.in)) << r.n
		r.in = r.in[4:]
		r.n += 32
	}
	for r.n <= 56 && len(r.in) > 0 {
		r.acc |= uint64(r.in[0]) << r.n
		r.in = r.in[1:]
		r.n += 8
	}
}

// difference reads one of the differences that bitWriter.keys wrote. It is not ok if the bits end too early, or the
// difference is limit or more.
func (r *bitReader) difference(limit uint32) (d uint32, ok bool) {
	high := uint64(0)
	for {
		r.fill()
		if r.acc != 0 {
			break
		}
		if high += uint64(r.n); r.n == 0 || high > uint64(limit) {
			return 0, false
		}
		r.n = 0
	}
	zeros := uint(bits.TrailingZeros64(r.acc))
	high += uint64(zeros)
	r.skip(zeros + 1)
	if r.fill(); r.n < riceBits {
		return 0, false
	}
	v := high<<riceBits | r.acc%(1<<riceBits)
	r.skip(riceBits)
	return uint32(v), v < uint64(limit)
}

// skip skips n of the bits in acc.
func (r *bitReader) skip(n uint) {
	r.acc >>= n
	r.n -= n
}
