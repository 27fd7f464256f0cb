package socket

import (
	"iter"
	"net/netip"
	"sync"

	"logstow/input/listen"
)

// packetOverhead is the memory of a datagram in the queue in addition to its bytes.
const packetOverhead = 48

// keepSize is the size up to which the memory of a batch is kept for reuse and does not count against the
// budget. Reservations are multiples of it.
const keepSize = 1 << 20

// queue passes datagrams from the goroutine that reads them to the one that passes them on. The latter
// takes all waiting datagrams at once.
type queue struct {
	mu     sync.Mutex
	change *sync.Cond
	limit  int
	budget *listen.Budget
	closed bool
	// filling is the batch that is being filled, spare the unused memory of another one.
	filling, spare packets
}

// packets is a batch of datagrams in one piece of memory.
type packets struct {
	bytes []byte
	ends  []packet
	// charged is the memory that is reserved from the budget.
	charged int
}

type packet struct {
	end  int
	from netip.Addr
}

// newQueue returns a queue whose batches hold up to limit bytes each. Their memory above keepSize is
// reserved from the budget.
func newQueue(limit int, budget *listen.Budget) *queue {
	q := &queue{limit: max(limit, maxDatagram+packetOverhead), budget: budget}
	q.change = sync.NewCond(&q.mu)
	return q
}

// put copies a datagram into the queue. It returns false if there is no space or the queue is closed.
func (q *queue) put(text []byte, from netip.Addr) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return !q.closed && q.add(text, from)
}

// wait is put, but waits for space. It returns false if the queue is closed.
func (q *queue) wait(text []byte, from netip.Addr) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.closed && !q.add(text, from) {
		q.change.Wait()
	}
	return !q.closed
}

func (q *queue) add(text []byte, from netip.Addr) bool {
	b := &q.filling
	size := len(b.bytes) + len(text) + (len(b.ends)+1)*packetOverhead
	if size > q.limit {
		return false
	}
	if size > keepSize+b.charged {
		if !q.budget.Take(keepSize) {
			return false
		}
		b.charged += keepSize
	}
	b.bytes = append(b.bytes, text...)
	b.ends = append(b.ends, packet{len(b.bytes), from})
	if len(b.ends) == 1 {
		q.change.Broadcast()
	}
	return true
}

// close closes the queue. The datagrams in it are still passed on.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.change.Broadcast()
}

// all yields batches until the queue is closed and empty. Each is valid during its iteration.
func (q *queue) all() iter.Seq[*packets] {
	return func(yield func(*packets) bool) {
		for {
			b, ok := q.take()
			if !ok {
				return
			}
			more := yield(&b)
			q.recycle(b)
			if !more {
				return
			}
		}
	}
}

func (q *queue) take() (packets, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.filling.ends) == 0 {
		if q.closed {
			return packets{}, false
		}
		q.change.Wait()
	}
	b := q.filling
	q.filling, q.spare = q.spare, packets{}
	q.change.Broadcast()
	return b, true
}

// recycle returns a batch's memory.
func (q *queue) recycle(b packets) {
	q.budget.Give(int64(b.charged))
	if cap(b.bytes)+cap(b.ends)*packetOverhead > 2*keepSize {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.spare = packets{bytes: b.bytes[:0], ends: b.ends[:0]}
}

// all yields the datagrams of a batch.
func (b *packets) all() iter.Seq2[[]byte, netip.Addr] {
	return func(yield func([]byte, netip.Addr) bool) {
		start := 0
		for _, p := range b.ends {
			if !yield(b.bytes[start:p.end:p.end], p.from) {
				return
			}
			start = p.end
		}
	}
}
