package stdin

import (
	"context"
	"io"
	"time"
)

const (
	// pumpSize is the maximum size of a read in bytes. It is less than a feed reads, so that a feed that holds the
	// beginning of a line can take all of it. Otherwise every other chunk would consist of the rest, a line or two.
	pumpSize = 224 << 10
	// stopTimeout is how long a read may take to return its data after stop.
	stopTimeout = 100 * time.Millisecond
	// idleTimeout is how long to wait for bytes while lines are held for their continuation.
	idleTimeout = 200 * time.Millisecond
)

// pump reads ahead in its own goroutine, so that waiting for bytes can be cancelled. It is an
// [io.Reader] that ends with the stream, with the context, and at a pause.
type pump struct {
	full  chan piece
	empty chan []byte
	done  chan struct{}
	// stopped is closed to end reading. ended is set when Read has noticed it.
	stopped <-chan struct{}
	ended   bool
	// waiting reports whether lines are held. Then Read returns io.EOF and sets paused if no bytes arrive for
	// idleTimeout.
	waiting func() bool
	paused  bool
	// buf is the buffer being read from, rest its unread part.
	buf, rest []byte
	err       error
}

// piece is the result of one read.
type piece struct {
	buf []byte
	n   int
	err error
}

func startPump(ctx context.Context, r io.Reader) *pump {
	p := &pump{full: make(chan piece), empty: make(chan []byte, 2), done: make(chan struct{}), stopped: ctx.Done()}
	p.empty <- make([]byte, pumpSize)
	p.empty <- make([]byte, pumpSize)
	go p.run(r)
	return p
}

// stop makes the goroutine end after its current read.
func (p *pump) stop() { close(p.done) }

func (p *pump) run(r io.Reader) {
	for {
		var buf []byte
		select {
		case buf = <-p.empty:
		case <-p.done:
			return
		}
		n, err := r.Read(buf)
		select {
		case p.full <- piece{buf, n, err}:
		case <-p.done:
			return
		}
		if err != nil {
			return
		}
	}
}

// Read implements [io.Reader].
func (p *pump) Read(to []byte) (int, error) {
	for len(p.rest) == 0 {
		if p.err != nil {
			return 0, p.err
		}
		if p.buf != nil {
			p.empty <- p.buf
			p.buf = nil
		}
		got, ok := p.next()
		if !ok {
			return 0, io.EOF
		}
		p.buf, p.rest, p.err = got.buf, got.buf[:got.n], got.err
	}
	n := copy(to, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// next waits for a piece. After stop it takes one more piece if it arrives within stopTimeout: the bytes of a
// read that is just returning must not be lost.
func (p *pump) next() (piece, bool) {
	if p.ended {
		return piece{}, false
	}
	var quiet <-chan time.Time
	if p.waiting() {
		timer := time.NewTimer(idleTimeout)
		defer timer.Stop()
		quiet = timer.C
	}
	select {
	case got := <-p.full:
		return got, true
	case <-quiet:
		p.paused = true
		return piece{}, false
	case <-p.stopped:
		p.ended = true
	}
	moment := time.NewTimer(stopTimeout)
	defer moment.Stop()
	select {
	case got := <-p.full:
		return got, true
	case <-moment.C:
	}
	select {
	case got := <-p.full: // it arrived while this process was suspended
		return got, true
	default:
		return piece{}, false
	}
}
