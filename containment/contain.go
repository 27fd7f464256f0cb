package containment

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"logstow/blobnaming"
	"logstow/record"
	"logstow/segment"
)

// Output is an output of compaction with its list of inputs.
type Output struct {
	Segment
	// Inputs are those of [segment.Origins].
	Inputs []segment.Origin
	// Err is why the list of inputs cannot be read: then it is unknown what the output
	// contains.
	Err error
	// Rejected is set if a marker makes readers ignore the output.
	Rejected bool
}

// MayContain reports whether an output can contain a plain segment of its scope, by the
// metadata of both. Where it is false, the list of inputs need not be read for that segment.
func MayContain(output, plain blobnaming.Metadata) bool {
	if plain.Seq > output.Seq || plain.Start < output.Start || plain.End > output.End {
		return false
	}
	for l := range record.Levels {
		if plain.Levels[l] > output.Levels[l] {
			return false
		}
	}
	return true
}

// Undecided are the outputs (indexes, ascending) that may contain one of the plain segments, by the
// metadata of both: those whose lists of inputs have to be read. Outputs among plain are left
// out. It is pure.
func Undecided(outputs, plain []Segment) []int {
	byScope := make(map[Scope][]blobnaming.Metadata)
	for _, s := range plain {
		if !s.Meta.IsOutput() {
			byScope[s.Scope()] = append(byScope[s.Scope()], s.Meta)
		}
	}
	var undecided []int
	for i, o := range outputs {
		may := func(m blobnaming.Metadata) bool { return MayContain(o.Meta, m) }
		if slices.ContainsFunc(byScope[o.Scope()], may) {
			undecided = append(undecided, i)
		}
	}
	return undecided
}

// Place is where the records of a listed segment are besides in itself.
type Place struct {
	// Output is an index into the outputs, or -1 where none contains the segment.
	Output int
	// Input is the index of the segment among the output's inputs.
	Input int
	// Differs is set if an output has an input with the Batch of this segment that differs
	// otherwise: the segment is plain, and must be reported.
	Differs bool
}

// Contained reports whether an output contains the segment: readers leave it out.
func (p Place) Contained() bool { return p.Output >= 0 }

// Contain returns, for each of the segments of one store, which of the outputs contains it, if
// any does. Segments and outputs may be of several services, hours and classes: an output
// contains segments of its own only. An output never contains an output. Outputs whose
// list cannot be read and those that are rejected contain nothing; of several that contain a
// segment the one of the lowest generation is named. It is pure.
func Contain(segments []Segment, outputs []Output) []Place {
	type key struct {
		Scope
		Identity
	}
	type batchKey struct {
		Scope
		blobnaming.Batch
	}
	places := make([]Place, len(segments))
	contained := make(map[key]Place)
	batches := make(map[batchKey]bool)
	for i, o := range outputs {
		if o.Err != nil || o.Rejected {
			continue
		}
		scope := o.Scope()
		for j, input := range o.Inputs {
			k := key{scope, IdentityOf(input)}
			if first, ok := contained[k]; !ok || o.Name.Output() < outputs[first.Output].Name.Output() {
				contained[k] = Place{Output: i, Input: j}
			}
			batches[batchKey{scope, input.Batch}] = true
		}
	}
	for i, s := range segments {
		places[i].Output = -1
		if s.Meta.IsOutput() {
			continue
		}
		scope := s.Scope()
		if place, ok := contained[key{scope, s.Identity()}]; ok {
			places[i] = place
			continue
		}
		places[i].Differs = batches[batchKey{scope, s.Meta.Batch}]
	}
	return places
}

// Shared are the inputs of each output that another one of a lower generation contains
// too. The protocol excludes it in a day that is kept; a reader that leaves their records out of
// the later output is right whatever happened. Nil where there are none.
func Shared(outputs []Output) map[int][]int {
	type key struct {
		Scope
		Identity
	}
	first := make(map[key]int)
	for i, o := range outputs {
		for _, input := range o.inputs() {
			k := key{o.Scope(), IdentityOf(input)}
			if other, ok := first[k]; !ok || o.Name.Output() < outputs[other].Name.Output() {
				first[k] = i
			}
		}
	}
	var shared map[int][]int
	for i, o := range outputs {
		for j, input := range o.inputs() {
			if first[key{o.Scope(), IdentityOf(input)}] == i {
				continue
			}
			if shared == nil {
				shared = make(map[int][]int)
			}
			shared[i] = append(shared[i], j)
		}
	}
	return shared
}

// inputs are those that count.
func (o Output) inputs() []segment.Origin {
	if o.Err != nil || o.Rejected {
		return nil
	}
	return o.Inputs
}

// ErrNoOutput is what is wrong with a blob that has an output's name and is none, or
// is one of another class.
var ErrNoOutput = errors.New("not an output of its class")

// ReadOutput reads the list of inputs of a listed output, in one request. What is wrong
// with the list is in Output.Err, as a [*segment.CorruptError]; an error is one of storage.
func ReadOutput(ctx context.Context, read segment.Range, s Segment) (Output, error) {
	o := Output{Segment: s}
	if !s.Meta.IsOutput() || !s.Name.HasClass(s.Meta.Class) {
		o.Err = fmt.Errorf("%s: %w", s.Name, ErrNoOutput)
		return o, nil
	}
	footer, origins, err := segment.ReadOrigins(ctx, read, s.Size, s.Meta.Origins)
	if err == nil {
		err = footer.Check(s.Meta)
	}
	if err == nil && footer.Service != s.Name.Service || err == nil && footer.BucketStart != s.Name.Bucket.Unix() {
		err = &segment.CorruptError{Part: "footer", Offset: footer.Footer, Reason: "it is that of another name"}
	}
	if corrupt := (*segment.CorruptError)(nil); errors.As(err, &corrupt) || errors.Is(err, segment.ErrUnsupported) {
		o.Err = err
		return o, nil
	}
	if err != nil {
		return Output{}, err
	}
	o.Inputs = origins.Inputs
	return o, nil
}
