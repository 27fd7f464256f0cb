package audit

import (
	"context"
	"errors"
	"slices"

	"logstow/catalog"
	"logstow/internal/retry"
	"logstow/store"
)

// segment returns the blob as a segment.
func (e *listedBlob) segment() catalog.Segment {
	return catalog.Segment{Name: e.entity.Name, Meta: e.entity.Meta, Size: e.entity.Size, ETag: e.entity.ETag, Created: e.created}
}

// withoutContained removes the differences that compaction causes between its steps: a segment needs no entity if an output with an
// entity contains it, and an output needs none while all of its inputs exist.
func (a *auditor) withoutContained(ctx context.Context, p part, blobs []listedBlob, differences []Difference) ([]Difference, error) {
	var missing []catalog.Segment
	for _, d := range differences {
		if d.Kind == MissingEntity {
			missing = append(missing, d.put.segment())
		}
	}
	if len(missing) == 0 {
		return differences, nil
	}
	unneeded, damage, err := make(map[string]bool), []Difference(nil), error(nil)
	if p.outputs {
		damage, err = a.outputsInBoth(ctx, p, missing, unneeded)
	} else {
		damage, err = a.containedIn(ctx, p, missing, unneeded)
	}
	differences = slices.DeleteFunc(differences, func(d Difference) bool { return d.Kind == MissingEntity && unneeded[d.Object] })
	return append(differences, damage...), err
}

// containedIn adds the names of the plain segments to unneeded that an output with an entity contains.
func (a *auditor) containedIn(ctx context.Context, p part, plain []catalog.Segment, unneeded map[string]bool) (damage []Difference, err error) {
	tables, err := a.listTables(ctx) // some may be new
	if err != nil {
		return nil, err
	}
	of := part{service: p.service, day: p.day, outputs: true, last: hours, tables: tablesOf(tables, p.day, true)}
	listed, err := a.list(ctx, of)
	if err != nil || len(listed) == 0 {
		return nil, err
	}
	if _, err := a.read(ctx, of, listed); err != nil {
		return nil, err
	}
	var indexed []catalog.Segment
	for i := range listed {
		if e := &listed[i]; e.bad == nil && !e.rejected && e.agrees {
			indexed = append(indexed, e.segment())
		}
	}
	var outputs []catalog.Output
	for _, i := range catalog.Undecided(indexed, plain) {
		o, found, err := a.readOutput(ctx, indexed[i])
		if err != nil {
			return nil, err
		}
		if found {
			outputs = append(outputs, o)
		}
	}
	for i, place := range catalog.Contain(plain, outputs) {
		if place.Contained() {
			unneeded[plain[i].Name.String()] = true
		}
	}
	return nil, nil
}

// outputsInBoth adds the names of the outputs to unneeded all of whose inputs exist. A damaged list of inputs is a difference; at greater
// depths other comparisons report it.
func (a *auditor) outputsInBoth(ctx context.Context, p part, outputs []catalog.Segment, unneeded map[string]bool) (damage []Difference, err error) {
	inputs := make(map[string]map[catalog.Identity]bool)
	for _, s := range outputs {
		o, found, err := a.readOutput(ctx, s)
		switch {
		case err != nil:
			return nil, err
		case !found:
			continue
		case o.Err != nil && a.o.Depth == Listing:
			damage = append(damage, Difference{Kind: BadSegment, Object: s.Name.String(), Text: o.Err.Error()})
		}
		if o.Err != nil {
			continue
		}
		of := make(map[catalog.Identity]bool, len(o.Inputs))
		for _, input := range o.Inputs {
			of[catalog.IdentityOf(input)] = true
		}
		inputs[s.Name.String()] = of
	}
	if len(inputs) == 0 {
		return damage, nil
	}
	for page, err := range a.catalog.Raw(ctx, p.service, p.day, p.day.Add(day)) {
		if err != nil {
			return nil, err
		}
		for _, e := range page {
			if e.Kind == catalog.KindPlain {
				for _, of := range inputs {
					delete(of, e.Identity())
				}
			}
		}
	}
	for name, left := range inputs {
		if len(left) == 0 {
			unneeded[name] = true
		}
	}
	return damage, nil
}

// readOutput reads the list of inputs of an output; found is false if the output was deleted, or could not be read, which is a problem.
func (a *auditor) readOutput(ctx context.Context, s catalog.Segment) (o catalog.Output, found bool, err error) {
	o, err = catalog.ReadOutput(ctx, retry.Range(a.compacted, s.Ref()), s)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return o, false, nil
	case err != nil:
		return o, false, a.noteUnreadable(ctx, err)
	}
	return o, true, nil
}
