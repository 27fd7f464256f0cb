package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"logstow/internal/retry"
	"logstow/segment"
	"logstow/store"
)

// errDeleted reports that a blob was deleted after it was listed.
var errDeleted = errors.New("the blob is gone")

// examine compares a part at the requested depth. It reads only the wanted blobs.
func (a *auditor) examine(ctx context.Context, p part, blobs []listedBlob, index indexPart, wanted func(name string) bool) ([]Difference, error) {
	differences, err := a.withoutContained(ctx, p, blobs, compare(a.container, blobs, index))
	if err != nil || a.o.Depth == Listing {
		return differences, err
	}
	type result struct {
		damage *Difference // of the segment
		entity *Difference // of its entity's minutes
	}
	results := make([]result, len(blobs))
	var group errgroup.Group
	group.SetLimit(cap(a.reading))
	for i := range blobs {
		e := &blobs[i]
		if e.bad != nil || e.rejected || !wanted(e.name) {
			continue
		}
		group.Go(func() error {
			f, damage, err := a.open(ctx, e)
			switch {
			case errors.Is(err, errDeleted):
			case err != nil:
				return a.noteUnreadable(ctx, err)
			case damage != nil:
				results[i].damage = damage
			default:
				if e.agrees && e.minutes != minutesHash(f.Minutes) {
					results[i].entity = &Difference{Kind: WrongEntity, Object: e.name, Text: "Minutes differ from the footer's", put: e}
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	damaged := make(map[string]bool)
	for i, r := range results {
		if r.damage != nil {
			damaged[blobs[i].name] = true
		}
	}
	// An entity that differs from a damaged segment is not another difference.
	differences = slices.DeleteFunc(differences, func(d Difference) bool { return d.Kind == WrongEntity && damaged[d.Object] })
	for _, r := range results {
		if r.damage != nil {
			differences = append(differences, *r.damage)
		}
		if r.entity != nil {
			differences = append(differences, *r.entity)
		}
	}
	return differences, nil
}

// open reads a segment's footer, with Blocks the whole segment, and compares it with name and metadata. damage
// is the first mismatch; errDeleted reports that the blob does not exist any more.
func (a *auditor) open(ctx context.Context, e *listedBlob) (f *segment.Footer, damage *Difference, err error) {
	select {
	case a.reading <- struct{}{}:
		defer func() { <-a.reading }()
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	container := a.blobs
	if e.outputs {
		container = a.compacted
	}
	read := retry.Range(container, store.BlobRef{Name: e.name, ETag: e.entity.ETag})
	err = segment.ReadTwice(ctx, func() (err error) {
		switch {
		case a.o.Depth == Blocks:
			if f, err = segment.Verify(ctx, read, e.entity.Size); err == nil {
				err = checkEnd(ctx, read, e.entity.Size)
			}
		case e.entity.Meta.IsOutput():
			f, _, err = segment.ReadOrigins(ctx, read, e.entity.Size, e.entity.Meta.Origins)
		default:
			f, err = segment.ReadFooter(ctx, read, e.entity.Size, e.entity.Meta.Footer)
			if segment.IsDamage(err) { // the metadata may have a wrong offset
				if elsewhere, errElsewhere := segment.ReadFooter(ctx, read, e.entity.Size, -1); errElsewhere == nil {
					f, err = elsewhere, nil
				}
			}
		}
		return err
	})
	if err == nil {
		damage = mismatch(e, f)
		return f, damage, nil
	}
	switch {
	case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrNoContainer):
		return nil, nil, errDeleted
	case segment.IsDamage(err), errors.Is(err, segment.ErrUnsupported), errors.Is(err, store.ErrRange):
		return nil, &Difference{Kind: BadSegment, Object: e.name, Text: err.Error()}, nil
	}
	return nil, nil, fmt.Errorf("%s: %w", e.name, err)
}

// checkEnd checks that a blob has no bytes after its listed size. A directory lists the size with which it stored the blob.
func checkEnd(ctx context.Context, read segment.Range, size int64) error {
	_, err := read(ctx, size, 1)
	switch {
	case errors.Is(err, store.ErrRange):
		return nil
	case err != nil:
		return fmt.Errorf("read after the end of segment: %w", err)
	}
	return &segment.CorruptError{Part: "trailer", Offset: size, Reason: "bytes follow the end of the segment"}
}

// mismatch describes how a footer differs from name and metadata.
func mismatch(e *listedBlob, f *segment.Footer) *Difference {
	d := &Difference{Kind: WrongMetadata, Object: e.name}
	switch {
	case f.Service != e.entity.Name.Service:
		d.Text = fmt.Sprintf("the footer is of service %s", f.Service)
	case f.BucketStart != e.entity.Name.Bucket.Unix():
		d.Text = fmt.Sprintf("the footer is of another bucket, which begins %d s later", f.BucketStart-e.entity.Name.Bucket.Unix())
	default:
		err := f.Check(e.entity.Meta)
		if err == nil {
			return nil
		}
		d.Text = err.Error()
	}
	return d
}

// noteUnreadable records an error that only concerns one segment. It returns any other error.
func (a *auditor) noteUnreadable(ctx context.Context, err error) error {
	if store.Retryable(err) || ctx.Err() != nil {
		return err
	}
	a.problem(ctx, err)
	return nil
}

func compareDifferences(a, b Difference) int {
	return cmp.Or(cmp.Compare(a.Object, b.Object), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Text, b.Text))
}
