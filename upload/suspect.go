package upload

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"logstow/buffer"
	"logstow/buffer/sealed"
	"logstow/internal/retry"
)

// maxSuspects bounds the suspects retried in parallel to the senders; beyond that, a sender takes no
// other batch for a while.
const maxSuspects = 64

// suspect is a delivery failure that may be caused by the batch itself. A second check decides: see
// retrySuspect.
type suspect struct {
	kind   suspicion
	reason error
}

// suspicion is the suspected cause.
type suspicion uint8

const (
	// rejected: storage rejected the batch as invalid, which may affect every batch while a proxy
	// or a wrong path interferes.
	rejected suspicion = iota
	// unreadable: its file cannot be read, which may affect every file while a disk fails.
	unreadable
	// damaged: its bytes differ from those that were sealed.
	damaged
)

func (e suspect) Error() string { return e.reason.Error() }

// tries is how often a batch fails before it is quarantined.
func (e suspect) tries() int {
	if e.kind == unreadable {
		return 4
	}
	return 2
}

// confirmed reports whether the batch itself is the cause. Damage always is; for the other causes
// another batch must have been delivered meanwhile.
func (e suspect) confirmed(othersDelivered bool) bool {
	switch e.kind {
	case damaged:
		return true
	case unreadable:
		return othersDelivered && !isResourceShortage(e.reason)
	default:
		return othersDelivered
	}
}

// isResourceShortage reports whether an error means that the process or the machine ran out of a
// resource, which no file causes.
func isResourceShortage(err error) bool {
	for _, errno := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EAGAIN, syscall.EINTR} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

// suspectFile is the suspect for an error of reading a batch.
func suspectFile(err error) suspect {
	if errors.As(err, new(syscall.Errno)) && !errors.Is(err, sealed.ErrDamaged) {
		return suspect{unreadable, fmt.Errorf("cannot read the batch: %w", err)}
	}
	return suspect{damaged, fmt.Errorf("the batch is damaged: %w", err)}
}

// retrySeparately retries a failed batch apart from the senders where possible, so that others are
// delivered meanwhile. d is nil if the batch could not be loaded. An error ends the run.
func (r *run) retrySeparately(ctx context.Context, d *destination, b *buffer.Batch, first suspect) error {
	before := r.s.beginAttempt()
	r.mu.Lock()
	r.suspects++
	many := r.suspects > maxSuspects
	r.mu.Unlock()
	if many { // but not until it is delivered: if all senders retried suspects, nothing would show that storage accepts others
		if err := retry.Sleep(ctx, r.s.opts.Backoff.Max); err != nil {
			r.requeue(b)
			return err
		}
	}
	r.senders.Add(1)
	r.group.Go(func() error {
		defer r.senders.Done()
		defer func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.suspects--
		}()
		return r.retrySuspect(ctx, d, b, first, before)
	})
	return nil
}

// retrySuspect retries a batch until it is delivered or a permanent failure is confirmed; then it
// quarantines the batch. Confirmed means that the batch failed several times on its own while
// others (counted from before on) were delivered.
func (r *run) retrySuspect(ctx context.Context, d *destination, b *buffer.Batch, last suspect, before uint64) error {
	s := r.s
	began := time.Now()
	for failures := 1; ; failures++ {
		wait := s.opts.Backoff.wait(failures, last.reason, s.opts.Random)
		if limit := s.opts.RetryFor; limit > 0 {
			left := limit - time.Since(began)
			if left <= 0 {
				r.requeue(b)
				return fmt.Errorf("gave up after %v and %d tries: %w", limit, failures, last.reason)
			}
			wait = min(wait, left)
		}
		s.batchOutage.failed(last.reason, wait)
		if err := retry.Sleep(ctx, wait); err != nil {
			r.requeue(b)
			return err
		}
		// Others that are delivered during the attempt prove nothing: the cause may have gone meanwhile.
		othersDelivered := s.acceptedBy(d) > before
		next, err := r.retryOnce(ctx, d, b)
		if err == nil {
			s.batchOutage.recovered()
			return next()
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if ctx.Err() != nil || !errors.As(err, &last) {
			r.requeue(b)
			return err
		}
		if failures+1 < last.tries() || !last.confirmed(othersDelivered) {
			continue
		}
		err = b.Quarantine(last.Error())
		if err == nil {
			s.batchOutage.recovered()
			s.count(func(st *Stats) { st.Quarantined++ })
			return nil
		}
		if r.buffer.Err() != nil {
			return err
		}
		last.reason = fmt.Errorf("cannot quarantine the batch: %w (%w)", err, last.reason)
	}
}

// retryOnce loads a batch and, if its destination is known, stores it. next is what follows.
func (r *run) retryOnce(ctx context.Context, d *destination, b *buffer.Batch) (next func() error, err error) {
	if d == nil {
		if err := b.Load(ctx); err != nil {
			return nil, suspectFile(err)
		}
		return func() error { return r.dispatch(ctx, b) }, nil
	}
	attempt := r.s.beginAttempt()
	if err := r.s.storeBlob(ctx, d, b); err != nil {
		return nil, err
	}
	r.s.delivered(d, b, attempt)
	return func() error { return r.enqueueIndex(ctx, d, b) }, nil
}

// beginAttempt numbers an attempt to store a batch. Only those that begin after another failed show that it was the batch: what
// began before may have been answered before.
func (s *Uploader) beginAttempt() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempts++
	return s.attempts
}

// acceptedBy is the number of the last attempt that stored a batch in a destination, or in any if it is nil.
func (s *Uploader) acceptedBy(d *destination) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d != nil {
		return d.accepted
	}
	return s.accepted
}
