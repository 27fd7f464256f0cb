package fetch

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"logstow/query/source"

	"logstow/blobnaming"
	"logstow/catalog"
	"logstow/segment"
	"logstow/store"
)

// errStale is the error of a segment that is in the index but has been deleted.
var errStale = errors.New("the index is stale: the segment is gone")

// A MovedError ends a step whose segments have to be replaced by others with the same records. Either an input of compaction
// was removed, or it is damaged and an output of another store contains it, or an output is damaged and its inputs still
// exist.
type MovedError struct {
	// Segment is the segment that cannot be read.
	Segment *source.Segment
	// Output contains Segment and Inputs are its inputs; nil if Segment is itself an output.
	Output *source.Segment
	Inputs []segment.Origin

	cause error
	// unread reports whether no input of a damaged output that is still to be read can match.
	unread func(*source.Segment) bool
}

// Error returns the message of the cause.
func (e *MovedError) Error() string { return e.cause.Error() }

// Unwrap returns the cause.
func (e *MovedError) Unwrap() error { return e.cause }

// Replace returns the segments to read instead of segments, the list of the step that failed.
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
	byIdentity := make(map[catalog.Identity]int, len(e.Inputs))
	for i, input := range e.Inputs {
		byIdentity[catalog.IdentityOf(input)] = i
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

// revealed returns the inputs of a damaged output that still exist. If it has other inputs that may match, the output
// follows, with the existing ones excluded. An input that cannot be read, because it is forged or damaged too, is read in the output.
func (e *MovedError) revealed() []*source.Segment {
	rest, bare := *e.Segment, *e.Segment
	bare.Hidden = nil
	rest.Excluded = maps.Clone(rest.Excluded)
	if rest.Excluded == nil {
		rest.Excluded = make(map[int]bool, len(rest.Hidden))
	}
	var revealed []*source.Segment
	for input, s := range rest.Hidden {
		if rest.Excluded[input] {
			continue
		}
		one := *s
		one.Elsewhere = cmp.Or(one.Elsewhere, &bare)
		revealed = append(revealed, &one)
		rest.Excluded[input] = true
	}
	rest.Hidden = nil
	slices.SortFunc(revealed, source.Compare)
	if e.unread(&rest) {
		return revealed
	}
	return append(revealed, &rest)
}

func identityOf(s *source.Segment) catalog.Identity {
	return s.Entry().Identity()
}

func sameScope(a, b *source.Segment) bool {
	return !a.Foreign && !a.Meta.IsOutput() && a.Store == b.Store && a.Entry().Scope() == b.Entry().Scope()
}

// moved ends the step with a [MovedError] if the records of a segment that cannot be read are in other segments.
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
		output, inputs = f.outputOfAny(ctx, s)
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

// unread reports whether none of the inputs of an output that are not excluded can match.
func (f *Fetcher) unread(ctx context.Context, output *source.Segment) bool {
	inputs := f.inputsOf(context.WithoutCancel(ctx), output)
	if inputs == nil {
		return false
	}
	for i, input := range inputs {
		if !output.Excluded[i] && f.Matcher.MayMatch(input.Start, input.End, input.Levels) &&
			f.Matcher.MayMatchOrigin(output.Name.Service, input.Instance) {
			return false
		}
	}
	return true
}

// outputOfAny finds the output of compaction that contains a segment, in its store or in that of a copy.
func (f *Fetcher) outputOfAny(ctx context.Context, s *source.Segment) (output *source.Segment, inputs []segment.Origin) {
	tried := make(map[string]bool)
	for _, one := range append([]*source.Segment{s}, s.Copies...) {
		if tried[one.Store] {
			continue
		}
		tried[one.Store] = true
		if output, inputs = f.outputOf(ctx, one); output != nil {
			break
		}
	}
	return output, inputs
}

// outputOf finds the output of compaction that contains a segment, and its inputs; nil if there is none.
func (f *Fetcher) outputOf(ctx context.Context, s *source.Segment) (*source.Segment, []segment.Origin) {
	rejected := make(map[blobnaming.Name]bool)
	var outputs []*source.Segment
	for page, err := range s.Catalog.Outputs(ctx, s.Name.Service, s.Name.Bucket, s.Name.Bucket.Add(1)) {
		if err != nil {
			return nil, nil
		}
		for _, e := range page {
			switch {
			case e.Kind == catalog.KindRejection:
				rejected[e.Name] = true
			case e.Kind == catalog.KindOutput && e.Name.HasClass(s.Meta.Class) && catalog.MayContain(e.Meta, s.Meta):
				outputs = append(outputs, &source.Segment{
					Store: s.Store, Name: e.Name, Meta: e.Meta, Size: e.Size, ETag: e.ETag, Tier: e.Tier, Created: e.Created,
					Blobs: source.InTier(s.Catalog.Compacted, e.Tier), Catalog: s.Catalog, Cache: s.Cache,
				})
			}
		}
	}
	for _, output := range outputs {
		if rejected[output.Name] {
			continue
		}
		inputs := f.inputsOf(ctx, output)
		if slices.ContainsFunc(inputs, func(o segment.Origin) bool { return catalog.IdentityOf(o) == identityOf(s) }) {
			return output, inputs
		}
	}
	return nil, nil
}

// inputsOf returns the inputs of an output, nil if they cannot be read.
func (f *Fetcher) inputsOf(ctx context.Context, s *source.Segment) []segment.Origin {
	read := func(ctx context.Context, off, n int64) ([]byte, error) { return f.readOnly(ctx, s, off, n) }
	output, err := catalog.ReadOutput(ctx, read, s.Entry())
	if err != nil || output.Err != nil {
		return nil
	}
	return output.Inputs
}
