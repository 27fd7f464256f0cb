package fetch

import (
	"context"
	"fmt"

	"logstow/query/source"

	"logstow/containment"
	"logstow/segment"
)

// HideContained removes the segments whose records are in outputs of compaction. If several stores
// have a batch, as a segment or in an output, it is read from the one whose segment is first in order,
// whether that is merged or not; outputs of the others exclude it. An output whose list of inputs
// cannot be read becomes a problem and is removed.
//
// A list is read only if an output may contain one of the segments by its metadata, or if
// several stores have outputs of an hour.
func (f *Fetcher) HideContained(ctx context.Context, segments []*source.Segment) []*source.Segment {
	c := contained{hidden: make(map[*source.Segment]bool)}
	stores := make(map[string]bool)
	for _, s := range segments {
		if s.Foreign {
			continue
		}
		stores[s.Store] = true
		listed := containment.Segment{Name: s.Name, Meta: s.Meta, Size: s.Size}
		if s.Meta.IsOutput() {
			c.outputs, c.read = append(c.outputs, listed), append(c.read, s)
		} else {
			c.listed, c.plain = append(c.listed, listed), append(c.plain, s)
		}
	}
	if len(c.outputs) == 0 {
		return segments
	}
	f.readLists(ctx, &c)
	if ctx.Err() != nil {
		return segments
	}
	for name := range stores {
		f.hideInStore(&c, name)
	}
	if len(stores) > 1 {
		c.hideAcrossStores()
	}
	kept := segments[:0]
	for _, s := range segments {
		if !c.hidden[s] {
			kept = append(kept, s)
		} else if !s.Meta.IsOutput() {
			f.Recorder.SegmentsRepeated.Add(1)
		}
	}
	return kept
}

// contained are the segments of a plan in which those that outputs contain are looked for.
type contained struct {
	// listed are the plain segments, outputs those of compaction; plain and read are the same.
	listed, outputs []containment.Segment
	plain, read     []*source.Segment
	// lists are the outputs with their inputs.
	lists []containment.Output
	// hidden are not to be read.
	hidden map[*source.Segment]bool
}

// hideInStore hides the segments of a store that its outputs contain.
func (f *Fetcher) hideInStore(c *contained, name string) {
	var plain, read []*source.Segment
	var listed []containment.Segment
	var lists []containment.Output
	for i, s := range c.plain {
		if s.Store == name {
			plain, listed = append(plain, s), append(listed, c.listed[i])
		}
	}
	for i, s := range c.read {
		if s.Store == name {
			read, lists = append(read, s), append(lists, c.lists[i])
		}
	}
	for i, inputs := range containment.Shared(lists) {
		for _, input := range inputs {
			exclude(read[i], input)
		}
	}
	for i, place := range containment.Contain(listed, lists) {
		switch {
		case place.Contained():
			c.hide(plain[i], read[place.Output], place.Input)
		case place.Differs:
			f.Recorder.Note("%s has the batch of an input of an output but differs; both are read", plain[i])
		}
	}
}

// hideAcrossStores leaves each batch that several stores have to one of them.
func (c *contained) hideAcrossStores() {
	type key struct {
		containment.Scope
		containment.Identity
	}
	type holder struct {
		*source.Segment     // in which the batch was written
		output, input   int // that have it now, indexes; output is -1 if that is the segment
	}
	first := make(map[key]holder)
	// lose leaves a batch of a to b.
	lose := func(a, b holder) {
		switch {
		case a.output >= 0:
			exclude(c.read[a.output], a.input)
			if b.output < 0 {
				b.Elsewhere = c.read[a.output]
			}
		case b.output >= 0:
			c.hide(a.Segment, c.read[b.output], b.input)
		}
	}
	add := func(k key, h holder) {
		other, ok := first[k]
		switch {
		case !ok:
			first[k] = h
		case source.Compare(h.Segment, other.Segment) < 0:
			first[k] = h
			lose(other, h)
		default:
			lose(h, other)
		}
	}
	for i, s := range c.plain {
		if !c.hidden[s] {
			add(key{c.listed[i].Scope(), c.listed[i].Identity()}, holder{s, -1, 0})
		}
	}
	for i, o := range c.lists {
		if c.hidden[c.read[i]] {
			continue
		}
		inputs := c.read[i].Inputs(o.Inputs)
		for j, input := range o.Inputs {
			if !c.read[i].Excluded[j] {
				add(key{o.Scope(), containment.IdentityOf(input)}, holder{&inputs[j], i, j})
			}
		}
	}
}

// hide hides a segment that an output contains.
func (c *contained) hide(s, output *source.Segment, input int) {
	c.hidden[s] = true
	if output.Hidden == nil {
		output.Hidden = make(map[int]*source.Segment)
	}
	if output.Hidden[input] == nil {
		output.Hidden[input] = s
	}
}

// exclude excludes an input of an output.
func exclude(output *source.Segment, input int) {
	if output.Excluded == nil {
		output.Excluded = make(map[int]bool)
	}
	output.Excluded[input] = true
}

// undecided are the outputs (indexes) whose lists have to be read.
func (c *contained) undecided() map[int]bool {
	needed := make(map[int]bool)
	for _, i := range containment.Undecided(c.outputs, c.listed) {
		needed[i] = true
	}
	stores := make(map[containment.Scope]map[string]bool)
	for i, o := range c.outputs {
		if stores[o.Scope()] == nil {
			stores[o.Scope()] = make(map[string]bool)
		}
		stores[o.Scope()][c.read[i].Store] = true
	}
	for i, o := range c.outputs {
		if len(stores[o.Scope()]) > 1 {
			needed[i] = true
		}
	}
	return needed
}

// readLists reads the lists of inputs of the outputs that are needed, in parallel, and hides outputs
// that cannot be read.
func (f *Fetcher) readLists(ctx context.Context, c *contained) {
	needed := c.undecided()
	every := func(yield func(int) bool) {
		for i := range c.read {
			if !yield(i) {
				return
			}
		}
	}
	w := Window{First: source.MaxInFlight, Max: source.MaxInFlight, Bytes: 1}
	for o := range OrderedParallel(ctx, w, every, func(int) int64 { return 0 }, func(ctx context.Context, i int) containment.Output {
		o := containment.Output{Segment: c.outputs[i]}
		if !o.Name.HasClass(o.Meta.Class) {
			o.Err = containment.ErrNoOutput
		} else if needed[i] {
			o.Inputs, o.Err = f.listOf(ctx, c.read[i])
		}
		return o
	}) {
		s := c.read[len(c.lists)]
		if o.Err != nil && ctx.Err() == nil {
			c.hidden[s] = true
			f.readFailed(ctx, s, fmt.Errorf("its records are read from its inputs, where they are still there: %w", o.Err))
		}
		c.lists = append(c.lists, o)
	}
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
