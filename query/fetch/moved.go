package fetch

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"

	"logstow/query/source"

	"logstow/blobnaming"
	"logstow/containment"
	"logstow/segment"
	"logstow/store"
)

// errStale is the cause if the index has a segment that was deleted.
var errStale = errors.New("the index is stale: the segment is gone")

// A MovedError ends a step whose segments have to be replaced by others with the same records: an
// input of compaction was removed, or is damaged and in an output of another store, or an output is
// damaged and its inputs are still there.
type MovedError struct {
	// Segment cannot be read.
	Segment *source.Segment
	// Output contains it and has the Inputs, if Segment is an input.
	Output *source.Segment
	Inputs []segment.Origin

	cause  error
	unread func(*source.Segment) bool // reports whether an input has no matches
}

// Error is the cause.
func (e *MovedError) Error() string { return e.cause.Error() }

// Unwrap is the cause.
func (e *MovedError) Unwrap() error { return e.cause }

// Replace is the list of segments to read in place of segments.
func (e *MovedError) Replace(segments []*source.Segment) []*source.Segment {
	replaced := make([]*source.Segment, 0, len(segments))
	if e.Output == nil {
		for _, s := range segments {
			if s != e.Segment {
				replaced = append(replaced, s)
			}
		}
		return append(replaced, e.revealed()...)
	}
	output := *e.Output
	at := slices.IndexFunc(segments, func(s *source.Segment) bool { return s.Store == output.Store && s.Name == output.Name })
	if at >= 0 {
		output = *segments[at]
		output.Replaces = append(slices.Clip(output.Replaces), segments[at])
		output.Excluded = maps.Clone(output.Excluded)
	} else {
		output.Hidden = make(map[int]*source.Segment)
		maps.Copy(output.Hidden, e.Output.Hidden)
		output.Excluded = make(map[int]bool, len(e.Inputs))
		for i := range e.Inputs {
			output.Excluded[i] = true
		}
	}
	output.StoreOf = maps.Clone(output.StoreOf)
	include := func(input int, s *source.Segment) {
		delete(output.Excluded, input)
		output.Replaces = append(slices.Clip(output.Replaces), s)
		if s.Store == output.Store {
			return
		}
		if output.StoreOf == nil {
			output.StoreOf = make(map[int]string)
		}
		output.StoreOf[input] = s.Store
	}
	byIdentity := make(map[containment.Identity]int, len(e.Inputs))
	for i, input := range e.Inputs {
		byIdentity[containment.IdentityOf(input)] = i
	}
	for i, s := range segments {
		input, contained := byIdentity[identityOf(s)]
		switch {
		case i == at:
		case s == e.Segment:
			include(input, s)
		case at < 0 && contained && sameScope(s, e.Segment):
			include(input, s)
			output.Hidden[input] = s
		default:
			replaced = append(replaced, s)
		}
	}
	return append(replaced, &output)
}

// revealed are the inputs of a damaged output, and the output without them if it has others.
func (e *MovedError) revealed() []*source.Segment {
	rest := *e.Segment
	rest.Excluded = maps.Clone(rest.Excluded)
	if rest.Excluded == nil {
		rest.Excluded = make(map[int]bool, len(rest.Hidden))
	}
	var revealed []*source.Segment
	for input, s := range rest.Hidden {
		if !rest.Excluded[input] {
			revealed = append(revealed, s)
			rest.Excluded[input] = true
		}
	}
	rest.Hidden = nil
	slices.SortFunc(revealed, source.Compare)
	if e.unread(&rest) {
		return revealed
	}
	return append(revealed, &rest)
}

func identityOf(s *source.Segment) containment.Identity {
	return containment.Segment{Meta: s.Meta, Size: s.Size}.Identity()
}

func sameScope(a, b *source.Segment) bool {
	scope := func(s *source.Segment) containment.Scope {
		return containment.Segment{Name: s.Name, Meta: s.Meta}.Scope()
	}
	return !a.Foreign && !a.Meta.IsOutput() && a.Store == b.Store && scope(a) == scope(b)
}

