package compaction

import (
	"context"
	"errors"
	"fmt"

	"logstow/blobnaming"
	"logstow/containment"
	"logstow/store"
	"logstow/tableindex"
)

// ErrInputsGone is returned by Reject if inputs of the output do not exist any more: ignoring the output would lose records.
var ErrInputsGone = errors.New("inputs of the output are gone")

// Reject makes readers and compaction ignore an output, by creating a marker blob. Readers read its inputs again; its name stays
// taken. Reject fails with [ErrInputsGone] if not all inputs are listed. If the output's list of inputs cannot be read, they are
// unknown, and the caller must make sure that they exist. No compaction may run concurrently.
func Reject(ctx context.Context, s store.Store, output string) error {
	name, err := blobnaming.Parse(output)
	if err == nil && name.Output() == 0 {
		err = errors.New("not the name of an output")
	}
	if err != nil {
		return fmt.Errorf("cannot reject %s: %w", output, err)
	}
	r := newRun(s, DefaultOptions())
	listed, err := r.inputsListed(ctx, name)
	if err != nil {
		return fmt.Errorf("cannot reject %s: %w", output, err)
	}
	marker := blobnaming.RejectionOf(name)
	_, err = s.Blobs().Create(ctx, marker, []byte{}, store.CreateOptions{ContentType: "text/plain"})
	if err != nil && !errors.Is(err, store.ErrExists) {
		return fmt.Errorf("cannot reject %s: %w", output, err)
	}
	// A compaction that did not see the marker may have removed inputs since.
	if _, err := r.inputsListed(ctx, name); err != nil {
		return fmt.Errorf("cannot reject %s: %w", output, errors.Join(err, s.Blobs().Delete(ctx, store.AnyVersion(marker))))
	}
	// The index has no markers.
	entity := tableindex.Entity{Name: listed.Name, Meta: listed.Meta}
	if err := tableindex.Remove(ctx, s.Tables(), entity.Table(s.Container()), []store.Key{entity.Key()}); err != nil {
		return fmt.Errorf("cannot remove the entity of %s: %w", output, err)
	}
	return nil
}

// inputsListed checks that an output and all its inputs are listed, and returns the output as listed.
func (r *run) inputsListed(ctx context.Context, name blobnaming.Name) (*containment.Segment, error) {
	var l listing
	prefix := blobnaming.Prefixes(name.Service, name.Bucket, name.Bucket.Add(1))[0]
	for page, err := range r.store.Blobs().List(ctx, prefix) {
		if err != nil {
			return nil, err
		}
		for _, b := range page {
			l.add(b)
		}
	}
	var output *containment.Segment
	for _, s := range l.segments {
		if s.Name == name {
			output = &s
		}
	}
	if output == nil {
		return nil, store.ErrNotFound
	}
	o, err := containment.ReadOutput(ctx, rangeOf(r.store.Blobs(), name.String()), *output)
	if err != nil || o.Err != nil {
		return output, err
	}
	if gone := l.missing(o); gone > 0 {
		return nil, fmt.Errorf("%d of %d: %w", gone, len(o.Inputs), ErrInputsGone)
	}
	return output, nil
}

// missing returns the number of inputs of an output that are not listed.
func (l *listing) missing(o containment.Output) int {
	listed := make(map[containment.Identity]bool)
	for _, s := range l.segments {
		if s.Scope() == o.Scope() && !s.Meta.IsOutput() {
			listed[s.Identity()] = true
		}
	}
	gone := 0
	for _, input := range o.Inputs {
		if !listed[containment.IdentityOf(input)] {
			gone++
		}
	}
	return gone
}
