package recognize

import (
	"bytes"

	"logstow/internal/ansi"
)

// maxStart is how many bytes of a line [Recognizer.HasTime] examines.
const maxStart = 512

// HasTime reports whether a line has a time of its own, at its beginning or where the rules find it. It does not retain
// the line, and does not change what [Recognizer.Stamp] returns.
func (r *Recognizer) HasTime(line []byte) bool {
	line = line[:min(len(line), maxStart)]
	if bytes.IndexByte(line, ansi.Escape) >= 0 {
		r.plain = ansi.Strip(r.plain[:0], line)
		line = r.plain
	}
	known := r.minute.known
	f := finding{minute: &r.minute, shape: &r.shape}
	r.readLine(&f, line)
	r.minute.known = known
	if r.rules != nil && !f.found {
		_, f.found = r.rules.moment(&f, line)
	}
	return f.found
}
