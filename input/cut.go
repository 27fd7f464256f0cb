package input

import (
	"bytes"

	"logstow/segment"
)

// Cut truncates text, the beginning of a message of size bytes, to at most limit bytes including
// the truncation mark at the end. It writes into text. Both limit and the length of text must be at
// least [MinMaxRecord].
func Cut(text []byte, limit int, size int64) []byte {
	return cut(text, min(limit, len(text)), size)
}

// maxText is the maximum size in bytes of a message's text in a segment, where a newline takes two bytes. A block
// holds at most [segment.MaxBlockRaw] bytes, including source and time.
const maxText = segment.MaxBlockRaw - 4<<10

// truncate returns a message of at most limit bytes whose text fits into a block. If the message is too large,
// it returns a truncated copy with the truncation mark.
func truncate(message []byte, limit int) (text []byte, truncated bool) {
	text = message[:min(len(message), limit)]
	if len(text) > maxText/2 && len(text)+bytes.Count(text, []byte{'\n'}) > maxText {
		text = text[:maxText/2]
	}
	if len(text) == len(message) {
		return message, false
	}
	return cut(bytes.Clone(text), len(text), int64(len(message))), true
}
