package fetch

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"logstow/query/source"

	"logstow/segment"
	"logstow/store"
)

// SmallBlob is the size up to which a segment of one block is read at once.
const SmallBlob = 256 << 10

// footer reads a segment's footer from the first of its copies that is intact,
// and checks it against the metadata. blob is the whole blob if it was read
// at once; share is the number of stored bytes that may be kept in memory.
func (f *Fetcher) footer(ctx context.Context, s *source.Segment, share int64) (footer *segment.Footer, blob []byte, err error) {
	if s.Foreign {
		footer, err = f.convertForeign(ctx, s)
		return footer, nil, err
	}
	var failures []error
	for _, c := range append([]*source.Segment{s}, s.Copies...) {
		footer, blob, err = f.footerOf(ctx, c, share)
		if err == nil {
			if len(failures) > 0 {
				f.Recorder.Note("%v; its copy %s is read instead", failures[0], c)
			}
			return footer, blob, nil
		}
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		if f.indexed && f.isStale(ctx, c) {
			f.Recorder.Note("%s: %v", c, errStale)
			err = errStale
		} else if c != s {
			err = fmt.Errorf("copy %s: %w", c, err)
		}
		failures = append(failures, err)
	}
	failures = slices.DeleteFunc(failures, func(err error) bool { return errors.Is(err, errStale) })
	if len(failures) == 0 {
		return nil, nil, errStale
	}
	return nil, nil, errors.Join(failures...)
}

// footerOf reads the footer of one copy of a segment.
func (f *Fetcher) footerOf(ctx context.Context, s *source.Segment, share int64) (*segment.Footer, []byte, error) {
	footer, blob, err := readFooter(ctx, s, share, f.read)
	if err != nil && s.Cache != nil && ctx.Err() == nil { // what is cached may be damaged
		footer, blob, err = readFooter(ctx, s, share, f.readStored)
	}
	return footer, blob, err
}

// readFooter reads a segment's footer with from; see [Fetcher.footer].
func readFooter(ctx context.Context, s *source.Segment, share int64, from rangeReader) (*segment.Footer, []byte, error) {
	var blob []byte
	oneBlock := s.Meta.RawBytes <= segment.DefaultBlockSize*5/4
	if s.Size > 0 && s.Size <= SmallBlob && (oneBlock || s.Size <= share) && share > 0 {
		var err error
		if blob, err = from(ctx, s, 0, s.Size); err != nil {
			return nil, nil, err
		}
	}
	read := func(ctx context.Context, off, n int64) ([]byte, error) {
		if blob != nil {
			if off < 0 || n < 0 || off > s.Size-n {
				return nil, store.ErrRange
			}
			return blob[off : off+n], nil
		}
		return from(ctx, s, off, n)
	}
	footer, err := segment.ReadFooter(ctx, read, s.Size, s.Meta.Footer)
	if err != nil {
		return nil, nil, err
	}
	if err := footer.Check(s.Meta); err != nil {
		return nil, nil, err
	}
	return footer, blob, nil
}
