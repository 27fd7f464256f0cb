package filter_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"logstow/blobnaming"
	"logstow/filter"
	"logstow/filter/token"
	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
)

// layout is a filter as it is in a blob, from offset 1 on.
type layout struct {
	tb     testing.TB
	bytes  []byte
	place  blobnaming.Filter
	blocks int
}

// lay makes the filter of some blocks.
func lay(tb testing.TB, sets ...filter.Set) *layout {
	tb.Helper()
	var b filter.Builder
	for _, s := range sets {
		b.Add(s)
	}
	out, partitions, length := b.Append(nil)
	if int64(len(out)) != partitions*length {
		tb.Fatalf("%d bytes, %d slices of %d", len(out), partitions, length)
	}
	return &layout{tb: tb, bytes: out, place: blobnaming.Filter{Offset: 1, Partitions: partitions, SliceLength: length}, blocks: len(sets)}
}

// find looks a token up as a query does.
func (l *layout) find(text []byte) filter.Blocks {
	l.tb.Helper()
	key := filter.KeyOf(text)
	offset, length, ok := filter.Locate(l.place, key)
	if !ok {
		l.tb.Fatalf("%+v is no filter", l.place)
	}
	s, err := filter.ParseSlice(l.bytes[offset-1:][:length])
	if err != nil {
		l.tb.Fatal(err)
	}
	if err := s.Check((offset-1)/length, l.place.Partitions, l.blocks); err != nil {
		l.tb.Fatal(err)
	}
	blocks := s.Blocks(key)
	if blocks.Known() != l.blocks {
		l.tb.Fatalf("%d blocks known, %d expected", blocks.Known(), l.blocks)
	}
	return blocks
}

// randomMessage is made of parts that make tokens, and break them.
func randomMessage(rnd *rand.Rand) []byte {
	parts := []string{
		" ", ".", "-", ":", "\\", "\\n", "\\u003c", "\x1b[31m", "\\u001b[1;3m", "\x1b[", "\n", "\t", "é", "\xff", "_", "0", "7", "12", "123", "255", "a", "bc", "DEF",
		"abcdef", "1234567", "00112233", "4455", "6677", "8899", "aabbccddeeff", "de:ad:be:ef:00:01", "10.20.30.40", `","id":"`,
		strings.Repeat("x", 70),
	}
	var b []byte
	for range rnd.IntN(30) {
		b = append(b, parts[rnd.IntN(len(parts))]...)
	}
	return b
}

// A block's filter holds the indexed tokens of its messages, in either case, and no others.
func TestCollectIsIndexed(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	var c filter.Collector
	for range 3000 {
		messages := make([][]byte, 1+rnd.IntN(8))
		for i := range messages {
			messages[i] = randomMessage(rnd)
		}
		b := newBlock(messages...)
		set := c.Collect(b.text, b.hidden())
		want := map[filter.Key]bool{}
		l := lay(t, set)
		for _, m := range messages {
			for start, end := range token.Indexed(m) {
				want[filter.KeyOf(m[start:end])] = true
				if !l.find([]byte(strings.ToUpper(string(m[start:end])))).Has(0) && isASCII(m[start:end]) || !l.find(m[start:end]).Has(0) {
					t.Fatalf("%q of %q is not found", m[start:end], messages)
				}
			}
		}
		if set.Len() != len(want) {
			t.Fatalf("%d keys, %d expected, of %q", set.Len(), len(want), messages)
		}
	}
}

func isASCII(b []byte) bool {
	return strings.IndexFunc(string(b), func(r rune) bool { return r >= 0x80 }) < 0
}

// Where an escape stands for a letter or digit, text and field differ: the block
// may hold anything.
func TestEscapedBytes(t *testing.T) {
	t.Parallel()
	var c filter.Collector
	plain, escaped := newBlock([]byte(`{"id":"\u003c1234567"}`)), newBlock([]byte(`{"id":"\u00311234567"}`))
	l := lay(t, c.Collect(plain.text, plain.hidden()), c.Collect(escaped.text, escaped.hidden()), c.Collect(plain.text, plain.hidden()))
	if got := l.find([]byte("another1")); got.Has(0) || !got.Has(1) || got.Has(2) {
		t.Errorf("%+v", got)
	}
	if got := l.find([]byte("1234567")); !got.Has(0) || !got.Has(1) || !got.Has(2) {
		t.Errorf("%+v", got)
	}
}

