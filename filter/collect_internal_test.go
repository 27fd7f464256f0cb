package filter

import (
	"bytes"
	"slices"
	"testing"

	"logstow/filter/token"
	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
)

// The keys of a text are exactly those of the tokens of its messages, wherever these are in the words of the mask,
// at its beginning and end, and with any bytes between them.
func TestCollectKeys(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	parts := [][]byte{
		{' '},
		{'.'},
		{':'},
		{'\\'},
		[]byte(`\n`), []byte(`\u003c`), []byte(`\u00e9`), []byte("\x1b[31m"), []byte(`\u001b[m`), []byte("\x1b"),
		{'\n'},
		{0},
		{0x80},
		{'_'},
		{'7'},
		[]byte("ab"), []byte("12"),
		[]byte("255"), []byte("abcde"), []byte("ABCDEF"), []byte("1234567"), []byte("12345678"), []byte("0123456789abcdef"), []byte("10.20.30.40"),
		[]byte("00:1a:2b:3c:4d:5e"), bytes.Repeat([]byte("x"), 17), bytes.Repeat([]byte("y"), 64), bytes.Repeat([]byte("z"), 200),
		bytes.Repeat([]byte("run123 "), 100), bytes.Repeat([]byte{' '}, 300),
	}
	randomText := func() (b []byte) {
		for range rnd.IntN(40) {
			if rnd.IntN(4) > 0 {
				b = append(b, parts[rnd.IntN(len(parts))]...)
				continue
			}
			for range rnd.IntN(20) {
				b = append(b, byte(rnd.Uint32()))
			}
		}
		return b
	}
	var c Collector
	for range (effort.Cases{Test: 5000, Full: 20_000}).N() {
		var text []byte
		var hidden [][2]int
		var want []Key
		for i := range rnd.IntN(6) {
			if rnd.IntN(4) > 0 || i > 0 {
				from := len(text)
				text = append(append(append(text, '\n'), randomText()...), '\t')
				hidden = append(hidden, [2]int{from, len(text)})
			}
			message := randomText()
			text = append(text, message...)
			for start, end := range token.Indexed(message) {
				want = append(want, KeyOf(message[start:end]))
			}
		}
		slices.Sort(want)
		want = slices.Compact(want)
		set := c.Collect(slices.Clip(text), func(yield func(int, int) bool) {
			for _, h := range hidden {
				if !yield(h[0], h[1]) {
					return
				}
			}
		})
		if !set.anyToken && !slices.Equal(set.keys, want) {
			t.Fatalf("%x, want %x, of %q without %v", set.keys, want, text, hidden)
		}
	}
}
