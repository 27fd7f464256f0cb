package source

import (
	"cmp"
	"fmt"
	"maps"
	"strings"
	"time"

	"logstow/blobnaming"
	"logstow/query/cache"
	"logstow/segment"
	"logstow/store"
)

// Segment is a segment that a plan found.
type Segment struct {
	// Store is the name of its store.
	Store string
	Name  blobnaming.Name
	Meta  blobnaming.Metadata
	// Size is its stored size in bytes.
	Size int64
	// Tier is where it is stored, "" if unknown.
	Tier store.Tier
	// Created is when storage wrote it; zero if a plan by the index found it.
	Created time.Time
	// Foreign is set if another program wrote it: of Meta, only Start and End (bounds of
	// its records' times), Batch (made of name, ETag and size) and Instance ("-") are set.
	Foreign bool

	// Blobs is where it is read from; each request is metered.
	Blobs store.BlobReader
	// Cache is that of its store; nil is none.
	Cache *cache.Cache
	// Copies are other blobs of the same content.
	Copies []*Segment
	// Excluded are the inputs of an output of compaction, by their index, whose records are
	// read elsewhere; nil is none.
	Excluded map[int]bool
	// Hidden are segments that the plan leaves out because the output contains them, by the index
	// of the input.
	Hidden map[int]*Segment
	// Elsewhere is an output of compaction of another store that contains the same batch and excludes
	// it; nil if there is none.
	Elsewhere *Segment
	// StoreOf are the stores of the segments that an output of another store is read for, by the index
	// of the input.
	StoreOf map[int]string
	// Replaces are the segments that an output of compaction is read for, because their records have moved to it.
	Replaces []*Segment
	// Output is the output of compaction that the records are read from, of a Segment that
	// stands for one of its inputs; see [Segment.Inputs].
	Output *Segment
}

// Inputs are the inputs of an output of compaction as segments: what their records have of
// them. They cannot be read.
func (s *Segment) Inputs(origins []segment.Origin) []Segment {
	inputs := make([]Segment, len(origins))
	for i, o := range origins {
		inputs[i] = Segment{
			Store: s.Store, Name: o.Name(s.Name.Service), Size: o.Size, Output: s,
			Meta: blobnaming.Metadata{
				Start: o.Start, End: o.End, Records: o.Records, Levels: o.Levels, Batch: o.Batch,
				Instance: o.Instance, Seq: o.Seq, Class: s.Meta.Class, Parse: s.Meta.Parse,
			},
		}
		if of, ok := s.StoreOf[i]; ok {
			inputs[i].Store = of
		}
	}
	return inputs
}

// Without is an output of compaction without more of its inputs, by their index.
func (s *Segment) Without(inputs map[int]bool) *Segment {
	other := *s
	other.Excluded = maps.Clone(inputs)
	maps.Copy(other.Excluded, s.Excluded)
	return &other
}

// Blob is the segment that is read for the records of s: the output if s is an input of one.
func (s *Segment) Blob() *Segment {
	if s.Output != nil {
		return s.Output
	}
	return s
}

// String is the name of the segment's blob.
func (s *Segment) String() string { return s.Name.String() }

// cacheKey identifies a range of a segment: a name may be used again by another batch.
func (s *Segment) cacheKey(off, n int64) string {
	return fmt.Sprintf("%s %s %s %d %d %d", s.Store, s, s.Meta.Batch, s.Size, off, n)
}

// PutCache puts a range of a segment's blob into the cache.
func (s *Segment) PutCache(off int64, data []byte) {
	if s.Cache != nil {
		s.Cache.Put(s.cacheKey(off, int64(len(data))), data)
	}
}

// FromCache is a range of a segment's blob from the cache.
func (s *Segment) FromCache(off, n int64) ([]byte, bool) {
	if s.Cache == nil {
		return nil, false
	}
	data, ok := s.Cache.Get(s.cacheKey(off, n))
	return data, ok && int64(len(data)) == n
}

// DropCached removes the whole blob of a segment from the cache.
func (s *Segment) DropCached() {
	if s.Cache != nil {
		s.Cache.Remove(s.cacheKey(0, s.Size))
	}
}

// Compare is the order of segments for records of equal time. Records of an output of compaction
// are in the order of its inputs.
func Compare(a, b *Segment) int {
	if a == b {
		return 0
	}
	if c := strings.Compare(a.Meta.Instance, b.Meta.Instance); c != 0 {
		return c
	}
	return cmp.Or(
		cmp.Compare(a.Meta.Seq, b.Meta.Seq),
		strings.Compare(a.Name.Service, b.Name.Service),
		a.Name.Bucket.Compare(b.Name.Bucket),
		cmp.Compare(a.Name.Number, b.Name.Number),
		strings.Compare(a.Store, b.Store),
	)
}
