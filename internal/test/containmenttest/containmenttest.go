// Package containmenttest makes listed segments for tests.
package containmenttest

import (
	"time"

	"logstow/blobnaming"
	"logstow/containment"
	"logstow/record"
)

// Hour is the hour of all segments.
func Hour() time.Time { return time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC) }

// Plain is a plain segment of one record, of the nth second.
func Plain(n int, change func(*containment.Segment)) containment.Segment {
	at := Hour().Add(time.Duration(n) * time.Second).UnixNano()
	s := containment.Segment{
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
func Plains(first, n int) (all []containment.Segment) {
	for i := range n {
		all = append(all, Plain(first+i, nil))
	}
	return all
}

// OutputOf is an output of segments.
func OutputOf(generation int, inputs []containment.Segment) containment.Output {
	o := containment.Output{Segment: containment.Segment{
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
