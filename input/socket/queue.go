package socket

import (
	"iter"
	"net/netip"
	"sync"

	"logstow/input/listen"
)

// packetOverhead is the cost of a waiting datagram in addition to its bytes.
const packetOverhead = 48

// keepSize is how large a batch's memory may stay while little comes, and how large it may be
// without using the budget. It is the unit of reservations.
const keepSize = 1 << 20

// queue holds datagrams between the reading goroutine and the one that passes them on, which takes
// all waiting ones at once.
type queue struct {
	mu     sync.Mutex
	change *sync.Cond
	limit  int
	budget *listen.Budget
	closed bool
	// filling is the batch being filled, spare the memory of the other batch.
	filling, spare packets
}

// packets are consecutive datagrams in one piece of memory.
type packets struct {
	bytes []byte
	ends  []packet
	// charged is the batch's share of the budget.
	charged int
}

type packet struct {
	end  int
	from netip.Addr
}

// newQueue makes a queue whose batches hold limit bytes each; beyond a small size they need the
// budget.
func newQueue(limit int, budget *listen.Budget) *queue {
	q := &queue{limit: max(limit, maxDatagram+packetOverhead), budget: budget}
	q.change = sync.NewCond(&q.mu)
	return q
}

// put copies a datagram, or reports that there is no space or the queue was closed.
func (q *queue) put(text []byte, from netip.Addr) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return !q.closed && q.add(text, from)
}

// wait is put that waits for space; it reports whether the queue was closed.
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

// close ends the queue after the waiting datagrams.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.change.Broadcast()
}

// all yields batches until the queue is closed and empty; each is valid during its iteration.
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

// all are the datagrams of a batch.
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
