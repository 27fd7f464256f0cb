// Package wait holds what the parts of a buffer wait for: free memory or disk space, and the buffer's end.
package wait

import (
	"errors"
	"sync"
)

// ErrClosed is the error of waiting for a buffer that is drained or closed.
var ErrClosed = errors.New("buffer is closed")

// Failure is the final error of a buffer: memory and disk may differ after it, and the next
// process recovers from what is on disk. It is safe for concurrent use.
type Failure struct {
	mu     sync.Mutex
	err    error
	failed chan struct{}
}

// NewFailure returns a Failure without an error.
func NewFailure() *Failure { return &Failure{failed: make(chan struct{})} }

// Set makes the first error that is not nil final. It returns its argument.
func (f *Failure) Set(err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil && f.err == nil {
		f.err = err
		close(f.failed)
	}
	return err
}

// Err is the final error; nil if there is none.
func (f *Failure) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// Failed is closed when there is a final error.
func (f *Failure) Failed() <-chan struct{} { return f.failed }