// A block of more tokens than a set holds is always searched, the others are not.
func TestTooManyTokens(t *testing.T) {
	t.Parallel()
	var many []byte
	for i := range filter.MaxKeys + filter.MaxKeys/2 {
		many = fmt.Appendf(many, " token%d", i)
	}
	var c filter.Collector
	full, few := newBlock(many), newBlock([]byte("token1"))
	l := lay(t, c.Collect(few.text, few.hidden()), c.Collect(full.text, full.hidden()), c.Collect(few.text, few.hidden()))
	if got := l.find([]byte("another1")); got.Has(0) || !got.Has(1) || got.Has(2) || got.None() {
		t.Errorf("%+v", got)
	}
}

// What is in a block is always found; what is not, once in Odds times, whatever
// the number of blocks and partitions.
func TestBlocks(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "many tokens")
	for _, size := range []struct{ blocks, tokens int }{{1, 1}, {1, 20000}, {3, 9000}, {70, 5000}, {130, 40}} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			var c filter.Collector
			var sets []filter.Set
			name := func(block, i int) []byte {
				return fmt.Appendf(nil, "%012x", uint64(block*1_000_003+i)*0x9e3779b97f4a7c15>>16)
			}
			for b := range size.blocks {
				var m []byte
				for i := range size.tokens {
					m = append(append(m, name(b, i)...), ' ')
				}
				block := newBlock(m)
				sets = append(sets, c.Collect(block.text, block.hidden()))
			}
			l := lay(t, sets...)
			for b := 0; b < size.blocks; b += 1 + size.blocks/8 {
				for i := 0; i < size.tokens; i += 1 + size.tokens/100 {
					if got := l.find(name(b, i)); !got.Has(b) || got.None() {
						t.Fatalf("token %d of block %d is not found", i, b)
					}
				}
			}
			wrong, asked := 0, 0
			for i := range 20000 / size.blocks {
				got := l.find(name(-1, i))
				for b := range size.blocks {
					if got.Has(b) {
						wrong++
					}
				}
				asked += size.blocks
			}
			// 20,000 tries give 89 on average; 4 standard deviations more are 127.
			if share := float64(wrong) / float64(asked); share > 127.0/20000 {
				t.Errorf("%d of %d tokens are found in vain: %.3f%%", wrong, asked, 100*share)
			}
		})
	}
}

// A block without tokens, and a segment of such, have a filter that says so.
func TestNoTokens(t *testing.T) {
	t.Parallel()
	var c filter.Collector
	b := newBlock([]byte("nothing here"), nil)
	l := lay(t, c.Collect(b.text, b.hidden()))
	if got := l.find([]byte("1234567")); !got.None() || got.Has(0) || !got.Has(1) {
		t.Errorf("%+v", got)
	}
	if all := filter.All(); all.None() || !all.Has(0) || all.Known() != 0 {
		t.Error("all is not all")
	}
}

func TestLocate(t *testing.T) {
	t.Parallel()
	for _, f := range []blobnaming.Filter{
		{},
		{Offset: 1, Partitions: 3, SliceLength: 10},
		{Offset: 1, Partitions: 2 * filter.MaxPartitions, SliceLength: 10},
		{Offset: 1, Partitions: 1, SliceLength: filter.MaxSlice + 1},
		{Offset: -1, Partitions: 1, SliceLength: 10},
	} {
		if _, _, ok := filter.Locate(f, 1); ok {
			t.Errorf("%+v is taken for a filter", f)
		}
	}
	offset, length, ok := filter.Locate(blobnaming.Filter{Offset: 100, Partitions: 4, SliceLength: 10}, 0xc0000000)
	if offset != 130 || length != 10 || !ok {
		t.Error(offset, length, ok)
	}
}

// Damage is seen, and a slice says where it belongs.
func TestDamage(t *testing.T) {
	t.Parallel()
	var c filter.Collector
	b := newBlock([]byte("some 1234567 and another abcdef1"))
	l := lay(t, c.Collect(b.text, b.hidden()))
	for i := range l.bytes {
		for bit := range 8 {
			l.bytes[i] ^= 1 << bit
			if _, err := filter.ParseSlice(l.bytes); !errors.Is(err, filter.ErrDamaged) {
				t.Errorf("byte %d, bit %d: %v", i, bit, err)
			}
			l.bytes[i] ^= 1 << bit
		}
	}
	s, err := filter.ParseSlice(l.bytes)
	if err != nil {
		t.Fatal(err)
	}
	for _, wrong := range [][3]int{{1, 1, 1}, {0, 2, 1}, {0, 1, 2}} {
		if err := s.Check(int64(wrong[0]), int64(wrong[1]), wrong[2]); !errors.Is(err, filter.ErrDamaged) {
			t.Errorf("%v: %v", wrong, err)
		}
	}
}
