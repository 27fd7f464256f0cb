package source

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"logstow/blobnaming"
	"logstow/catalog"
	"logstow/query/cache"
	"logstow/record"
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
	// ETag is its ETag in the listing or the index, "" if unknown: reads are conditional on it.
	ETag string
	// Tier is its access tier, "" if unknown.
	Tier store.Tier
	// Created is the time at which it was stored; zero if the plan is by the index.
	Created time.Time
	// Foreign is set if another program wrote it. Of Meta, only Start and End (bounds of the records' times), Batch (a hash
	// of name, ETag and size) and Instance ("-") are then set.
	Foreign bool

	// Blobs reads the blob; requests are metered.
	Blobs store.BlobReader
	// Catalog lists its store; requests are metered.
	Catalog *catalog.Catalog
	// Cache is the cache of its store, or nil.
	Cache *cache.Cache
	// Copies are other blobs with the same content.
	Copies []*Segment

	// The following fields are set on outputs of compaction only. Maps are by the index of an input, and may be nil.

	// Excluded are the inputs whose records are read from another segment.
	Excluded map[int]bool
	// Hidden are the segments that the plan omits because the output contains them.
	Hidden map[int]*Segment
	// StoreOf are the stores of inputs that the plan would have read from a segment in another store.
	StoreOf map[int]string
	// Replaces are segments whose records have moved to the output during the query.
	Replaces []*Segment

	// Elsewhere is an output of compaction that contains the same batch and excludes it, or nil: one in another store, or a damaged
	// one.
	Elsewhere *Segment
	// Output is set on a Segment that stands for an input of this output of compaction, or for an instance of this segment of a relay; see
	// [Segment.Inputs].
	Output *Segment
}

// Inputs returns the inputs of an output of compaction as segments. They describe the origin of records and cannot be read.
func (s *Segment) Inputs(origins []segment.Origin) []Segment {
	inputs := make([]Segment, len(origins))
	for i := range origins {
		inputs[i] = s.Input(i, &origins[i])
	}
	return inputs
}

// Parts returns the parts of an output's inputs as segments, like Inputs.
func (s *Segment) Parts(o *segment.Origins) []Segment {
	parts := make([]Segment, len(o.Parts))
	for i := range o.Parts {
		parts[i] = s.Part(o, i)
	}
	return parts
}

// Part returns one of the parts of an output's inputs as a segment, like Inputs.
func (s *Segment) Part(o *segment.Origins, i int) Segment {
	p := &o.Parts[i]
	part := s.Input(p.Input, &o.Inputs[p.Input])
	part.Meta.Instance, part.Meta.Levels, part.Meta.Records = p.Instance, p.Levels, p.Levels.Total()
	return part
}

// Instances returns a segment that a relay wrote, with its footer, as a segment for each of its instances, like Inputs.
func (s *Segment) Instances(f *segment.Footer) []Segment {
	parts := make([]Segment, len(f.Instances))
	for i, name := range f.Instances {
		parts[i] = Segment{Store: s.Store, Name: s.Name, Size: s.Size, Output: s, Meta: s.Meta}
		m := &parts[i].Meta
		m.Instance, m.Instances, m.Records, m.Levels, m.Start, m.End = name, 0, 0, record.Counts{}, s.Meta.End, s.Meta.Start
	}
	for _, b := range f.Blocks {
		m := &parts[b.Instance].Meta
		m.Records += b.Records
		m.Levels.Add(b.Levels)
		m.Start, m.End = min(m.Start, b.Start), max(m.End, b.End)
	}
	return parts
}

// Input returns one of the inputs of an output of compaction as a segment, like Inputs.
func (s *Segment) Input(i int, o *segment.Origin) Segment {
	input := Segment{
		Store: s.Store, Name: o.Name(s.Name.Service), Size: o.Size, Output: s,
		Meta: blobnaming.Metadata{
			Start: o.Start, End: o.End, Records: o.Records, Levels: o.Levels, Batch: o.Batch,
			Instance: o.Instance, Seq: o.Seq, Class: s.Meta.Class, Parse: s.Meta.Parse,
		},
	}
	if name, ok := s.StoreOf[i]; ok {
		input.Store = name
	}
	return input
}

// Without returns a copy of an output of compaction that excludes more of its inputs.
func (s *Segment) Without(inputs map[int]bool) *Segment {
	other := *s
	other.Excluded = maps.Clone(inputs)
	maps.Copy(other.Excluded, s.Excluded)
	return &other
}

// Blob returns the segment from which the records of s are read: Output if it is set, otherwise s.
func (s *Segment) Blob() *Segment {
	if s.Output != nil {
		return s.Output
	}
	return s
}

// Entry returns the segment as listed.
func (s *Segment) Entry() catalog.Segment {
	return catalog.Segment{Name: s.Name, Meta: s.Meta, Size: s.Size, ETag: s.ETag, Created: s.Created, Tier: s.Tier}
}

// Listed looks the segment's blob up in storage; found is false if there is none with its name.
func (s *Segment) Listed(ctx context.Context) (b store.Blob, found bool, err error) {
	err = Retry(ctx, func() (err error) {
		b, found, err = catalog.Lookup(ctx, s.Blobs, s.String())
		return err
	})
	return b, found, err
}

// String returns the name of the segment's blob.
func (s *Segment) String() string { return s.Name.String() }

// Ref is the segment's blob as the plan found it.
func (s *Segment) Ref() store.BlobRef { return store.BlobRef{Name: s.Name.String(), ETag: s.ETag} }

// cacheKey identifies a range of a segment. It includes the batch, because a name may be used again.
func (s *Segment) cacheKey(off, n int64) string {
	return fmt.Sprintf("%s %s %s %d %d %d", s.Store, s, s.Meta.Batch, s.Size, off, n)
}

// PutCache puts a range of a segment's blob into the cache.
func (s *Segment) PutCache(off int64, data []byte) {
	if s.Cache != nil {
		s.Cache.Put(s.cacheKey(off, int64(len(data))), data)
	}
}

// FromCache returns a range of a segment's blob from the cache.
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

// Compare orders the segments of records of equal time. Records of an output of compaction are in the order of its inputs.
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
