package input

import (
	"encoding/binary"
	"errors"

	"logstow/field/parse"
	"logstow/input/container"
)

// resumeState is what an earlier run flushed of the lines behind the offset at which reading
// resumes. With several interleaved streams, one may hold a line while later lines of another were
// already flushed.
type resumeState struct {
	// done is the end of what the earlier run handled.
	done int64
	// from is for each stream the offset before which its lines were flushed: done, or less if it
	// held lines.
	from [maxStreams]int64
	// state is that of each stream's joiner at from.
	state [maxStreams]byte
	// format is the detected format; while it is Auto, tried is how many lines were examined.
	format container.Format
	tried  uint8
	// parser is that of the lines from done on, if a W3C directive determined it; otherwise nil.
	parser *parse.Parser
}

// has reports whether a stream's line at an offset was already flushed.
func (b *resumeState) has(id container.Stream, offset int64) bool { return offset < b.from[id] }

// Point is where reading would resume if everything flushed so far is kept and held lines are lost.
func (s *Source) Point() Point {
	b := resumeState{done: s.offset, format: s.format, parser: s.parser}
	if s.format == container.Auto {
		b.tried = s.tried
	}
	if s.resume != nil {
		b.done = max(b.done, s.resume.done)
	}
	at := b.done
	for id, st := range s.streams {
		b.from[id] = b.done
		held := false
		if st != nil {
			b.from[id], b.state[id], held = st.held()
		}
		if !held {
			b.from[id], b.state[id] = s.resumeOffset(container.Stream(id), b.done)
		}
		at = min(at, b.from[id])
	}
	return Point{Offset: at, Held: b.encode(at, s.feed.opts.Lines.Format)}
}

// resumeOffset is the first offset that was not flushed of a stream that holds nothing: done, or
// less if an earlier run's lines are still to be read again.
func (s *Source) resumeOffset(id container.Stream, done int64) (from int64, state byte) {
	switch {
	case s.resume == nil || s.resume.from[id] >= s.resume.done || s.offset >= s.resume.done:
		return done, 0
	case s.streams[id] == nil:
		return max(s.resume.from[id], s.offset), s.resume.state[id]
	}
	return max(s.resume.from[id], s.offset), 0
}

// The first byte of an encoded Held.
const (
	heldVersion = 1
	// heldParser is in front of one with a parser: the length of the parser as it is stored and itself follow,
	// and then the rest, which may be empty.
	heldParser = 2
)

// encode is what encodeLines returns, behind a parser if there is one.
func (b *resumeState) encode(at int64, configured container.Format) []byte {
	lines := b.encodeLines(at, configured)
	if b.parser == nil {
		return lines
	}
	stored := b.parser.Stored()
	out := binary.AppendUvarint([]byte{heldParser}, uint64(len(stored)))
	return append(append(out, stored...), lines...)
}

// encodeLines is the version, the format with its detection state, and if lines are held how far done is
// behind the offset, followed by each stream that holds lines: its number, how far from is behind
// the offset, and its state. If nothing is held and the format is as configured, it is empty.
func (b *resumeState) encodeLines(at int64, configured container.Format) []byte {
	if at == b.done && b.format == configured && b.tried == 0 {
		return nil
	}
	out := append(make([]byte, 0, 32), heldVersion, byte(b.format)|b.tried<<2)
	if at == b.done {
		return out
	}
	out = binary.AppendUvarint(out, uint64(b.done-at))
	for id, from := range b.from {
		if from < b.done {
			out = append(out, byte(id))
			out = binary.AppendUvarint(out, uint64(from-at))
			out = append(out, b.state[id])
		}
	}
	return out
}

var errHeld = errors.New("invalid encoding")

// decodeHeld decodes the output of encode.
func decodeHeld(at Point) (resumeState, error) {
	b := resumeState{done: at.Offset}
	rest := at.Held
	if len(rest) > 0 && rest[0] == heldParser {
		n, size := binary.Uvarint(rest[1:])
		if size <= 0 || n > uint64(len(rest)-1-size) {
			return resumeState{}, errHeld
		}
		var err error
		stored := rest[1+size:][:n]
		if b.parser, err = parse.CompileStored(string(stored)); err != nil || b.parser.Stored() != string(stored) {
			return resumeState{}, errHeld
		}
		rest = rest[1+size+int(n):]
	}
	if len(rest) == 0 {
		return b, nil
	}
	if len(rest) < 2 || rest[0] != heldVersion {
		return resumeState{}, errHeld
	}
	b.format, b.tried, rest = container.Format(rest[1]&3), rest[1]>>2, rest[2:]
	if b.tried >= detectLines || b.tried > 0 && b.format != container.Auto {
		return resumeState{}, errHeld
	}
	if len(rest) == 0 {
		return b, nil
	}
	var ok bool
	if b.done, rest, ok = decodeDistance(at.Offset, rest); !ok || b.done == at.Offset {
		return resumeState{}, errHeld
	}
	b.from = [maxStreams]int64{b.done, b.done, b.done}
	for len(rest) > 0 {
		id := rest[0]
		if id >= maxStreams || b.from[id] != b.done {
			return resumeState{}, errHeld
		}
		if b.from[id], rest, ok = decodeDistance(at.Offset, rest[1:]); !ok || b.from[id] >= b.done || len(rest) == 0 {
			return resumeState{}, errHeld
		}
		b.state[id], rest = rest[0], rest[1:]
	}
	return b, nil
}

// decodeDistance decodes an offset that is encoded as a distance.
func decodeDistance(offset int64, b []byte) (int64, []byte, bool) {
	n, size := binary.Uvarint(b)
	if size <= 0 || offset < 0 || n > uint64(1<<62) || offset > 1<<62 {
		return 0, nil, false
	}
	return offset + int64(n), b[size:], true
}
