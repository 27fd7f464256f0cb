package storage

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"logstow/logql/engine"
	"logstow/logql/labels"
	"logstow/logql/syntax"
	"logstow/query"
	"logstow/record"
)

const (
	// textSamples is the number of segments whose footers are read to estimate the size of messages.
	textSamples = 32
	// foreignSize is the assumed size of a record if there are only foreign segments.
	foreignSize = 100
)

// StreamInfo is a stream of records in a range.
type StreamInfo struct {
	Labels labels.Labels
	// Records is the approximate number of its records, Bytes that of bytes of their text, Segments that of segments with
	// its records.
	Records  uint64
	Bytes    int64
	Segments int
}

// Streams returns the streams that match all matchers of at least one selector, in order of their labels; no selectors is
// all streams. It considers the segments that overlap [from, to), in Unix nanoseconds. Numbers are estimates by metadata.
// It reads no text.
func (v *View) Streams(ctx context.Context, selectors [][]*syntax.Matcher, from, to int64) ([]StreamInfo, error) {
	type sum struct {
		part
		segments int
	}
	sums := map[*stream]*sum{}
	err := v.eachPart(ctx, selectors, from, to, func(p part) {
		s := sums[p.stream]
		if s == nil {
			s = &sum{part: part{stream: p.stream}}
			sums[p.stream] = s
		}
		s.segments++
		s.records += p.records
		s.bytes += p.bytes
	})
	if err != nil {
		return nil, err
	}
	all := make([]StreamInfo, 0, len(sums))
	for _, s := range sums {
		all = append(all, StreamInfo{Labels: s.stream.labels, Records: uint64(math.Ceil(s.records)), Bytes: int64(math.Ceil(s.bytes)), Segments: s.segments})
	}
	slices.SortFunc(all, func(a, b StreamInfo) int { return labels.Compare(a.Labels, b.Labels) })
	return all, nil
}

// Volume is the approximate size in bytes of the text of a stream in an interval.
type Volume struct {
	Labels labels.Labels
	Start  int64 // of the interval, Unix nanoseconds
	Bytes  int64
}

// Volumes returns the volumes of streams by interval, in order of labels and start. Intervals have length width and start
// at multiples of it since 1970; width 0 is one interval. They are estimates like those of [View.Streams].
func (v *View) Volumes(ctx context.Context, matchers []*syntax.Matcher, from, to int64, width time.Duration) ([]Volume, error) {
	type cell struct {
		stream *stream
		start  int64
	}
	volumes := map[cell]float64{}
	err := v.eachPart(ctx, [][]*syntax.Matcher{matchers}, from, to, func(p part) {
		for start, end := p.start, int64(0); start < p.end; start = end {
			at := from
			if end = p.end; width > 0 {
				at = start - (start%int64(width)+int64(width))%int64(width)
				end = min(end, at+int64(width))
			}
			volumes[cell{p.stream, at}] += p.bytes * float64(end-start) / float64(p.end-p.start)
		}
	})
	if err != nil {
		return nil, err
	}
	all := make([]Volume, 0, len(volumes))
	for c, bytes := range volumes {
		all = append(all, Volume{Labels: c.stream.labels, Start: c.start, Bytes: int64(math.Ceil(bytes))})
	}
	slices.SortFunc(all, func(a, b Volume) int {
		return cmp.Or(labels.Compare(a.Labels, b.Labels), cmp.Compare(a.Start, b.Start))
	})
	return all, nil
}

// part is the records of a stream in a segment: about their number in the range from start to end, and the bytes of their text.
type part struct {
	stream         *stream
	start, end     int64
	records, bytes float64
}

// stream is a stream of parts: the same one for equal labels in a call of eachPart.
type stream struct {
	labels labels.Labels
}

// eachPart calls f with the parts that match a selector, each once.
func (v *View) eachPart(ctx context.Context, selectors [][]*syntax.Matcher, from, to int64, f func(part)) error {
	if len(selectors) == 0 {
		selectors = [][]*syntax.Matcher{nil}
	}
	streams := map[streamKey]*stream{}
	seen := map[string]bool{} // used if there are several selectors
	for _, matchers := range selectors {
		sel := engine.Selection{Log: &syntax.LogExpr{Matchers: matchers}, From: from, To: to}
		err := v.eachPlan(ctx, sel, func(s *selected, share float64) error {
			sizes, err := s.Text(ctx, s.Plan, max(1, int(textSamples*share)))
			if err != nil {
				return err
			}
			recordSize := averages(sizes)
			return s.EachWritten(ctx, s.Plan, func(seg *query.Segment) {
				if len(selectors) > 1 {
					id := seg.Store + " " + seg.String()
					s.eachLevel(seg, from, to, streams, recordSize, func(level record.Level, p part) {
						if id := id + " " + level.String(); !seen[id] {
							seen[id] = true
							f(p)
						}
					})
					return
				}
				s.eachLevel(seg, from, to, streams, recordSize, func(_ record.Level, p part) { f(p) })
			})
		})
		if err != nil {
			return v.complete(err)
		}
	}
	return v.complete(nil)
}

// eachLevel calls f with the parts of a segment, one for each selected level that its records have.
func (s *selected) eachLevel(seg *query.Segment, from, to int64, streams map[streamKey]*stream, recordSize func(service string) float64, f func(record.Level, part)) {
	start, end := max(seg.Meta.Start, from), min(seg.Meta.End+1, to)
	if start >= end || !s.streams.instance(seg.Meta.Instance) {
		return
	}
	share := float64(end-start) / float64(seg.Meta.End+1-seg.Meta.Start)
	size := recordSize(seg.Name.Service)
	levels := seg.Meta.Levels
	if seg.Foreign {
		levels[record.None] = max(1, uint64(float64(seg.Size)/size))
	}
	for level, n := range levels.All() {
		if !s.streams.levels.Has(level) {
			continue
		}
		key := streamKey{service: seg.Name.Service, instance: seg.Meta.Instance, level: level}
		of := streams[key]
		if of == nil {
			of = &stream{streamLabels(key.service, key.instance, levelLabel(level))}
			streams[key] = of
		}
		f(level, part{of, start, end, float64(n) * share, float64(n) * share * size})
	}
}

// averages returns a function for the mean size of a record of a service, or of all services if its size is unknown.
func averages(sizes map[string]query.TextSize) func(service string) float64 {
	var all query.TextSize
	for _, size := range sizes {
		all.Bytes += size.Bytes
		all.Records += size.Records
	}
	return func(service string) float64 {
		for _, size := range []query.TextSize{sizes[service], all} {
			if size.Records > 0 {
				return float64(size.Bytes) / float64(size.Records)
			}
		}
		return foreignSize
	}
}
