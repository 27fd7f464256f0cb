package fetch

import (
	"context"
	"fmt"

	"logstow/internal/parallel"
	"logstow/query/source"

	"logstow/catalog"
	"logstow/segment"
)

// HideContained removes the segments whose records are in outputs of compaction. If several stores have a batch, as a
// segment or in an output, the batch is read from the store whose original segment is first in order; outputs of other
// stores exclude it. An output whose list of inputs cannot be read is recorded as a problem and removed.
//
// The list of an output is read only if it may contain one of the segments according to its metadata, if it may share inputs with another
// output, or if several stores have outputs of the same day.
func (f *Fetcher) HideContained(ctx context.Context, segments []*source.Segment) []*source.Segment {
	scopes := make(map[catalog.Scope]bool) // of outputs: segments of the others are contained in none
	for _, s := range segments {
		if s.Meta.IsOutput() {
			scopes[s.Entry().Scope()] = true
		}
	}
	if len(scopes) == 0 {
		return segments
	}
	c := contained{hidden: make(map[*source.Segment]bool)}
	stores := make(map[string]bool)
	for _, s := range segments {
		if s.Foreign || !scopes[s.Entry().Scope()] {
			continue
		}
		stores[s.Store] = true
		listed := s.Entry()
		if s.Meta.IsOutput() {
			c.outputs, c.read = append(c.outputs, listed), append(c.read, s)
		} else {
			c.listed, c.plain = append(c.listed, listed), append(c.plain, s)
		}
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

// contained is the state of HideContained.
type contained struct {
	// listed and plain are the plain segments, outputs and read the outputs of compaction, each in two representations
	// of the same order.
	listed, outputs []catalog.Segment
	plain, read     []*source.Segment
	// lists are the outputs with their inputs.
	lists []catalog.Output
	// hidden are the segments to remove.
	hidden map[*source.Segment]bool
}

// hideInStore hides the segments of a store that its outputs contain.
func (f *Fetcher) hideInStore(c *contained, name string) {
	var plain, read []*source.Segment
	var listed []catalog.Segment
	var lists []catalog.Output
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
	for i, inputs := range catalog.Shared(lists) {
		for _, input := range inputs {
			exclude(read[i], input)
		}
	}
	for i, place := range catalog.Contain(listed, lists) {
		switch {
		case place.Contained():
			c.hide(plain[i], read[place.Output], place.Input)
		case place.Differs:
			c.hidden[plain[i]] = true
			f.Recorder.Note("%s has the Batch of an input of an output and differs from it: it is not read", plain[i])
		}
	}
}

// hideAcrossStores makes sure that each batch is read from one store.
func (c *contained) hideAcrossStores() {
	type key struct {
		catalog.Scope
		catalog.Identity
	}
	// A holder is a copy of a batch: a segment, or an input of an output.
	type holder struct {
		*source.Segment     // in which the batch was written
		output, input   int // indexes of the output and its input; output is -1 for a plain segment
	}
	first := make(map[key]holder)
	// lose hides copy a of a batch, which is read from b.
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
				add(key{o.Scope(), catalog.IdentityOf(input)}, holder{&inputs[j], i, j})
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

// undecided returns the indexes of the outputs whose lists must be read.
func (c *contained) undecided() map[int]bool {
	needed := make(map[int]bool)
	for _, i := range catalog.Undecided(c.outputs, c.listed) {
		needed[i] = true
	}
	for _, i := range catalog.MayShare(c.outputs) {
		needed[i] = true
	}
	stores := make(map[catalog.Scope]map[string]bool)
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

// readLists reads the lists of inputs of undecided outputs, in parallel. It hides outputs whose list cannot be read.
func (f *Fetcher) readLists(ctx context.Context, c *contained) {
	needed := c.undecided()
	every := func(yield func(int) bool) {
		for i := range c.read {
			if !yield(i) {
				return
			}
		}
	}
	w := parallel.Window{First: source.MaxInFlight, Max: source.MaxInFlight, Bytes: 1}
	for o := range parallel.Ordered(ctx, w, every, func(int) int64 { return 0 }, func(ctx context.Context, i int) catalog.Output {
		o := catalog.Output{Segment: c.outputs[i]}
		if needed[i] {
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

// Inputs returns the inputs of an output of compaction, in their order; nil if they cannot be read, which is recorded as
// a problem.
func (f *Fetcher) Inputs(ctx context.Context, s *source.Segment) []segment.Origin {
	inputs, err := f.listOf(ctx, s)
	if err != nil && ctx.Err() == nil {
		f.readFailed(ctx, s, err)
	}
	return inputs
}

// EachPart calls each with the parts of a mixed segment, except those of excluded inputs. A part is valid until each returns. A failure
// to read them is recorded as a problem.
func (f *Fetcher) EachPart(ctx context.Context, s *source.Segment, each func(*source.Segment)) {
	c, err := f.footer(ctx, s, 0)
	switch {
	case err != nil:
		if ctx.Err() == nil {
			f.readFailed(ctx, s, err)
		}
	case c.origins == nil:
		for _, part := range s.Instances(c.footer) {
			each(&part)
		}
	default:
		var part source.Segment // one for all: outputs have thousands
		for i, p := range c.origins.Parts {
			if !s.Excluded[p.Input] {
				part = s.Part(c.origins, i)
				each(&part)
			}
		}
	}
}

// listOf returns the inputs of an output.
func (f *Fetcher) listOf(ctx context.Context, s *source.Segment) ([]segment.Origin, error) {
	c, err := f.footer(ctx, s, 0)
	if err != nil {
		return nil, err
	}
	return c.origins.Inputs, nil
}

// Certify reads the footer of a segment. It returns damage unless the footer has the hash that the segment's Batch is, and agrees with
// its metadata.
func (f *Fetcher) Certify(ctx context.Context, s *source.Segment) error {
	if s.Foreign {
		return nil
	}
	_, err := f.footerOf(ctx, s, 0)
	return err
}
