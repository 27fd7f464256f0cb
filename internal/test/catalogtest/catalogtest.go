// Package catalogtest makes listed segments for tests.
package catalogtest

import (
	"errors"
	"testing"
	"time"

	"logstow/blobnaming"
	"logstow/catalog"
	"logstow/record"
	"logstow/store"
)

// Hour is the hour of all segments.
func Hour() time.Time { return time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC) }

// Plain is a plain segment of one record, of the nth second.
func Plain(n int, change func(*catalog.Segment)) catalog.Segment {
	at := Hour().Add(time.Duration(n) * time.Second).UnixNano()
	s := catalog.Segment{
		Name: blobnaming.Name{Service: "web", Bucket: Hour(), Number: uint64(n)}, Size: 1000, ETag: "e", Created: Hour().Add(2 * time.Hour),
		Meta: blobnaming.Metadata{
			Start: at, End: at, Records: 1, RawBytes: 100, Levels: record.Counts{record.Info: 1},
			Batch: blobnaming.Batch{byte(n), byte(n >> 8), 1}, Instance: "pod", Seq: int64(n), Footer: 500,
		},
	}
	if change != nil {
		change(&s)
	}
	return s
}

// Plains are n segments from the first on.
func Plains(first, n int) (all []catalog.Segment) {
	for i := range n {
		all = append(all, Plain(first+i, nil))
	}
	return all
}

// OutputOf is an output of segments.
func OutputOf(generation int, inputs []catalog.Segment) catalog.Output {
	o := catalog.Output{Segment: catalog.Segment{
		Name: blobnaming.OutputName("web", Hour(), "", generation), Size: 900, ETag: "o",
		Meta: blobnaming.Metadata{Records: 1, Origins: 1, Footer: 2, Instance: blobnaming.OutputInstance},
	}}
	o.Meta.Start, o.Meta.End, o.Meta.Class = inputs[0].Meta.Start, inputs[0].Meta.End, inputs[0].Meta.Class
	for _, s := range inputs {
		o.Inputs = append(o.Inputs, s.Origin())
		o.Meta.Start, o.Meta.End, o.Meta.Seq = min(o.Meta.Start, s.Meta.Start), max(o.Meta.End, s.Meta.End), max(o.Meta.Seq, s.Meta.Seq)
		for l, n := range s.Meta.Levels {
			o.Meta.Levels[l] += n
		}
	}
	return o
}

// NewSegment is a listed blob of either container as a segment.
func NewSegment(b store.Blob) (catalog.Segment, error) {
	name, err := blobnaming.Parse(b.Name)
	if err != nil {
		if name, err = blobnaming.ParseOutput(b.Name); err != nil {
			return catalog.Segment{}, err
		}
	}
	meta, err := blobnaming.ParseMetadata(b.Metadata)
	return catalog.Segment{Name: name, Meta: meta, Size: b.Size, ETag: b.ETag, Created: b.Created, Tier: b.Tier}, err
}

// Container is the container of a blob.
func Container(s store.Store, name string) store.Blobs {
	if _, err := blobnaming.Parse(name); err == nil {
		return s.Blobs()
	}
	_, err := blobnaming.ParseOutput(name)
	if _, rejectionErr := blobnaming.ParseRejection(name); err == nil || rejectionErr == nil {
		return s.Compacted()
	}
	return s.Blobs()
}

// List lists both containers, the raw one first.
func List(tb testing.TB, s store.Store) (all []store.Blob) {
	tb.Helper()
	for _, half := range []store.BlobReader{s.Blobs(), s.Compacted()} {
		for page, err := range half.List(tb.Context(), "") {
			if errors.Is(err, store.ErrNoContainer) {
				break
			}
			if err != nil {
				tb.Fatal(err)
			}
			all = append(all, page...)
		}
	}
	return all
}
