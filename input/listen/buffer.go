package listen

import (
	"context"
	"net"
	"time"
)

// FirstBuffer is the initial size of a [Buffer] in bytes.
const FirstBuffer = 16 << 10

// Buffer has what was read of a connection and not processed yet. Long messages and high rates enlarge it, within a budget. It is for one
// goroutine.
type Buffer struct {
	// Deadline is that of the next read.
	Deadline *ReadDeadline

	conn   net.Conn
	budget *Budget
	// batch is its maximum size because of high rates, max that because of long messages.
	batch, max int
	// buf[start:end] holds the bytes that were read and not processed.
	buf        []byte
	start, end int
	// last is the size of the last read, full is set if the buffer had no space left behind it.
	last     int
	full     bool
	reserved int64
}

// NewBuffer returns an empty buffer, whose maximum sizes because of high rates and of long messages are batch and most. Reading ends with
// ctx, see [NewReadDeadline].
func NewBuffer(ctx context.Context, conn net.Conn, budget *Budget, batch, most int) *Buffer {
	return &Buffer{
		Deadline: NewReadDeadline(ctx, conn),
		conn:     conn,
		budget:   budget,
		batch:    batch,
		max:      most,
		buf:      make([]byte, FirstBuffer),
	}
}

// Close releases the memory, and the deadline. The connection stays open.
func (b *Buffer) Close() {
	b.Deadline.Stop()
	b.budget.Give(b.reserved)
	b.reserved = 0
}

// Unread are the bytes that were not processed. They are valid until the next MakeSpace or Read.
func (b *Buffer) Unread() []byte { return b.buf[b.start:b.end:b.end] }

// Skip removes the first n unread bytes.
func (b *Buffer) Skip(n int) {
	if b.start += n; b.start == b.end {
		b.start, b.end = 0, 0
	}
}

// Read reads once. begun says that a message has begun, which may take as long as message; otherwise the sender may be silent for idle.
func (b *Buffer) Read(begun bool, message, idle time.Duration) (n int, err error) {
	b.Deadline.SetMessage(begun, message, idle)
	b.last, err = b.Deadline.Read(func() (int, error) { return b.conn.Read(b.buf[b.end:]) })
	b.end += b.last
	b.full = b.end == len(b.buf)
	return b.last, err
}

// MakeSpace makes space for the next Read. If a message fills the buffer, and it cannot be enlarged, the error is [ErrBudget], or that
// of ctx.
func (b *Buffer) MakeSpace(ctx context.Context) error {
	b.end = copy(b.buf, b.Unread())
	b.start = 0
	size := len(b.buf)
	switch {
	case b.end == size:
		grown := min(2*size, b.max)
		if grown == size {
			return ErrBudget
		}
		if err := b.budget.Wait(ctx, int64(grown)); err != nil { // both exist during the copy
			return err
		}
		b.resize(grown)
		b.release(int64(grown))
	case b.full && size < b.batch && b.budget.Take(int64(size)):
		b.resize(2 * size) // high rate: read more at once
		b.reserved += int64(size)
	case b.end == 0 && (size > b.batch || size > FirstBuffer && b.last < FirstBuffer/2):
		b.resize(FirstBuffer)
		b.release(0)
	}
	return nil
}

// release returns what was reserved before. reserved is the new reservation.
func (b *Buffer) release(reserved int64) {
	b.budget.Give(b.reserved)
	b.reserved = reserved
}

func (b *Buffer) resize(size int) { b.buf = append(make([]byte, 0, size), b.buf[:b.end]...)[:size] }
