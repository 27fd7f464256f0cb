package compaction

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"logstow/catalog"
	"logstow/internal/parallel"
	"logstow/internal/retry"
	"logstow/segment"
	"logstow/store"
)

const (
	// wholeSize is the maximum size of an input that is read in one request. Of larger inputs the footer is read first,
	// and each block when the merge needs it.
	wholeSize = 1 << 20
	// readsAhead and bytesAhead limit the number and total size of inputs that are prefetched.
	readsAhead = 64
	bytesAhead = 12 << 20
)

// inputError is the error of an input that cannot be merged because it is damaged, or not a segment.
type inputError struct {
	s   catalog.Segment
	err error
}

func (e *inputError) Error() string { return fmt.Sprintf("%s is left out: %v", e.s.Name, e.err) }
func (e *inputError) Unwrap() error { return e.err }

// blobInput is an input whose footer has been read, or the reason why it cannot be read.
type blobInput struct {
	catalog.Segment
	footer *segment.Footer
	// body is the whole blob, nil if only the footer has been read.
	body []byte
	err  error
}

// fetch reads inputs ahead, and yields them in order.
func fetch(ctx context.Context, b store.BlobReader, inputs []catalog.Segment) iter.Seq[blobInput] {
	w := parallel.Window{First: readsAhead, Max: readsAhead, Bytes: bytesAhead}
	weigh := func(s catalog.Segment) int64 {
		if s.Size > wholeSize {
			return 0
		}
		return s.Size
	}
	return parallel.Ordered(ctx, w, slices.Values(inputs), weigh, func(ctx context.Context, s catalog.Segment) blobInput {
		in := blobInput{Segment: s}
		in.err = segment.ReadTwice(ctx, func() error { return in.read(ctx, b) })
		return in
	})
}

// instancesOf returns the instances of the inputs that a relay wrote, by their index, from their footers.
func instancesOf(ctx context.Context, b store.BlobReader, inputs []catalog.Segment) (map[int][]string, error) {
	all := make(map[int][]string)
	var mu sync.Mutex
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(readsAhead)
	for i, s := range inputs {
		if s.Meta.Instances == 0 {
			continue
		}
		reads.Go(func() error {
			var footer *segment.Footer
			err := segment.ReadTwice(ctx, func() (err error) {
				footer, err = readFooter(ctx, retry.Range(b, s.Ref()), s)
				return err
			})
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			all[i] = footer.Instances
			return nil
		})
	}
	return all, reads.Wait()
}

// readFooter reads the footer of an input. A damaged input is an [*inputError].
func readFooter(ctx context.Context, read segment.Range, s catalog.Segment) (*segment.Footer, error) {
	footer, err := segment.ReadFooter(ctx, read, s.Size, s.Meta.Footer)
	if err == nil {
		err = footer.Check(s.Meta)
	}
	if err == nil {
		err = s.CheckName(footer)
	}
	if err != nil {
		return nil, inputFailed(ctx, s, err)
	}
	return footer, nil
}

// read reads the input's footer, or all of it.
func (in *blobInput) read(ctx context.Context, b store.BlobReader) (err error) {
	read := retry.Range(b, in.Ref())
	if in.Size <= wholeSize {
		if in.body, err = read(ctx, 0, in.Size); err != nil {
			return inputFailed(ctx, in.Segment, err)
		}
		read = store.BytesRange(in.body)
	}
	in.footer, err = readFooter(ctx, read, in.Segment)
	return err
}

// inputFailed returns the error of reading an input: an [*inputError] if the input is damaged, or cannot be read although others can, as
// in the archive tier; otherwise one of storage.
func inputFailed(ctx context.Context, s catalog.Segment, err error) error {
	var storage *store.Error
	switch {
	case ctx.Err() != nil:
		return err
	case errors.As(err, &storage) && errors.Is(err, store.ErrInvalid) && storage.Status == http.StatusConflict: // the blob's state is the reason
		return &inputError{s, err}
	case segment.IsDamage(err), errors.Is(err, segment.ErrUnsupported), errors.Is(err, segment.ErrNoFooter), errors.Is(err, store.ErrRange):
		return &inputError{s, err}
	}
	return fmt.Errorf("cannot read %s: %w", s.Name, err)
}
