//go:build !amd64

package filter

// maskWords sets each word of m to the mask of the next wordBytes bytes of text, which has at least len(m)*wordBytes
// bytes.
func maskWords(m []uint64, text []byte) {
	for i := range m {
		m[i] = maskWord((*[wordBytes]byte)(text[i*wordBytes:]))
	}
}