// moved ends the step with a [MovedError] if the records of a segment that cannot be read are
// elsewhere.
func (f *Fetcher) moved(ctx context.Context, s *source.Segment, err error) bool {
	switch {
	case f.interrupt == nil || s.Foreign || store.Retryable(err):
		return false
	case s.Meta.IsOutput():
		if len(s.Hidden) == 0 {
			return false
		}
		f.Recorder.Note("%s: %v; its inputs are read instead", s, err)
		f.interrupt(&MovedError{Segment: s, cause: err, unread: func(rest *source.Segment) bool { return f.unread(ctx, rest) }})
		return true
	}
	var output *source.Segment
	var inputs []segment.Origin
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, errStale) {
		output, inputs = f.outputOf(ctx, s)
	}
	if output == nil && s.Elsewhere != nil {
		output, inputs = s.Elsewhere, f.inputsOf(ctx, s.Elsewhere)
	}
	if inputs == nil {
		return false
	}
	if output == s.Elsewhere {
		f.Recorder.Note("%s: %v; %s of %s is read instead", s, err, output, output.Store)
	}
	f.interrupt(&MovedError{Segment: s, Output: output, Inputs: inputs, cause: err})
	return true
}

// unread reports whether no input of an output that is not excluded has matches.
func (f *Fetcher) unread(ctx context.Context, output *source.Segment) bool {
	inputs := f.inputsOf(context.WithoutCancel(ctx), output)
	if inputs == nil {
		return false
	}
	for i, input := range inputs {
		if !output.Excluded[i] && f.Matcher.MayMatch(input.Start, input.End, input.Levels) && f.Matcher.MayMatchOrigin(output.Name.Service, input.Instance) {
			return false
		}
	}
	return true
}

// outputOf is the output of compaction that contains a segment, with its inputs; nil if none is found.
func (f *Fetcher) outputOf(ctx context.Context, s *source.Segment) (*source.Segment, []segment.Origin) {
	prefix := blobnaming.OutputPrefix(s.Name.Service, s.Name.Bucket)
	blobs, err := source.Collect(ctx, func() iter.Seq2[[]store.Blob, error] { return s.Blobs.List(ctx, prefix) })
	if err != nil {
		return nil, nil
	}
	for _, b := range blobs {
		listed, err := containment.NewSegment(b)
		rejection := func(other store.Blob) bool { return other.Name == blobnaming.RejectionOf(listed.Name) }
		if err != nil || !listed.Meta.IsOutput() || listed.Meta.Class != s.Meta.Class || !listed.Name.HasClass(s.Meta.Class) ||
			!containment.MayContain(listed.Meta, s.Meta) || slices.ContainsFunc(blobs, rejection) {
			continue
		}
		output := &source.Segment{
			Store: s.Store, Name: listed.Name, Meta: listed.Meta, Size: listed.Size, Tier: listed.Tier,
			Blobs: source.InTier(s.Blobs, listed.Tier), Cache: s.Cache,
		}
		inputs := f.inputsOf(ctx, output)
		if slices.ContainsFunc(inputs, func(o segment.Origin) bool { return containment.IdentityOf(o) == identityOf(s) }) {
			return output, inputs
		}
	}
	return nil, nil
}

// inputsOf is the list of inputs of an output, nil if it cannot be read.
func (f *Fetcher) inputsOf(ctx context.Context, s *source.Segment) []segment.Origin {
	read := func(ctx context.Context, off, n int64) ([]byte, error) { return f.readOnly(ctx, s, off, n) }
	output, err := containment.ReadOutput(ctx, read, containment.Segment{Name: s.Name, Meta: s.Meta, Size: s.Size})
	if err != nil || output.Err != nil {
		return nil
	}
	return output.Inputs
}
