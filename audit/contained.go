package audit

import (
	"context"
	"errors"
	"slices"

	"logstow/blobnaming"
	"logstow/containment"
	"logstow/internal/retry"
	"logstow/store"
)

// segment returns the blob as a segment.
func (e *listedBlob) segment() containment.Segment {
	return containment.Segment{Name: e.entity.Name, Meta: e.entity.Meta, Size: e.entity.Size, ETag: e.entity.ETag, Created: e.created}
}

// misnamed describes how an output of compaction differs from its name; "" if it does not.
func (e *listedBlob) misnamed() string {
	name, meta := e.entity.Name, e.entity.Meta
	switch {
	case meta.IsOutput() && !name.HasClass(meta.Class):
		return "an output of compaction whose name is not one of its class"
	case !meta.IsOutput() && name.Output() > 0:
		return "the name is that of an output of compaction, but the blob is not one"
	}
	return ""
}

// noteRejection marks the output that a marker rejects. The output is listed just before the marker.
func noteRejection(blobs []listedBlob, marker string) {
	output, err := blobnaming.ParseRejection(marker)
	if err != nil {
		return
	}
	for i := len(blobs) - 1; i >= 0 && blobs[i].hour.Equal(output.Bucket); i-- {
		if blobs[i].name == output.String() {
			blobs[i].rejected = true
		}
	}
}

// withoutContained removes the differences that compaction causes between its steps. A segment needs no
// entity if an output contains it; then the output needs one. An output needs no entity while all of its
// inputs have one.
func (a *auditor) withoutContained(ctx context.Context, blobs []listedBlob, differences []Difference) ([]Difference, error) {
	missing := make(map[string]bool)
	for _, d := range differences {
		if d.Kind == MissingEntity {
			missing[d.Object] = true
		}
	}
	outputs, damage, err := a.undecided(ctx, blobs, missing)
	if err != nil || len(outputs) == 0 {
		return append(differences, damage...), err
	}
	type key struct {
		containment.Scope
		containment.Identity
	}
	indexed := make(map[key]bool)
	var plain []containment.Segment // those that are missing
	for i := range blobs {
		e := &blobs[i]
		switch s := e.segment(); {
		case e.bad != nil || s.Meta.IsOutput():
		case missing[e.name]:
			plain = append(plain, s)
		default:
			indexed[key{s.Scope(), s.Identity()}] = true
		}
	}
	unneeded := make(map[string]bool)
	for i, place := range containment.Contain(plain, outputs) {
		if place.Contained() {
			unneeded[plain[i].Name.String()] = true
		}
	}
	for _, o := range outputs {
		needed := o.Err != nil
		for _, input := range o.Inputs {
			needed = needed || !indexed[key{o.Scope(), containment.IdentityOf(input)}]
		}
		if !needed {
			unneeded[o.Name.String()] = true
		}
	}
	differences = slices.DeleteFunc(differences, func(d Difference) bool { return d.Kind == MissingEntity && unneeded[d.Object] })
	return append(differences, damage...), nil
}

// undecided returns, with their inputs, the outputs that have no entity or may contain segments without an
// entity. Damaged lists of inputs are differences; at greater depths other comparisons report them.
func (a *auditor) undecided(ctx context.Context, blobs []listedBlob, missing map[string]bool) (outputs []containment.Output, damage []Difference, err error) {
	if len(missing) == 0 {
		return nil, nil, nil
	}
	var listed, plain []containment.Segment
	for i := range blobs {
		e := &blobs[i]
		switch {
		case e.bad != nil || e.rejected || e.misnamed() != "":
		case e.entity.Meta.IsOutput():
			listed = append(listed, e.segment())
		case missing[e.name]:
			plain = append(plain, e.segment())
		}
	}
	undecided := containment.Undecided(listed, plain)
	for i, s := range listed {
		if _, needed := slices.BinarySearch(undecided, i); !needed && !missing[s.Name.String()] {
			continue
		}
		o, err := containment.ReadOutput(ctx, a.rangeOf(s.Name.String()), s)
		switch {
		case errors.Is(err, store.ErrNotFound):
			continue // deleted since
		case err != nil:
			if err := a.noteUnreadable(ctx, err); err != nil {
				return nil, nil, err
			}
			continue
		case o.Err != nil && a.o.Depth == Listing:
			damage = append(damage, Difference{Kind: BadSegment, Object: s.Name.String(), Text: o.Err.Error()})
		}
		outputs = append(outputs, o)
	}
	return outputs, damage, nil
}

// rangeOf returns a function that reads ranges of a blob, with retries.
func (a *auditor) rangeOf(name string) func(ctx context.Context, off, n int64) ([]byte, error) {
	return func(ctx context.Context, off, n int64) (b []byte, err error) {
		err = retry.Do(ctx, func() error {
			b, err = a.blobs.Read(ctx, name, off, n)
			return err
		})
		return b, err
	}
}
