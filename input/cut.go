package input

// Cut truncates text, the beginning of a message of size bytes, to at most limit bytes including
// the truncation mark at the end. It writes into text. Both limit and the length of text must be at
// least [MinMaxRecord].
func Cut(text []byte, limit int, size int64) []byte {
	return cut(text, min(limit, len(text)), size)
}
