package input

import "sync"

// LargeRead is the size in bytes of a read from a stream that has more than readSize bytes available. The lines fill
// several blocks of a segment, which the buffer encodes together with less work.
const LargeRead = 2 << 20

// LargeBuffers limits the number of buffers for large reads of all inputs of a process. A nil *LargeBuffers has no
// buffers. Safe for concurrent use.
type LargeBuffers struct {
	free chan struct{}
	pool sync.Pool
}

// NewLargeBuffers returns buffers for n streams at a time. Each takes LargeRead bytes while it is in use, and until the
// garbage collector frees it.
func NewLargeBuffers(n int) *LargeBuffers {
	return &LargeBuffers{free: make(chan struct{}, n)}
}

// take returns a buffer with space for a partial line and a large read, or nil if all are in use. The caller must
// return the buffer with give.
func (l *LargeBuffers) take() []byte {
	if l == nil {
		return nil
	}
	select {
	case l.free <- struct{}{}:
	default:
		return nil
	}
	if b, ok := l.pool.Get().(*[]byte); ok {
		return *b
	}
	return make([]byte, LargeRead+readSize/4)
}

// give returns a buffer.
func (l *LargeBuffers) give(b []byte) {
	l.pool.Put(&b)
	<-l.free
}
