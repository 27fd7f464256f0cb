package fetch

import (
	"context"
	"errors"

	"logstow/query/source"

	"logstow/filter"
)

// tinyBlob is the maximum size of a segment that is read without checking its token filter.
const tinyBlob = 4 << 10

// sliceCost is the cost of a request, as the number of bytes that take as long to read.
const sliceCost = 32 << 10

// filterCopies is the maximum number of copies of a segment whose token filters are read.
const filterCopies = 4

// filterBlocks returns the blocks of a segment that may contain a match according to its token filter. If the filter
// cannot be read, it returns all blocks.
//
// Slices of a filter are read without the footer, which has the filter's hash. One copy of a segment is the original, and the others
// may be by a writer who gave them another filter: blocks count if the filter of any copy has them.
func (f *Fetcher) filterBlocks(ctx context.Context, s *source.Segment) filter.Blocks {
	keys := f.fieldsOf(s).FilterKeys()
	if len(keys) == 0 || s.Size <= tinyBlob {
		return filter.All()
	}
	reads, ok := sliceReads(s, keys)
	if !ok || len(s.Copies) > filterCopies {
		return filter.All()
	}
	var all []filter.Blocks
	for _, one := range append([]*source.Segment{s}, s.Copies...) {
		for _, r := range reads {
			found, err := f.blocksOf(ctx, one, r)
			if err != nil {
				return filter.All()
			}
			all = append(all, found)
		}
	}
	return anyOf(all)
}

// anyOf returns the blocks that one of several filters has; there is at least one.
func anyOf(all []filter.Blocks) filter.Blocks {
	blocks := all[0]
	for _, other := range all[1:] {
		blocks = blocks.Or(other)
	}
	return blocks
}

// sliceRead is a read of consecutive slices of a token filter.
type sliceRead struct {
	offset, length int64          // offset of the first slice, length of each
	keys           [][]filter.Key // to look up in each slice
}

// size is the number of bytes to read.
func (r *sliceRead) size() int64 { return int64(len(r.keys)) * r.length }

// sliceReads plans the reads of the slices for keys, which are ascending. It is not ok if the segment has no filter, or if
// reading the whole segment is cheaper.
func sliceReads(s *source.Segment, keys []filter.Key) (reads []sliceRead, ok bool) {
	var cost int64
	for _, key := range keys {
		offset, length, ok := filter.Locate(s.Meta.Filter, key)
		if !ok || offset < 0 || offset > s.Size-length { // metadata are untrusted; the sums below must not overflow
			return nil, false
		}
		var r *sliceRead
		if n := len(reads); n > 0 {
			r = &reads[n-1]
		}
		if r == nil || offset-r.offset-r.size() > sliceCost {
			reads = append(reads, sliceRead{offset: offset, length: length})
			r = &reads[len(reads)-1]
			cost += sliceCost
		}
		for r.offset+r.size() <= offset {
			r.keys = append(r.keys, nil)
			cost += length
		}
		last := len(r.keys) - 1
		r.keys[last] = append(r.keys[last], key)
	}
	return reads, cost == sliceCost+reads[0].length || cost <= s.Size
}

// blocksOf reads slices of a segment's token filter and looks up their keys.
func (f *Fetcher) blocksOf(ctx context.Context, s *source.Segment, r sliceRead) (filter.Blocks, error) {
	blocks, err := readSlices(ctx, s, r, f.read)
	if errors.Is(err, filter.ErrDamaged) && ctx.Err() == nil { // the cached bytes, or those of one response, may be damaged
		blocks, err = readSlices(ctx, s, r, f.readStored)
	}
	if errors.Is(err, filter.ErrDamaged) {
		f.Recorder.Note("%s: %v; all its blocks are searched", s, err)
	}
	return blocks, err
}

func readSlices(ctx context.Context, s *source.Segment, r sliceRead, from rangeReader) (blocks filter.Blocks, err error) {
	stored, err := from(ctx, s, r.offset, r.size())
	if err != nil {
		return blocks, err
	}
	var all []filter.Blocks
	for i, keys := range r.keys {
		if len(keys) == 0 {
			continue
		}
		slice, err := filter.ParseSlice(stored[int64(i)*r.length:][:r.length])
		if err != nil {
			return blocks, err
		}
		all = append(all, slice.Blocks(keys...))
	}
	return anyOf(all), nil
}
