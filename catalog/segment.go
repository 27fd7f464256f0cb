package catalog

import (
	"cmp"
	"context"
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
	// TierInferred is set if Tier is only the account's default.
	TierInferred bool
}

const day = 24 * time.Hour

// Scope identifies the segments that compaction merges with each other, and whose outputs are one chain of generations: those of
// one service, day and class.
type Scope struct {
	Service string
	// Day is the start of the day, UTC.
	Day   time.Time
	Class string
}

// Scope returns the scope of the segment.
func (s Segment) Scope() Scope {
	return Scope{Service: s.Name.Service, Day: s.Name.Bucket.Truncate(day), Class: s.Meta.Class}
}

// String returns "service/2026/11/20", followed by the class if there is one.
func (s Scope) String() string {
	text := s.Service + "/" + s.Day.Format("2006/01/02")
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

// CheckName returns a [segment.CorruptError] if a footer is that of another name.
func (s Segment) CheckName(f *segment.Footer) error {
	if f.Service != s.Name.Service || f.BucketStart != s.Name.Bucket.Unix() {
		return &segment.CorruptError{Part: "footer", Offset: f.Footer, Reason: "it is that of another name"}
	}
	return nil
}

// ReadOrigins reads the footer and the origins of an output, and compares the footer with name and metadata.
func (s Segment) ReadOrigins(ctx context.Context, read segment.Range) (f *segment.Footer, origins *segment.Origins, err error) {
	err = segment.ReadTwice(ctx, func() (err error) {
		if f, origins, err = segment.ReadOrigins(ctx, read, s.Size, s.Meta.Origins); err == nil {
			err = f.Check(s.Meta)
		}
		return err
	})
	if err == nil {
		err = s.CheckName(f)
	}
	return f, origins, err
}

// Ref returns the blob with the ETag of the listing.
func (s Segment) Ref() store.BlobRef { return store.BlobRef{Name: s.Name.String(), ETag: s.ETag} }

// CompareTwins is the order in which blobs with the same Batch are tried: the one that was stored first, then by name. A blob
// counts if its footer has the hash that Batch is, and agrees with its metadata ([segment.ReadFooter], [segment.Footer.Check]).
func CompareTwins(a, b Segment) int {
	return cmp.Or(a.Created.Compare(b.Created), CompareNames(a, b))
}

// CompareNames is the order of names of one service and container.
func CompareNames(a, b Segment) int {
	return cmp.Or(a.Name.Bucket.Compare(b.Name.Bucket), cmp.Compare(a.Name.Chain, b.Name.Chain), cmp.Compare(a.Name.Number, b.Name.Number))
}
