package filter

import (
	"testing"

	"logstow/filter/token"
	"logstow/internal/test/testrand"
)

// The mask of every text has the bits that token.IsByte gives, and none behind its end, however a text is divided
// into words.
func TestMask(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	var all []byte // every byte at every place of a word
	for range wordBytes {
		for b := range 256 {
			all = append(all, byte(b))
		}
		all = append(all, 'x')
	}
	texts := [][]byte{nil, all}
	for n := range 5 * wordBytes {
		text := make([]byte, n)
		for i := range text {
			text[i] = byte(rnd.Uint32())
		}
		texts = append(texts, text)
	}
	for _, text := range texts {
		backing := append([]byte("xxx"), text...) // at another alignment
		for _, text := range [][]byte{text, append(backing, "xxx"...)[3 : 3+len(text)]} {
			m := appendMask(nil, text)
			if want := len(text)/wordBytes + 2; len(m) != want || m[want-1] != 0 {
				t.Fatalf("%d bytes: %d words, want %d", len(text), len(m), want)
			}
			for at := range (len(m) - 1) * wordBytes {
				if want := at < len(text) && token.IsByte(text[at]); m.has(at) != want {
					t.Fatalf("%d bytes: byte %d of %q: %v", len(text), at, text, m.has(at))
				}
			}
			for i := range len(text) / wordBytes {
				if want := maskWord((*[wordBytes]byte)(text[i*wordBytes:])); m[i] != want {
					t.Fatalf("word %d is %x, in Go %x", i, m[i], want)
				}
			}
		}
	}
}
