package forward

import (
	"errors"
	"fmt"
)

const (
	// maxMessage is the longest message, and the longest event, in bytes of msgpack.
	maxMessage = 16 << 20
	// maxDepth is how deep values may be nested.
	maxDepth = 64
)

var (
	// errMalformed reports invalid msgpack, or a protocol error.
	errMalformed = errors.New("not a Fluent Forward message")
	// errTooLong reports a value over a limit.
	errTooLong = errors.New("message too long")
)

// scanner finds the end of a msgpack value that is read incrementally. It tracks lengths only, and reads
// each byte of a head once. The zero value is at the start of a value.
type scanner struct {
	// pos is the offset up to which the value was scanned. It may be beyond the data read so far.
	pos int
	// open are the remaining values of each array or map around pos.
	open  [maxDepth]int
	depth int
	ended bool
}

// next returns the size of the value at the start of b. If it is 0, b is incomplete, and next must be called
// again with more data. After a size or an error, the next call starts with a new value.
func (s *scanner) next(b []byte, limit int) (int, error) {
	size, err := s.scan(b, limit)
	if size > 0 || err != nil {
		*s = scanner{}
	}
	return size, err
}

func (s *scanner) scan(b []byte, limit int) (int, error) {
	for !s.ended {
		if s.pos >= len(b) {
			return 0, nil
		}
		h, ok := readHead(b[s.pos:])
		switch {
		case !ok:
			return 0, errMalformed
		case h.size == 0:
			return 0, nil
		}
		s.pos += h.size
		left := uint64(max(0, limit-s.pos))
		inside := 0
		switch h.kind {
		case kindText, kindExt:
			if h.n <= left {
				s.pos += int(h.n)
			}
		case kindArray:
			inside = int(min(h.n, left))
		case kindMap:
			h.n *= 2
			inside = int(min(h.n, left))
		default:
			h.n = 0
		}
		if s.pos > limit || h.n > left {
			return 0, fmt.Errorf("%w: the limit is %d bytes", errTooLong, limit)
		}
		if err := s.enter(inside); err != nil {
			return 0, err
		}
	}
	if s.pos > len(b) {
		return 0, nil
	}
	return s.pos, nil
}

// enter enters an array or a map of that many values, or moves to the next value.
func (s *scanner) enter(inside int) error {
	if inside > 0 {
		if s.depth == maxDepth {
			return fmt.Errorf("%w: values are nested more than %d deep", errMalformed, maxDepth)
		}
		s.open[s.depth] = inside
		s.depth++
		return nil
	}
	for s.depth > 0 {
		if s.open[s.depth-1]--; s.open[s.depth-1] > 0 {
			return nil
		}
		s.depth--
	}
	s.ended = true
	return nil
}
