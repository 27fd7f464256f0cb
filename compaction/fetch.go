package compaction

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"logstow/catalog"
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

// blobInput is an input whose footer has been read.
type blobInput struct {
	catalog.Segment
	footer *segment.Footer
	// body is the whole blob, nil if only the footer has been read.
	body []byte
	// release releases the memory acquired for body.
	release func()
}

// fetcher prefetches inputs in parallel and returns them in order.
type fetcher struct {
	results chan chan fetched
	cancel  context.CancelFunc
	running sync.WaitGroup
}

type fetched struct {
	input *blobInput
	err   error
}

// fetch starts reading inputs. The caller must call next at most once for each, and then close.
func fetch(ctx context.Context, b store.BlobReader, inputs []catalog.Segment) *fetcher {
	ctx, cancel := context.WithCancel(ctx)
	f := &fetcher{results: make(chan chan fetched, readsAhead-1), cancel: cancel}
	memory := semaphore.NewWeighted(bytesAhead)
	f.running.Go(func() {
		defer close(f.results)
		for _, s := range inputs {
			size := int64(0)
			if s.Size <= wholeSize {
				size = s.Size
			}
			if memory.Acquire(ctx, size) != nil {
				return
			}
			result := make(chan fetched, 1)
			select {
			case f.results <- result:
			case <-ctx.Done():
				return
			}
			f.running.Go(func() {
				var input *blobInput
				err := segment.ReadTwice(ctx, func() (err error) {
					input, err = readInput(ctx, b, s)
					return err
				})
				if err == nil {
					input.release = sync.OnceFunc(func() { memory.Release(size) })
				}
				result <- fetched{input, err}
			})
		}
	})
	return f
}

// next returns the next input.
func (f *fetcher) next(ctx context.Context) (*blobInput, error) {
	result, ok := <-f.results
	if !ok {
		return nil, context.Cause(ctx)
	}
	got := <-result
	return got.input, got.err
}

// close cancels reads in flight and waits for their goroutines.
func (f *fetcher) close() {
	f.cancel()
	for range f.results { // unblocks the sender
	}
	f.running.Wait()
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
	switch {
	case err != nil:
		return nil, inputFailed(ctx, s, err)
	case footer.Service != s.Name.Service || footer.BucketStart != s.Name.Bucket.Unix():
		return nil, &inputError{s, errors.New("its footer is that of another name")}
	}
	return footer, nil
}

// readInput reads an input, or only its footer if it is larger than wholeSize. A damaged input is an [*inputError].
func readInput(ctx context.Context, b store.BlobReader, s catalog.Segment) (*blobInput, error) {
	in := &blobInput{Segment: s}
	read := retry.Range(b, s.Ref())
	if s.Size <= wholeSize {
		body, err := read(ctx, 0, s.Size)
		if err != nil {
			return nil, inputFailed(ctx, s, err)
		}
		in.body = body
		read = store.BytesRange(body)
	}
	var err error
	if in.footer, err = readFooter(ctx, read, s); err != nil {
		return nil, err
	}
	return in, nil
}

// inputFailed returns the error of reading an input: an [*inputError] if the input is damaged, or cannot be read although others can, as
// in the archive tier; otherwise one of storage.
func inputFailed(ctx context.Context, s catalog.Segment, err error) error {
	corrupt, storage := (*segment.CorruptError)(nil), (*store.Error)(nil)
	switch {
	case ctx.Err() != nil:
		return err
	case errors.As(err, &storage) && errors.Is(err, store.ErrInvalid) && storage.Status == http.StatusConflict: // the blob's state is the reason
		return &inputError{s, err}
	case errors.As(err, &corrupt), errors.Is(err, segment.ErrUnsupported), errors.Is(err, segment.ErrNoFooter), errors.Is(err, store.ErrRange):
		return &inputError{s, err}
	}
	return fmt.Errorf("cannot read %s: %w", s.Name, err)
}
