package gelf

import (
	"container/list"
	"encoding/binary"
	"errors"
	"net/netip"
	"sync"
	"time"

	"logstow/input/listen"
	"logstow/input/socket"
)

const (
	// chunkHeader is the length of magic, message id, number and count.
	chunkHeader = 12
	// maxChunks is the maximum number of chunks of a message.
	maxChunks = 128
	// chunkTimeout is how long the chunks of a message may take from the first to the last.
	chunkTimeout = 5 * time.Second
	// partialOverhead and pieceOverhead are the cost of an incomplete message and of each of its chunks
	// in addition to their bytes.
	partialOverhead, pieceOverhead = 512, 48
)

// isChunk reports whether a datagram is a chunk.
func isChunk(datagram []byte) bool {
	return len(datagram) >= 2 && datagram[0] == 0x1e && datagram[1] == 0x0f
}

// chunkKey identifies a message of a sender.
type chunkKey struct {
	from netip.Addr
	id   uint64
}

// partial is a message whose chunks have not all arrived.
type partial struct {
	key    chunkKey
	began  time.Time
	pieces [][]byte
	left   int
	// charged is its share of the budget.
	charged int64
}

// assembler joins chunks. Its memory is limited: if it needs more, it drops the oldest incomplete messages. It
// is safe for concurrent use, which its timer requires.
type assembler struct {
	limit      int64
	budget     *listen.Budget
	incomplete func(messages int)

	mu       sync.Mutex
	partials map[chunkKey]*list.Element
	// order holds the partials, the oldest first. charged is the memory of all.
	order   list.List
	charged int64
	// timer is set while there are partials.
	timer  *time.Timer
	closed bool
}

func newAssembler(limit int64, budget *listen.Budget, incomplete func(messages int)) *assembler {
	return &assembler{limit: limit, budget: budget, incomplete: incomplete, partials: make(map[chunkKey]*list.Element)}
}

// add adds a chunk. It returns the pieces of the message if it is complete, with the memory that
// release returns.
func (a *assembler) add(datagram []byte, from netip.Addr) (complete *partial, err error) {
	if len(datagram) < chunkHeader {
		return nil, errors.New("chunk without a whole header")
	}
	number, count := int(datagram[10]), int(datagram[11])
	if count < 1 || count > maxChunks || number >= count {
		return nil, errors.New("chunk with an invalid number or count")
	}
	key := chunkKey{from, binary.BigEndian.Uint64(datagram[2:])}
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	a.dropExpired(now)
	p := a.partial(key)
	if p == nil {
		p = &partial{key: key, began: now, pieces: make([][]byte, count), left: count}
	}
	if len(p.pieces) != count {
		return nil, errors.New("chunks of one message with different counts")
	}
	if p.pieces[number] != nil { // a duplicate
		return nil, nil //nolint:nilnil // documented
	}
	piece := datagram[chunkHeader:]
	cost := int64(len(piece) + pieceOverhead)
	if p.charged == 0 {
		cost += partialOverhead
	}
	if !a.take(cost, p) {
		return nil, socket.ErrNoMemory
	}
	p.charged += cost
	p.pieces[number] = append(make([]byte, 0, len(piece)), piece...)
	if p.left--; p.left == 0 {
		a.forget(p)
		return p, nil
	}
	if a.partial(key) == nil {
		a.partials[key] = a.order.PushBack(p)
		a.arm()
	}
	return nil, nil //nolint:nilnil // documented
}

// release returns the memory of a complete message.
func (a *assembler) release(p *partial) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.give(p)
}

func (a *assembler) partial(key chunkKey) *partial {
	if e := a.partials[key]; e != nil {
		return e.Value.(*partial)
	}
	return nil
}

// take reserves memory for a message. If necessary, it drops older messages.
func (a *assembler) take(n int64, keep *partial) bool {
	for a.charged+n > a.limit || !a.budget.Take(n) {
		oldest := a.order.Front()
		if oldest == nil || oldest.Value.(*partial) == keep {
			return false
		}
		a.drop(oldest.Value.(*partial))
		a.incomplete(1)
	}
	a.charged += n
	return true
}

func (a *assembler) give(p *partial) {
	a.charged -= p.charged
	a.budget.Give(p.charged)
	p.charged = 0
}

// forget removes a complete message from the partials.
func (a *assembler) forget(p *partial) {
	if e := a.partials[p.key]; e != nil {
		a.order.Remove(e)
		delete(a.partials, p.key)
	}
}

func (a *assembler) drop(p *partial) {
	a.forget(p)
	a.give(p)
}

// dropExpired drops the messages whose chunks took too long.
func (a *assembler) dropExpired(now time.Time) {
	dropped := 0
	for e := a.order.Front(); e != nil && now.Sub(e.Value.(*partial).began) >= chunkTimeout; e = a.order.Front() {
		a.drop(e.Value.(*partial))
		dropped++
	}
	if dropped > 0 {
		a.incomplete(dropped)
	}
}

// arm sets the timer for the oldest message.
func (a *assembler) arm() {
	if a.timer != nil || a.closed || a.order.Len() == 0 {
		return
	}
	oldest := a.order.Front().Value.(*partial)
	a.timer = time.AfterFunc(chunkTimeout-time.Since(oldest.began), func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.timer = nil
		if !a.closed {
			a.dropExpired(time.Now())
			a.arm()
		}
	})
}

// close drops all incomplete messages.
func (a *assembler) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	if a.timer != nil {
		a.timer.Stop()
	}
	dropped := a.order.Len()
	for e := a.order.Front(); e != nil; e = a.order.Front() {
		a.drop(e.Value.(*partial))
	}
	if dropped > 0 {
		a.incomplete(dropped)
	}
}
