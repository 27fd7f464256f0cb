package input

import (
	"encoding/binary"
	"errors"

	"logstow/input/container"
	"logstow/internal/wire"
	"logstow/message/parse"
)

// resumeState says which lines behind the offset at which reading resumes were flushed by an earlier
// run. With several interleaved streams, one may hold a line while later lines of another were
// already flushed.
type resumeState struct {
	// done is the offset up to which the earlier run had processed lines.
	done int64
	// from is, for each stream, the offset before which its lines were flushed: done, or less if the
	// stream held lines.
	from [maxStreams]int64
	// state is the state of each stream's joiner at from.
	state [maxStreams]byte
	// format is the detected format. While it is Auto, tried is the number of examined lines.
	format container.Format
	tried  uint8
	// parser is the parser of the lines from done on if a W3C directive determined it; otherwise nil.
	parser *parse.Parser
}

// flushed reports whether a stream's line at an offset was already flushed.
func (b *resumeState) flushed(id container.Stream, offset int64) bool { return offset < b.from[id] }

// Point returns where reading must resume if the process ends now: flushed records are kept, held lines
// are read again.
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
			if b.from[id], b.state[id], held = st.held(); b.from[id] == carried { // it is read again after the former source
				b.from[id], b.state[id] = 0, 0
			}
		}
		if !held {
			b.from[id], b.state[id] = s.resumeOffset(container.Stream(id), b.done)
		}
		at = min(at, b.from[id])
	}
	return Point{Offset: at, Held: b.encode(at, s.feed.opts.Lines.Format)}
}

// resumeOffset returns the first offset that was not flushed of a stream that holds nothing: done, or
// less if lines that an earlier run held are not read again yet. state is the joiner's there.
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
	// heldParser is the first byte if there is a parser. The length of its stored form, the stored form and the
	// output of encodeLines follow, which may be empty.
	heldParser = 2
)

// encode encodes the parser, if there is one, and the output of encodeLines.
func (b *resumeState) encode(at int64, configured container.Format) []byte {
	lines := b.encodeLines(at, configured)
	if b.parser == nil {
		return lines
	}
	stored := b.parser.Stored()
	out := binary.AppendUvarint([]byte{heldParser}, uint64(len(stored)))
	return append(append(out, stored...), lines...)
}

// encodeLines encodes the version, then the format with its detection state. If lines are held, the
// distance from at to done follows, then for each stream that holds lines its number, the distance from
// at to its from, and its state. If nothing is held and the format is the configured one, the result is
// empty.
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
		r := wire.Reader{Rest: rest[1:]}
		stored := string(r.Text())
		var err error
		if b.parser, err = parse.CompileStored(stored); r.Bad || err != nil || b.parser.Stored() != stored {
			return resumeState{}, errHeld
		}
		rest = r.Rest
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

// decodeDistance decodes an offset that is encoded as the distance from another one.
func decodeDistance(offset int64, b []byte) (int64, []byte, bool) {
	n, size := binary.Uvarint(b)
	if size <= 0 || offset < 0 || n > uint64(1<<62) || offset > 1<<62 {
		return 0, nil, false
	}
	return offset + int64(n), b[size:], true
}
