package query

import (
	"bytes"
	"context"
	"errors"

	"logstow/filter"
	"logstow/token"
)

// tinyBlob is the size up to which a segment is read as a whole at once, its
// token filter unasked.
const tinyBlob = 4 << 10

// A needle is the token that says most of those which every match holds: the
// token filters of segments are asked for it.
type needle struct {
	key   filter.Key // 0 is none
	score int
}

// consider takes the tokens that every message holds which a text is in: as a
// whole or anywhere. The longest says most, and with a digit more than any without.
func (n *needle) consider(text []byte, whole bool) {
	const digit = 1 << 20
	for start, end := range token.Required(text, whole) {
		score := end - start
		if bytes.ContainsAny(text[start:end], "0123456789") {
			score += digit
		}
		if score > n.score {
			n.key, n.score = filter.KeyOf(text[start:end]), score
		}
	}
}

// considerField is consider for a text that a message holds in one of its fields:
// it may be there with \u escapes, of which the filter knows those of ASCII.
func (n *needle) considerField(text string, whole bool) {
	if bytes.IndexFunc([]byte(text), func(r rune) bool { return r >= 0x80 }) < 0 {
		n.consider([]byte(text), whole)
	}
}

// lookup asks a segment's token filter which of its blocks may hold a match.
// What keeps it from an answer is met again with the footer, or costs time only.
func (q *Query) lookup(ctx context.Context, s *Segment) filter.Blocks {
	key := q.matcher.needle.key
	offset, length, ok := filter.Locate(s.Meta.Filter, key)
	if key == 0 || !ok || s.Size <= tinyBlob {
		return filter.All()
	}
	slice, err := readSlice(ctx, s, offset, length, q.read)
	if s.cache != nil && errors.Is(err, filter.ErrDamaged) { // what is kept may be
		slice, err = readSlice(ctx, s, offset, length, q.readStored)
	}
	if errors.Is(err, filter.ErrDamaged) {
		q.tally.note("%s: %v; all its blocks are searched", s, err)
	}
	if err != nil {
		return filter.All()
	}
	return slice.Blocks(key)
}

func readSlice(ctx context.Context, s *Segment, offset, length int64, from reader) (*filter.Slice, error) {
	stored, err := from(ctx, s, offset, length)
	if err != nil {
		return nil, err
	}
	return filter.ParseSlice(stored)
}
