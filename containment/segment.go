package containment

import (
	"fmt"
	"time"

	"logstow/blobnaming"
	"logstow/segment"
	"logstow/store"
)

// Segment is a listed segment, plain or an output.
type Segment struct {
	Name blobnaming.Name
	Meta blobnaming.Metadata
	// Size is the stored size in bytes.
	Size int64
	ETag string
	// Created is the time at which storage wrote the blob.
	Created time.Time
	Tier    store.Tier
}

// NewSegment converts a listed blob. It returns an error if the blob is not a segment.
func NewSegment(b store.Blob) (Segment, error) {
	name, err := blobnaming.Parse(b.Name)
	if err != nil {
		return Segment{}, err
	}
	meta, err := blobnaming.ParseMetadata(b.Metadata)
	if err != nil {
		return Segment{}, fmt.Errorf("blob %s: %w", b.Name, err)
	}
	return Segment{Name: name, Meta: meta, Size: b.Size, ETag: b.ETag, Created: b.Created, Tier: b.Tier}, nil
}

// Scope identifies the segments that compaction merges with each other: those of one service, hour and class.
type Scope struct {
	Service string
	// Hour is the start of the hour, UTC.
	Hour  time.Time
	Class string
}

// Scope returns the scope of the segment.
func (s Segment) Scope() Scope {
	return Scope{Service: s.Name.Service, Hour: s.Name.Bucket.Truncate(time.Hour), Class: s.Meta.Class}
}

// String returns "service/2026/11/20/15", followed by the class if there is one.
func (s Scope) String() string {
	text := s.Service + "/" + s.Hour.Format("2006/01/02/15")
	if s.Class != "" {
		text += " of class " + s.Class
	}
	return text
}

// Identity identifies the records of a segment in a scope: two segments with the same Identity are copies of one batch.
type Identity struct {
	Batch      blobnaming.Batch
	Start, End int64
	Records    uint64
	Size       int64
}

// Identity returns the identity of the segment.
func (s Segment) Identity() Identity {
	return Identity{s.Meta.Batch, s.Meta.Start, s.Meta.End, s.Meta.Records, s.Size}
}

// IdentityOf returns the identity of an input.
func IdentityOf(o segment.Origin) Identity {
	return Identity{o.Batch, o.Start, o.End, o.Records, o.Size}
}

// Origin returns s as an input of an output, with Sum unset.
func (s Segment) Origin() segment.Origin {
	return segment.Origin{
		Bucket: s.Name.Bucket.Unix(), Number: s.Name.Number,
		Batch: s.Meta.Batch, Start: s.Meta.Start, End: s.Meta.End, Records: s.Meta.Records, Size: s.Size,
		Instance: s.Meta.Instance, Seq: s.Meta.Seq, Levels: s.Meta.Levels,
	}
}

// Ref returns the blob with the ETag of the listing.
func (s Segment) Ref() store.BlobRef { return store.BlobRef{Name: s.Name.String(), ETag: s.ETag} }
