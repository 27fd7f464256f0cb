package input

import "sync"

// LargeRead is how many bytes are requested per read of a stream that has more than readSize bytes at once. Their lines are
// some blocks of a segment, and the buffer encodes blocks in a row with less work than one at a time.
const LargeRead = 2 << 20

// LargeBuffers are the buffers for large reads of all inputs of a process: a few, however many inputs have much to read at a
// time. A nil *LargeBuffers has none. Safe for concurrent use.
type LargeBuffers struct {
	free chan struct{}
	pool sync.Pool
}

// NewLargeBuffers returns buffers for n streams at a time. They take 2 MiB each while they are in use, and until the
// next garbage collections.
func NewLargeBuffers(n int) *LargeBuffers {
	return &LargeBuffers{free: make(chan struct{}, n)}
}

// take returns a buffer for a large read beside a partial line, or nil if all are in use; give must follow.
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
