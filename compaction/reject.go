package compaction

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"logstow/blobnaming"
	"logstow/catalog"
	"logstow/internal/retry"
	"logstow/segment"
	"logstow/store"
	"logstow/tableindex"
)

// ErrInputsGone is returned by Reject if inputs of the output do not exist any more, or their copies are damaged: ignoring the output
// would lose records.
var ErrInputsGone = errors.New("inputs of the output are gone or damaged")

// Reject makes readers and compaction ignore an output, by creating a marker blob. Readers read its inputs again; its name stays
// taken. Reject fails with [ErrInputsGone] unless each input has a copy that is read and verified as a whole. If the output's list of
// inputs cannot be read, they are unknown, and the caller must make sure that they exist. No compaction may run concurrently.
func Reject(ctx context.Context, s store.Store, output string) error {
	name, err := blobnaming.ParseOutput(output)
	if err != nil {
		return fmt.Errorf("cannot reject %s: not the name of an output: %w", output, err)
	}
	r := newRun(s, DefaultOptions())
	listed, err := r.inputsExist(ctx, name, true)
	if err != nil {
		return fmt.Errorf("cannot reject %s: %w", output, err)
	}
	marker := blobnaming.RejectionOf(name)
	_, err = s.Compacted().Create(ctx, marker, []byte{}, store.CreateOptions{ContentType: "text/plain", Tier: store.Hot})
	if err != nil && !errors.Is(err, store.ErrExists) {
		return fmt.Errorf("cannot reject %s: %w", output, err)
	}
	// A compaction that did not see the marker may have removed inputs since.
	if _, err := r.inputsExist(ctx, name, false); err != nil {
		return fmt.Errorf("cannot reject %s: %w", output, errors.Join(err, s.Compacted().Delete(ctx, store.AnyVersion(marker))))
	}
	// The index has no markers.
	entity := tableindex.Entity{Name: listed.Name, Meta: listed.Meta}
	if err := tableindex.Remove(ctx, s.Tables(), entity.Table(s.Container()), []store.Key{entity.Key()}); err != nil {
		return fmt.Errorf("cannot remove the entity of %s: %w", output, err)
	}
	return nil
}

// inputsExist checks that an output and a copy of each of its inputs are listed, and returns the output. With verify, it reads the
// copies.
func (r *run) inputsExist(ctx context.Context, name blobnaming.Name, verify bool) (*catalog.Segment, error) {
	chain, err := r.relist(ctx, catalog.Scope{Service: name.Service, Day: name.Bucket, Class: name.Class()})
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(chain.Outputs, func(o catalog.Output) bool { return o.Name == name })
	if i < 0 {
		return nil, store.ErrNotFound
	}
	output := chain.Outputs[i]
	o, err := catalog.ReadOutput(ctx, retry.Range(r.store.Compacted(), output.Ref()), output.Segment)
	if err != nil || o.Err != nil {
		return &output.Segment, err
	}
	gone := missing(chain.Plain, o, func(s catalog.Segment) bool {
		if err == nil && verify {
			var ok bool
			ok, err = r.intact(ctx, s)
			return ok
		}
		return true
	})
	switch {
	case err != nil:
		return nil, err
	case gone > 0:
		return nil, fmt.Errorf("%d of %d: %w", gone, len(o.Inputs), ErrInputsGone)
	}
	return &output.Segment, nil
}

// missing returns the number of inputs of an output of which none of the segments is an intact copy.
func missing(plain []catalog.Segment, o catalog.Output, intact func(catalog.Segment) bool) (gone int) {
	copies := make(map[catalog.Identity][]catalog.Segment)
	for _, s := range plain {
		copies[s.Identity()] = append(copies[s.Identity()], s)
	}
	for _, input := range o.Inputs {
		if !slices.ContainsFunc(copies[catalog.IdentityOf(input)], intact) {
			gone++
		}
	}
	return gone
}

// intact reads and verifies a whole segment. The error is one of storage.
func (r *run) intact(ctx context.Context, s catalog.Segment) (bool, error) {
	err := r.verify(ctx, s)
	var damaged *inputError
	if errors.As(err, &damaged) || errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// verify reads and verifies a whole plain segment. A damaged one is an [*inputError].
func (r *run) verify(ctx context.Context, s catalog.Segment) error {
	_, err := verifyStored(ctx, retry.Range(r.store.Blobs(), s.Ref()), s, segment.Verify)
	if err != nil {
		err = inputFailed(ctx, s, err)
	}
	return err
}
