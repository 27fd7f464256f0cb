package filter

import (
	"bytes"
	"math/bits"
	"slices"
	"testing"

	"logstow/internal/test/testrand"
)

// Keys are written as their format says, however they are spread: a partition's keys that are close to each other leave
// long runs of zeros before and behind them.
func TestBits(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	for range 2000 {
		var w bitWriter
		var want []byte
		n := 0
		bit := func(v uint32) {
			if n%8 == 0 {
				want = append(want, 0)
			}
			want[n/8] |= byte(v&1) << (n % 8)
			n++
		}
		for range rnd.IntN(5) {
			log := uint(rnd.IntN(17))
			keys := make([]Key, rnd.IntN(400))
			spread := rnd.IntN(33 - int(log))
			base := rnd.Uint32() >> log
			for i := range keys {
				keys[i] = Key(base)
				if rnd.IntN(20) > 0 {
					keys[i] ^= Key(rnd.Uint32() >> log >> spread)
				}
			}
			slices.Sort(keys)
			keys = slices.Compact(keys)
			w.keys(keys, log)
			last := uint32(0)
			for _, k := range keys {
				hi, _ := bits.Mul32(uint32(k)<<log, uint32(len(keys)*Odds))
				for range (hi - last) / 128 {
					bit(0)
				}
				bit(1)
				for i := range 7 {
					bit((hi - last) % 128 >> i)
				}
				last = hi
			}
		}
		if w.flush(); !bytes.Equal(w.out, want) {
			t.Fatalf("%x, want %x", w.out, want)
		}
	}
}
