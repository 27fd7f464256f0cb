package query

import "context"

// rangeReader reads a range of a segment's blob.
type rangeReader func(ctx context.Context, s *Segment, off, n int64) ([]byte, error)

// read reads a range of a segment's blob, or takes it from the cache.
func (f *fetcher) read(ctx context.Context, s *Segment, off, n int64) ([]byte, error) {
	if data, ok := f.fromCache(s, off, n); ok {
		return data, nil
	}
	return f.readStored(ctx, s, off, n)
}

// fromCache is a range of a segment's blob from the cache.
func (f *fetcher) fromCache(s *Segment, off, n int64) ([]byte, bool) {
	data, ok := s.fromCache(off, n)
	if ok {
		f.rec.BytesCached.Add(n)
	}
	return data, ok
}

// readStored reads a range of a segment's blob, and keeps it.
func (f *fetcher) readStored(ctx context.Context, s *Segment, off, n int64) ([]byte, error) {
	data, err := f.readOnly(ctx, s, off, n)
	if err == nil {
		s.putCache(off, data)
	}
	return data, err
}

// readOnly reads a range of a segment's blob.
func (f *fetcher) readOnly(ctx context.Context, s *Segment, off, n int64) (data []byte, err error) {
	err = withRetry(ctx, func() (err error) {
		data, err = s.blobs.Read(ctx, s.String(), off, n)
		return err
	})
	f.rec.BytesStoredRead.Add(int64(len(data)))
	return data, err
}
