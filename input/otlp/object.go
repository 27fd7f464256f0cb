package otlp

import (
	"fmt"

	"logstow/input"
	"logstow/input/httpserver"
)

const (
	// minPiece and maxPiece are the sizes of the first and the largest piece of memory into which
	// objects are written; longer objects get their own piece.
	minPiece, maxPiece = 4 << 10, 1 << 20
)

// object writes consecutive JSON objects. Its memory is charged to a lease before it is allocated,
// and bounded by limit: escapes and repeated resources can make a small request large. Its first
// error is sticky, and nothing is written after it.
type object struct {
	lease *httpserver.Lease
	// limit is the maximum size of all objects.
	limit int
	// b is the current piece; b[start:] is the object being written.
	b     []byte
	start int
	// done is the size of the finished objects, held that of all pieces.
	done, held int
	err        error
}

// reserve makes space for n more bytes, or reports that err is set.
func (o *object) reserve(n int) bool {
	return n <= cap(o.b)-len(o.b) || o.grow(n)
}

// grow continues the object being written in a larger piece. Finished objects stay where they are.
func (o *object) grow(n int) bool {
	if o.err != nil {
		return false
	}
	need := len(o.b) - o.start + n
	if need > o.limit-o.done {
		return o.fail(fmt.Errorf("%w: as JSON, the records have more than %d bytes", input.ErrTooLarge, o.limit))
	}
	size := min(max(min(2*cap(o.b), maxPiece), 2*need, minPiece), o.limit-o.done)
	if o.start == 0 {
		old := cap(o.b)
		b, err := o.lease.Grow(o.b, size)
		if err != nil {
			return o.fail(err)
		}
		o.b, o.held = b, o.held+size-old
		return true
	}
	if err := o.lease.Take(int64(size)); err != nil {
		return o.fail(err)
	}
	o.held += size
	o.b, o.start = append(make([]byte, 0, size), o.b[o.start:]...), 0
	return true
}

// fail sets the error, and leaves no space for more.
func (o *object) fail(err error) bool {
	o.err, o.b, o.start = err, nil, 0
	return false
}

// put appends bytes.
func put[T string | []byte](o *object, p T) {
	if o.reserve(len(p)) {
		o.b = append(o.b, p...)
	}
}

// finish ends an object and returns it; it stays valid until reset.
func (o *object) finish() []byte {
	made := o.b[o.start:len(o.b):len(o.b)]
	o.done += len(made)
	o.start = len(o.b)
	return made
}

// discard discards the object that is being written.
func (o *object) discard() { o.b = o.b[:o.start] }

// reset discards all objects, and keeps only the last piece of their memory.
func (o *object) reset() {
	o.lease.Give(int64(o.held - cap(o.b)))
	*o = object{lease: o.lease, limit: o.limit, b: o.b[:0], held: cap(o.b)}
}
