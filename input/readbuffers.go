package input

import (
	"context"
	"sync"

	"logstow/record"
)

// LargeRead is the size in bytes of a read from a stream that has more than readSize bytes available. The lines fill
// several blocks of a segment, which the buffer encodes together with less work.
const LargeRead = 2 << 20

// fileReads is the number of files that all inputs of a process read at the same time.
const fileReads = 16

// ReadBuffers are the buffers of all inputs of a process that read lines. An input has one while it reads, so that many inputs take
// little memory. It limits the number of large buffers, and of files that are read at the same time. Safe for concurrent use.
type ReadBuffers struct {
	turns, large         chan struct{}
	largePool, usualPool sync.Pool
}

// NewReadBuffers returns buffers, of which large streams at a time may have a large one. Each takes LargeRead bytes while it is in use,
// and until the garbage collector frees it.
func NewReadBuffers(large int) *ReadBuffers {
	return &ReadBuffers{turns: make(chan struct{}, fileReads), large: make(chan struct{}, large)}
}

// usualBuffers are the buffers of a feed while it reads.
type usualBuffers struct {
	read    []byte
	records []record.Record
}

// takeUsual returns buffers, which the caller should return with giveUsual.
func (b *ReadBuffers) takeUsual() *usualBuffers {
	if u, ok := b.usualPool.Get().(*usualBuffers); ok {
		return u
	}
	return &usualBuffers{read: make([]byte, readSize)}
}

// giveUsual returns buffers.
func (b *ReadBuffers) giveUsual(u *usualBuffers) { b.usualPool.Put(u) }

// turn waits for a turn to read a file.
func (b *ReadBuffers) turn(ctx context.Context) (end func(), err error) {
	select {
	case b.turns <- struct{}{}:
		return func() { <-b.turns }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// takeLarge returns a buffer with space for a partial line and a large read, or nil if all are in use or b is nil. The caller must
// return the buffer with giveLarge.
func (b *ReadBuffers) takeLarge() []byte {
	if b == nil {
		return nil
	}
	select {
	case b.large <- struct{}{}:
	default:
		return nil
	}
	if buf, ok := b.largePool.Get().(*[]byte); ok {
		return *buf
	}
	return make([]byte, LargeRead+readSize/4)
}

// giveLarge returns a buffer.
func (b *ReadBuffers) giveLarge(buf []byte) {
	b.largePool.Put(&buf)
	<-b.large
}
