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

// maxSuspects is the number of suspects that are retried in parallel to the senders. A sender that finds
// more waits for Backoff.Max before it takes another batch.
const maxSuspects = 64

// boundWait is the maximum delay between attempts to reach the relay of a batch.
const boundWait = 5 * time.Second

// suspect is a delivery failure that may be caused by the batch itself. A second check decides: see
// retrySuspect.
type suspect struct {
	kind   suspicion
	reason error
}

// suspicion is the suspected cause.
type suspicion uint8

const (
	// rejected means that storage rejected the batch as invalid. That may affect every batch while a proxy
	// or a wrong path interferes.
	rejected suspicion = iota
	// unreadable means that the batch's file cannot be read. That may affect every file while a disk fails.
	unreadable
	// damaged means that the bytes differ from those that were sealed.
	damaged
	// bound means that the relay which may have the batch does not respond. It is never confirmed.
	bound
	// forgotten means that the relay which may have the batch cannot tell any more.
	forgotten
)

func (e suspect) Error() string { return e.reason.Error() }

// tries returns how often a batch must fail before it is quarantined.
func (e suspect) tries() int {
	if e.kind == unreadable {
		return 4
	}
	return 2
}

// confirmed reports whether the batch itself is the cause of the failure. A damaged batch always is. For
// the other kinds, another batch must have been delivered meanwhile.
func (e suspect) confirmed(othersDelivered bool) bool {
	switch e.kind {
	case damaged, forgotten:
		return true
	case bound:
		return false
	case unreadable:
		return othersDelivered && !isResourceShortage(e.reason)
	default:
		return othersDelivered
	}
}

// isResourceShortage reports whether the process or the machine ran out of a resource: no file is the
// cause of that.
func isResourceShortage(err error) bool {
	for _, errno := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EAGAIN, syscall.EINTR} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

// suspectFile returns the suspect for an error of reading a batch.
func suspectFile(err error) suspect {
	if errors.As(err, new(syscall.Errno)) && !errors.Is(err, sealed.ErrDamaged) {
		return suspect{unreadable, fmt.Errorf("cannot read the batch: %w", err)}
	}
	return suspect{damaged, fmt.Errorf("the batch is damaged: %w", err)}
}

// retrySeparately retries a failed batch in a goroutine of its own, so that the senders deliver other
// batches meanwhile. d is nil if the batch could not be loaded. An error ends the run.
func (r *run) retrySeparately(ctx context.Context, d *destination, b *buffer.Batch, first suspect) error {
	before := r.u.beginAttempt()
	r.mu.Lock()
	r.suspects++
	many := r.suspects > maxSuspects
	r.mu.Unlock()
	if many { // wait, but not until the batch is delivered: a sender must be left to deliver other batches
		if err := retry.Sleep(ctx, r.u.opts.Backoff.Max); err != nil {
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
		err := r.retrySuspect(ctx, d, b, first, before)
		if d != nil && r.giveUp(ctx, d.name, err) {
			return nil
		}
		return err
	})
	return nil
}

// retrySuspect retries a batch until it is delivered, or until a permanent failure is confirmed: then it
// quarantines the batch. A failure is confirmed if the batch failed several times while another one was
// delivered by an attempt with a number greater than before.
func (r *run) retrySuspect(ctx context.Context, d *destination, b *buffer.Batch, last suspect, before uint64) error {
	u := r.u
	began := time.Now()
	for failures := 1; ; failures++ {
		wait, gaveUp := u.nextAttempt(last.reason, failures, began, u.opts.RetryFor)
		if gaveUp != nil {
			r.requeue(b)
			return gaveUp
		}
		if last.kind == bound {
			wait = min(wait, boundWait)
		}
		u.batchOutage.failed(last.reason, wait)
		if err := retry.Sleep(ctx, wait); err != nil {
			r.requeue(b)
			return err
		}
		// Deliveries during the attempt do not count: the cause may have ended before them.
		othersDelivered := u.acceptedBy(d) > before
		next, err := r.retryOnce(ctx, d, b)
		if err == nil {
			u.batchOutage.recovered()
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
			u.batchOutage.recovered()
			u.count(func(st *Stats) { st.Quarantined++ })
			return nil
		}
		if r.buffer.Err() != nil {
			return err
		}
		last.reason = fmt.Errorf("cannot quarantine the batch: %w (%w)", err, last.reason)
	}
}

// retryOnce loads a batch if d is nil, otherwise it stores the batch. next continues the delivery.
func (r *run) retryOnce(ctx context.Context, d *destination, b *buffer.Batch) (next func() error, err error) {
	if d == nil {
		if err := b.Load(ctx); err != nil {
			return nil, suspectFile(err)
		}
		return func() error {
			d, err := r.dispatch(ctx, b)
			if err != nil || d == nil {
				return err
			}
			return r.deliver(ctx, d, b)
		}, nil
	}
	if err := d.memory.Acquire(ctx, r.u.memoryOf(b)); err != nil {
		return nil, context.Cause(ctx)
	}
	attempt := r.u.beginAttempt()
	etag, err := r.u.storeBlob(ctx, r.buffer, d, b)
	if err != nil {
		return nil, err
	}
	r.u.delivered(d, b, attempt)
	r.progress()
	return func() error { return r.acknowledge(ctx, d, b, etag) }, nil
}

// beginAttempt returns the number of a new attempt to store a batch. Only the success of an attempt that begins after the
// failure of a batch shows that the batch is the cause: storage may have accepted an earlier one before it began to fail.
func (u *Uploader) beginAttempt() uint64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.attempts++
	return u.attempts
}

// acceptedBy returns the number of the last attempt that stored a batch in a destination; in any of them if d is nil.
func (u *Uploader) acceptedBy(d *destination) uint64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	if d != nil {
		return d.accepted
	}
	return u.accepted
}
