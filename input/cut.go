package input

import "bytes"

// Cut truncates text, the beginning of a message of size bytes, to at most limit bytes including
// the truncation mark at the end. It writes into text. Both limit and the length of text must be at
// least [MinMaxRecord].
func Cut(text []byte, limit int, size int64) []byte {
	return cut(text, min(limit, len(text)), size)
}

// TrimNewline is a line without one newline at its end, LF or CR LF.
func TrimNewline(line []byte) []byte {
	if rest, ok := bytes.CutSuffix(line, []byte("\n")); ok {
		return bytes.TrimSuffix(rest, []byte("\r"))
	}
	return line
}
