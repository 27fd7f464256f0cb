package fetch

import (
	"context"
	"errors"

	"logstow/query/source"

	"logstow/filter"
)

// tinyBlob is the size up to which a segment is read as a whole, without a look at its token
// filter.
const tinyBlob = 4 << 10

// sliceCost is the number of bytes that cost as much to read as another request.
const sliceCost = 32 << 10

// filterBlocks are the blocks of a segment that may contain a match, by its token filter. If the
// filter cannot be read, they are all blocks.
func (f *Fetcher) filterBlocks(ctx context.Context, s *source.Segment) filter.Blocks {
	keys := f.fieldsOf(s).FilterKeys()
	if len(keys) == 0 || s.Size <= tinyBlob {
		return filter.All()
	}
	places := make(map[int64][]filter.Key) // by the offset of their slice
	var length int64
	for _, key := range keys {
		offset, n, ok := filter.Locate(s.Meta.Filter, key)
		if !ok {
			return filter.All()
		}
		places[offset], length = append(places[offset], key), n
	}
	if n := int64(len(places)); n > 1 && n*(length+sliceCost) > s.Size {
		return filter.All() // reading the segment costs no more
	}
	var blocks filter.Blocks
	first := true
	for offset, keys := range places {
		slice, err := f.slice(ctx, s, offset, length)
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
func (f *Fetcher) slice(ctx context.Context, s *source.Segment, offset, length int64) (*filter.Slice, error) {
	slice, err := readSlice(ctx, s, offset, length, f.read)
	if s.Cache != nil && errors.Is(err, filter.ErrDamaged) { // what is cached may be damaged
		slice, err = readSlice(ctx, s, offset, length, f.readStored)
	}
	if errors.Is(err, filter.ErrDamaged) {
		f.Recorder.Note("%s: %v; all its blocks are searched", s, err)
	}
	return slice, err
}

func readSlice(ctx context.Context, s *source.Segment, offset, length int64, from rangeReader) (*filter.Slice, error) {
	stored, err := from(ctx, s, offset, length)
	if err != nil {
		return nil, err
	}
	return filter.ParseSlice(stored)
}
