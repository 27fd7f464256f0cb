package fetch

import (
	"context"
	"fmt"
	"slices"

	"logstow/query/source"

	"logstow/containment"
	"logstow/segment"
)

// HideContained removes the segments whose records are in outputs of compaction, and of two outputs
// that share an input, which only those of different stores do, excludes it in one. An output whose
// list of inputs cannot be read becomes a problem and is removed.
//
// A list is read only if an output may contain one of the segments by its metadata, or if
// several stores have outputs of an hour.
func (f *Fetcher) HideContained(ctx context.Context, segments []*source.Segment) []*source.Segment {
	if !slices.ContainsFunc(segments, func(s *source.Segment) bool { return s.Meta.IsOutput() }) {
		return segments
	}
	listed := make([]containment.Segment, len(segments))
	var outputs []containment.Segment
	var read []*source.Segment // the outputs
	for i, s := range segments {
		if s.Foreign {
			continue
		}
		listed[i] = containment.Segment{Name: s.Name, Meta: s.Meta, Size: s.Size}
		if s.Meta.IsOutput() {
			outputs = append(outputs, listed[i])
			read = append(read, s)
		}
	}
	lists, removed := f.lists(ctx, read, undecided(read, outputs, listed))
	places := containment.Contain(listed, lists)
	for i, inputs := range containment.Shared(lists) {
		read[i].Excluded = make(map[int]bool, len(inputs))
		for _, input := range inputs {
			read[i].Excluded[input] = true
		}
	}
	kept := segments[:0]
	for i, s := range segments {
		switch {
		case removed[s]:
		case !s.Foreign && places[i].Contained():
			f.Recorder.SegmentsRepeated.Add(1)
			output := read[places[i].Output]
			if output.Hidden == nil {
				output.Hidden = make(map[int]*source.Segment)
			}
			output.Hidden[places[i].Input] = s
		default:
			if !s.Foreign && places[i].Differs {
				f.Recorder.Note("%s has the batch of an input of an output but differs; both are read", s)
			}
			kept = append(kept, s)
		}
	}
	return kept
}

// undecided are the outputs whose lists have to be read.
func undecided(read []*source.Segment, outputs, listed []containment.Segment) map[int]bool {
	needed := make(map[int]bool)
	for _, i := range containment.Undecided(outputs, listed) {
		needed[i] = true
	}
	stores := make(map[containment.Scope]map[string]bool)
	for i, o := range outputs {
		if stores[o.Scope()] == nil {
			stores[o.Scope()] = make(map[string]bool)
		}
		stores[o.Scope()][read[i].Store] = true
	}
	for i, o := range outputs {
		if len(stores[o.Scope()]) > 1 {
			needed[i] = true
		}
	}
	return needed
}

// lists reads the lists of inputs of the outputs that are needed, in parallel. removed are the outputs
// that cannot be read.
func (f *Fetcher) lists(ctx context.Context, read []*source.Segment, needed map[int]bool) (lists []containment.Output, removed map[*source.Segment]bool) {
	removed = make(map[*source.Segment]bool)
	every := func(yield func(int) bool) {
		for i := range read {
			if !yield(i) {
				return
			}
		}
	}
	w := Window{First: source.MaxInFlight, Max: source.MaxInFlight, Bytes: 1}
	for o := range OrderedParallel(ctx, w, every, func(int) int64 { return 0 }, func(ctx context.Context, i int) containment.Output {
		s := read[i]
		o := containment.Output{Segment: containment.Segment{Name: s.Name, Meta: s.Meta, Size: s.Size}}
		if !s.Name.HasClass(s.Meta.Class) {
			o.Err = containment.ErrNoOutput
		} else if needed[i] {
			o.Inputs, o.Err = f.listOf(ctx, s)
		}
		return o
	}) {
		s := read[len(lists)]
		if o.Err != nil && ctx.Err() == nil {
			removed[s] = true
			f.readFailed(ctx, s, fmt.Errorf("its records are read from its inputs, where they are still there: %w", o.Err))
		}
		lists = append(lists, o)
	}
	return lists, removed
}

// Inputs are the inputs of an output of compaction, in their order; nil if they cannot be read,
// which becomes a problem.
func (f *Fetcher) Inputs(ctx context.Context, s *source.Segment) []segment.Origin {
	inputs, err := f.listOf(ctx, s)
	if err != nil && ctx.Err() == nil {
		f.readFailed(ctx, s, err)
	}
	return inputs
}

// listOf is the list of inputs of an output.
func (f *Fetcher) listOf(ctx context.Context, s *source.Segment) ([]segment.Origin, error) {
	c, err := f.footer(ctx, s, 0)
	if err != nil {
		return nil, err
	}
	return c.origins.Inputs, nil
}
