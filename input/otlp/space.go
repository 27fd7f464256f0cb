package otlp

import (
	"fmt"

	"logstow/input"
	"logstow/input/httpserver"
)

const (
	// minPiece and maxPiece are the sizes of the first and the largest piece of memory into which texts are copied; longer texts
	// get their own piece.
	minPiece, maxPiece = 4 << 10, 1 << 20
)

// space keeps the texts of the records of a request: attributes, and messages that are not in the request. Its memory is charged to a
// lease before it is allocated, and bounded by limit: escapes and repeated resources can make a small request large.
type space struct {
	lease *httpserver.Lease
	// limit is the maximum size of all texts, size that of those kept.
	limit, size int
	// piece is the current piece.
	piece []byte
}

// keep returns a copy of a text.
func (s *space) keep(text []byte) ([]byte, error) {
	if len(text) > s.limit-s.size {
		return nil, fmt.Errorf("%w: with attributes, the records have more than %d bytes", input.ErrTooLarge, s.limit)
	}
	if len(text) > cap(s.piece)-len(s.piece) {
		size := max(min(2*cap(s.piece), maxPiece), len(text), minPiece)
		if err := s.lease.Take(int64(size)); err != nil {
			return nil, err
		}
		s.piece = make([]byte, 0, size)
	}
	at := len(s.piece)
	s.piece = append(s.piece, text...)
	s.size += len(text)
	return s.piece[at:len(s.piece):len(s.piece)], nil
}
