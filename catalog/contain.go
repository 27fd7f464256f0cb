package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"logstow/blobnaming"
	"logstow/record"
	"logstow/segment"
	"logstow/store"
)

// Output is an output of compaction with its list of inputs.
type Output struct {
	Segment
	// Inputs are in the order of [segment.Origins].
	Inputs []segment.Origin
	// Err is set if the list of inputs cannot be read. It is then unknown what the output contains.
	Err error
	// Rejected is set if a marker makes readers ignore the output.
	Rejected bool
}

// MayContain reports whether an output may contain a plain segment of its scope, by the metadata of both. If not, the list of
// inputs need not be read for that segment.
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

// Undecided returns the indexes, ascending, of the outputs that may contain one of the plain segments by the metadata of both.
// Their lists of inputs must be read. Outputs in plain are ignored.
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

// Place tells which output contains a listed segment.
type Place struct {
	// Output is an index into the outputs, or -1 if none contains the segment.
	Output int
	// Input is the index of the segment in the inputs of the output.
	Input int
	// Differs is set if no output contains the segment, but an output has an input with the same Batch and another
	// identity. Readers must read and report such a segment.
	Differs bool
}

// Contained reports whether an output contains the segment, so that readers ignore the segment.
func (p Place) Contained() bool { return p.Output >= 0 }

// Contain returns, for each of the segments of one store, the output that contains it, if any. Segments and outputs may have
// several scopes; an output only contains plain segments of its scope. An output that is rejected, or whose list cannot be
// read, contains nothing. If several outputs contain a segment, Contain returns the one with the lowest generation.
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

// Shared returns, by the index of an output, the indexes of its inputs that an output of a lower generation contains too; nil if
// there are none. The protocol excludes this unless retention is deleting the day. A reader that ignores these inputs in the
// later output reads each record once in any case. See [MayShare].
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

// MayShare returns the indexes, ascending, of the outputs that may share an input with another of the same store and scope. Their
// lists must be read for [Shared]. Two outputs share inputs only if the name of the lower generation was freed and taken again, so that
// it is not the older one.
func MayShare(outputs []Segment) []int {
	byScope := make(map[Scope][]Segment)
	for _, o := range outputs {
		byScope[o.Scope()] = append(byScope[o.Scope()], o)
	}
	var may []int
	for i, o := range outputs {
		if slices.ContainsFunc(byScope[o.Scope()], func(other Segment) bool {
			return o.Meta.Start <= other.Meta.End && other.Meta.Start <= o.Meta.End &&
				cmp.Compare(o.Name.Output(), other.Name.Output())*o.Created.Compare(other.Created) <= 0 && o.Name != other.Name
		}) {
			may = append(may, i)
		}
	}
	return may
}

// inputs returns the inputs of an output that is neither rejected nor unreadable.
func (o Output) inputs() []segment.Origin {
	if o.Err != nil || o.Rejected {
		return nil
	}
	return o.Inputs
}

// Places is [Contain] for the plain segments of scopes of this catalog, after setting the inputs of outputs that may contain one. Outputs
// that are gone contain nothing.
func (c *Catalog) Places(ctx context.Context, plain []Segment, outputs []Output) ([]Place, error) {
	segments := make([]Segment, len(outputs))
	for i, o := range outputs {
		segments[i] = o.Segment
	}
	for _, i := range Undecided(segments, plain) {
		if o := &outputs[i]; o.Err == nil && !o.Rejected {
			if err := c.ReadInputs(ctx, o); err != nil {
				return nil, err
			}
		}
	}
	return Contain(plain, outputs), nil
}

// ReadInputs sets the inputs of an output. An output that is gone, or whose list is damaged, has none.
func (c *Catalog) ReadInputs(ctx context.Context, o *Output) error {
	read, err := ReadOutput(ctx, c.Retry.Range(c.Compacted, o.Ref()), o.Segment)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", o.Name, err)
	}
	o.Inputs = read.Inputs
	return nil
}

// ErrNoOutput is the error of a blob with the name of an output that is no output, or one of another class.
var ErrNoOutput = errors.New("not an output of its class")

// ReadOutput reads the list of inputs of a listed output, in one request. If the list is damaged or unsupported, it sets
// Output.Err; it returns an error only if storage fails.
func ReadOutput(ctx context.Context, read segment.Range, s Segment) (Output, error) {
	o := Output{Segment: s}
	if !s.Meta.IsOutput() || !s.Name.HasClass(s.Meta.Class) {
		o.Err = fmt.Errorf("%s: %w", s.Name, ErrNoOutput)
		return o, nil
	}
	_, origins, err := s.ReadOrigins(ctx, read)
	if segment.IsDamage(err) || errors.Is(err, segment.ErrUnsupported) {
		o.Err = err
		return o, nil
	}
	if err != nil {
		return Output{}, err
	}
	o.Inputs = origins.Inputs
	return o, nil
}
