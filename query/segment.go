package query

import (
	"cmp"
	"fmt"
	"strings"

	"logstow/blobnaming"
	"logstow/query/cache"
	"logstow/store"
)

// Segment is a segment that a plan found.
type Segment struct {
	// Store is the name of the store that holds it.
	Store string
	Name  blobnaming.Name
	Meta  blobnaming.Metadata
	// Size is its stored size in bytes.
	Size int64
	// Tier is where it is stored, "" if unknown.
	Tier store.Tier
	// Foreign says that another program wrote it: of Meta, only Start and End (bounds of
	// its records' times), Batch (made of name, ETag and size) and Instance ("-") are set.
	Foreign bool

	// blobs is where it is read from; each request is metered.
	blobs store.BlobReader
	// cache is that of its store; nil is none.
	cache *cache.Cache
	// copies are other blobs of the same content.
	copies []*Segment
	// rank is its place in the order of the segments of a plan; see [compareSegments].
	rank int
}

// String is the name of the segment's blob.
func (s *Segment) String() string { return s.Name.String() }

// cacheKey identifies a range of a segment: a name may be used again by another batch.
func (s *Segment) cacheKey(off, n int64) string {
	return fmt.Sprintf("%s %s %s %d %d %d", s.Store, s, s.Meta.Batch, s.Size, off, n)
}

// putCache puts a range of a segment's blob into the cache.
func (s *Segment) putCache(off int64, data []byte) {
	if s.cache != nil {
		s.cache.Put(s.cacheKey(off, int64(len(data))), data)
	}
}

// fromCache is a range of a segment's blob from the cache.
func (s *Segment) fromCache(off, n int64) ([]byte, bool) {
	if s.cache == nil {
		return nil, false
	}
	data, ok := s.cache.Get(s.cacheKey(off, n))
	return data, ok && int64(len(data)) == n
}

// dropCached removes the whole blob of a segment from the cache.
func (s *Segment) dropCached() {
	if s.cache != nil {
		s.cache.Remove(s.cacheKey(0, s.Size))
	}
}

// compareSegments is the order of segments for records of equal time.
func compareSegments(a, b *Segment) int {
	return cmp.Or(
		strings.Compare(a.Meta.Instance, b.Meta.Instance),
		cmp.Compare(a.Meta.Seq, b.Meta.Seq),
		strings.Compare(a.Name.Service, b.Name.Service),
		a.Name.Bucket.Compare(b.Name.Bucket),
		cmp.Compare(a.Name.Number, b.Name.Number),
		strings.Compare(a.Store, b.Store),
	)
}
