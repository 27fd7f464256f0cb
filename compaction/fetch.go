package compaction

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/semaphore"

	"logstow/containment"
	"logstow/internal/retry"
	"logstow/segment"
	"logstow/store"
)

const (
	// wholeSize is up to which size an input is read in one request; of larger ones the
	// footer is, and then each block when the merge comes to it.
	wholeSize = 1 << 20
	// readsAhead and bytesAhead bound the inputs that are read before the merge comes to them.
	readsAhead = 64
	bytesAhead = 12 << 20
)

// inputError is an input that cannot be merged: it is damaged, or another program's.
type inputError struct {
	s   containment.Segment
	err error
}

func (e *inputError) Error() string { return fmt.Sprintf("%s is left out: %v", e.s.Name, e.err) }
func (e *inputError) Unwrap() error { return e.err }

// blobInput is an input whose footer was read.
type blobInput struct {
	containment.Segment
	footer *segment.Footer
	// body is the whole blob, or nil.
	body []byte
	// release gives back what was acquired for body.
	release func()
}

// range of a blob of a store, which is tried again where that may help.
func rangeOf(b store.BlobReader, name string) segment.Range {
	return func(ctx context.Context, off, n int64) (data []byte, err error) {
		err = retry.Do(ctx, func() error {
			data, err = b.Read(ctx, name, off, n)
			return err
		})
		return data, err
	}
}

// fetcher reads inputs in their order, several at once.
type fetcher struct {
	results chan chan fetched
	cancel  context.CancelFunc
	running sync.WaitGroup
}

type fetched struct {
	input *blobInput
	err   error
}

// fetch starts to read inputs. The caller calls next for each, and then close.
func fetch(ctx context.Context, b store.BlobReader, inputs []containment.Segment) *fetcher {
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
				input, err := readInput(ctx, b, s)
				if err == nil {
					input.release = sync.OnceFunc(func() { memory.Release(size) })
				}
				result <- fetched{input, err}
			})
		}
	})
	return f
}

// next is the next input.
func (f *fetcher) next(ctx context.Context) (*blobInput, error) {
	result, ok := <-f.results
	if !ok {
		return nil, context.Cause(ctx)
	}
	got := <-result
	return got.input, got.err
}

// close ends what is under way and waits for it.
func (f *fetcher) close() {
	f.cancel()
	for range f.results { // so that no goroutine stays blocked on a send
	}
	f.running.Wait()
}

// readInput reads an input, whole or its footer. What is wrong with it is an [*inputError].
func readInput(ctx context.Context, b store.BlobReader, s containment.Segment) (*blobInput, error) {
	in := &blobInput{Segment: s}
	read := rangeOf(b, s.Name.String())
	if s.Size <= wholeSize {
		body, err := read(ctx, 0, s.Size)
		if err != nil {
			return nil, inputFailed(ctx, s, err)
		}
		in.body = body
		read = bodyRange(body)
	}
	var err error
	if in.footer, err = segment.ReadFooter(ctx, read, s.Size, s.Meta.Footer); err == nil {
		err = in.footer.Check(s.Meta)
	}
	switch {
	case err != nil:
		return nil, inputFailed(ctx, s, err)
	case in.footer.Service != s.Name.Service || in.footer.BucketStart != s.Name.Bucket.Unix():
		return nil, &inputError{s, errors.New("its footer is that of another name")}
	}
	return in, nil
}

// inputFailed is the error of an input: its own where it is damaged, and otherwise storage's.
func inputFailed(ctx context.Context, s containment.Segment, err error) error {
	corrupt := (*segment.CorruptError)(nil)
	switch {
	case ctx.Err() != nil:
		return err
	case errors.As(err, &corrupt), errors.Is(err, segment.ErrUnsupported), errors.Is(err, segment.ErrNoFooter), errors.Is(err, store.ErrRange):
		return &inputError{s, err}
	}
	return fmt.Errorf("cannot read %s: %w", s.Name, err)
}

// bodyRange reads from a blob in memory.
func bodyRange(body []byte) segment.Range {
	return func(_ context.Context, off, n int64) ([]byte, error) {
		if off < 0 || n <= 0 || off > int64(len(body)) || n > int64(len(body))-off {
			return nil, store.ErrRange
		}
		return body[off : off+n : off+n], nil
	}
}
