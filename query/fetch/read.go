package fetch

import (
	"context"

	"logstow/query/source"
)

// rangeReader reads a range of a segment's blob.
type rangeReader func(ctx context.Context, s *source.Segment, off, n int64) ([]byte, error)

// read reads a range of a segment's blob, or takes it from the cache.
func (f *Fetcher) read(ctx context.Context, s *source.Segment, off, n int64) ([]byte, error) {
	if data, ok := f.fromCache(s, off, n); ok {
		return data, nil
	}
	return f.readStored(ctx, s, off, n)
}

// fromCache returns a range of a segment's blob from the cache.
func (f *Fetcher) fromCache(s *source.Segment, off, n int64) ([]byte, bool) {
	data, ok := s.FromCache(off, n)
	if ok {
		f.Recorder.BytesCached.Add(n)
	}
	return data, ok
}

// readStored reads a range of a segment's blob and caches it.
func (f *Fetcher) readStored(ctx context.Context, s *source.Segment, off, n int64) ([]byte, error) {
	data, err := f.readOnly(ctx, s, off, n)
	if err == nil {
		s.PutCache(off, data)
	}
	return data, err
}

// readOnly reads a range of a segment's blob without the cache.
func (f *Fetcher) readOnly(ctx context.Context, s *source.Segment, off, n int64) (data []byte, err error) {
	err = source.Retry(ctx, func() (err error) {
		data, err = s.Blobs.Read(ctx, s.Ref(), off, n)
		return err
	})
	f.Recorder.BytesStoredRead.Add(int64(len(data)))
	return data, err
}
