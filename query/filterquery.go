package query

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"logstow/filter"
	"logstow/token"
	"logstow/where"
)

// tinyBlob is the size up to which a segment is read as a whole at once, its
// token filter unasked.
const tinyBlob = 4 << 10

// sliceCost is the number of bytes that may as well be read as another request for a
// slice be made.
const sliceCost = 32 << 10

// filterQuery is what the token filters of segments are asked for: tokens of which every
// match holds one at least, those that say most of all such tokens.
type filterQuery struct {
	keys  []filter.Key // none where there is nothing to ask for
	score int
}

// filterText is a text that a message holds: as a whole or anywhere.
type filterText struct {
	text  []byte
	whole bool
}

// consider takes the tokens of texts of which every match holds one at least: of each
// text the one that says most. Of several such groups that one is taken whose least
// telling token says most.
func (n *filterQuery) consider(texts ...filterText) {
	group := filterQuery{score: math.MaxInt}
	for _, t := range texts {
		key, score := bestToken(t)
		if score == 0 {
			return
		}
		group.score = min(group.score, score)
		if !slices.Contains(group.keys, key) {
			group.keys = append(group.keys, key)
		}
	}
	if better := group.score > n.score || group.score == n.score && len(group.keys) < len(n.keys); better && len(texts) > 0 {
		*n = group
	}
}

// bestToken is the token that every message holds which a text is in, and how much it
// says: the longest says most, and with a digit more than any without. 0 is none.
func bestToken(t filterText) (key filter.Key, score int) {
	const digit = 1 << 20
	for start, end := range token.Required(t.text, t.whole) {
		says := end - start
		if bytes.ContainsAny(t.text[start:end], "0123456789") {
			says += digit
		}
		if says > score {
			key, score = filter.KeyOf(t.text[start:end]), says
		}
	}
	return key, score
}

// considerFields is consider for texts that a message holds in its fields: they may be
// there with \u escapes, of which the filter knows those of ASCII.
func (n *filterQuery) considerFields(group []where.Text) {
	texts := make([]filterText, len(group))
	for i, t := range group {
		if strings.IndexFunc(t.Value, func(r rune) bool { return r >= 0x80 }) >= 0 {
			return
		}
		texts[i] = filterText{[]byte(t.Value), t.Whole}
	}
	n.consider(texts...)
}

// filterBlocks asks a segment's token filter which of its blocks may hold a match.
// What keeps it from an answer is met again with the footer, or costs time only.
func (q *Query) filterBlocks(ctx context.Context, s *Segment) filter.Blocks {
	keys := q.matcher.filter.keys
	if len(keys) == 0 || s.Size <= tinyBlob {
		return filter.All()
	}
	places := make(map[int64][]filter.Key) // by the place of their slice
	var length int64
	for _, key := range keys {
		offset, n, ok := filter.Locate(s.Meta.Filter, key)
		if !ok {
			return filter.All()
		}
		places[offset], length = append(places[offset], key), n
	}
	if n := int64(len(places)); n > 1 && n*(length+sliceCost) > s.Size {
		return filter.All() // the segment is as soon read
	}
	var blocks filter.Blocks
	first := true
	for offset, keys := range places {
		slice, err := q.slice(ctx, s, offset, length)
		if err != nil {
			return filter.All()
		}
		for _, key := range keys {
			if found := slice.Blocks(key); first {
				blocks, first = found, false
			} else {
				blocks = blocks.Or(found)
			}
		}
	}
	return blocks
}

// slice reads a slice of a segment's token filter.
func (q *Query) slice(ctx context.Context, s *Segment, offset, length int64) (*filter.Slice, error) {
	slice, err := readSlice(ctx, s, offset, length, q.read)
	if s.cache != nil && errors.Is(err, filter.ErrDamaged) { // what is kept may be
		slice, err = readSlice(ctx, s, offset, length, q.readStored)
	}
	if errors.Is(err, filter.ErrDamaged) {
		q.tally.note("%s: %v; all its blocks are searched", s, err)
	}
	return slice, err
}

func readSlice(ctx context.Context, s *Segment, offset, length int64, from rangeReader) (*filter.Slice, error) {
	stored, err := from(ctx, s, offset, length)
	if err != nil {
		return nil, err
	}
	return filter.ParseSlice(stored)
}
