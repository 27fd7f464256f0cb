// Package dedupe recognizes requests that senders repeat because they did not receive the response. A request
// has a key. The buffer stores the key, and how much of the request is stored, in the same write as the
// records. If the process is killed at any instant, the buffer contains both or neither.
//
// # How keys are kept
//
// Keys are kept for an hour, at most 100,000 of them, in pages of 16. A page is the value of a position in
// the buffer, whose name is [buffer.KeyPrefix] and the number of the page. So it is part of the log entry
// that appends the records. A request uses a page exclusively while it commits, so a page never contains the
// key of a request whose records are not in the log. A page is a version byte (1) and 28 bytes per key,
// big-endian:
//
//	id 16 | print 4 | parts 4 | Unix seconds 4
//
// id is the beginning of the SHA-256 of the key, print the beginning of the SHA-256 of the request's content,
// and parts the number of its parts that are stored. If several pages contain an id, the entry with the latest
// time is valid, and among equal times the one with the most parts. The time of an id never decreases.
package dedupe

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math"
	"sync"
	"time"

	"logstow/buffer"
)

const (
	// Limit is the maximum number of keys that are kept.
	Limit = 100_000
	// Lifetime is how long a key is kept.
	Lifetime = time.Hour
	// forgotten is the value of parts for a transient key after its request was stored completely.
	forgotten = math.MaxUint32
)

// ErrReused reports that another request had the same key.
var ErrReused = errors.New("the Idempotency-Key was used for another request")

// Key identifies a request.
type Key struct {
	id    [16]byte
	print uint32
	// transient is set if the key is forgotten as soon as the request is stored completely.
	transient bool
}

// NewKey returns the key for a name that a sender chose. Names are unique within a scope, which is an input and
// its service. If a request with the same name and other content exists, [Keys.Begin] returns [ErrReused].
func NewKey(scope, name string, content []byte) Key {
	sum := sha256.Sum256(content)
	key := ContentKey(scope, []byte(name))
	key.print = binary.BigEndian.Uint32(sum[:])
	return key
}

// ContentKey returns the key of a request that is recognized by its content.
func ContentKey(scope string, content []byte) (key Key) {
	sum := sha256.New()
	sum.Write([]byte(scope))
	sum.Write([]byte{0})
	sum.Write(content)
	copy(key.id[:], sum.Sum(nil))
	return key
}

// PartsKey returns the key of a request for which the sender gave none. The request is recognized by its
// content until all of its parts are stored.
func PartsKey(scope string, content []byte) Key {
	key := ContentKey(scope, content)
	key.transient = true
	return key
}

// Keys holds the keys of a buffer. There must be only one Keys per buffer. It is safe for concurrent use.
type Keys struct {
	limit int
	now   func() time.Time

	mu sync.Mutex
	// known maps ids to entries.
	known map[[16]byte]ref
	// held maps the ids of current requests to channels that are closed at their ends.
	held  map[[16]byte]chan struct{}
	pages pages
}

// Source returns the positions that were committed before. [*buffer.Buffer] implements it.
type Source interface {
	Positions(prefix string) []buffer.Position
}

// New returns the keys of a buffer. At most limit keys are kept. If limit is 0 or greater than [Limit], it is
// [Limit].
func New(from Source, limit int, now func() time.Time) *Keys {
	if limit <= 0 || limit > Limit {
		limit = Limit
	}
	k := &Keys{limit: limit, now: now, known: map[[16]byte]ref{}, held: map[[16]byte]chan struct{}{}}
	k.load(from.Positions(buffer.KeyPrefix))
	return k
}

// Begin begins a request. It waits while another request with the same key is being received. The error is
// [ErrReused] or the cause of ctx. The caller must call [Request.End].
func (k *Keys) Begin(ctx context.Context, key Key) (*Request, error) {
	for {
		r, wait, err := k.begin(key)
		if wait == nil {
			return r, err
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// begin is Begin without waiting. If another request holds the key, wait is closed at its end.
func (k *Keys) begin(key Key) (r *Request, wait <-chan struct{}, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if wait := k.held[key.id]; wait != nil {
		return nil, wait, nil
	}
	r = &Request{keys: k, key: key}
	if at, ok := k.known[key.id]; ok {
		p := k.pages.all[at.page]
		e := &p.entries[at.slot]
		switch {
		case k.expired(e):
		case e.parts == forgotten:
			r.resumed, r.since = true, e.at+1
		case e.print != key.print:
			return nil, nil, ErrReused
		default:
			r.stored, r.resumed, r.since, r.lsn = int(e.parts), true, e.at, p.lsn
		}
	}
	k.held[key.id] = make(chan struct{})
	return r, nil, nil
}

func (k *Keys) expired(e *entry) bool {
	return k.now().Unix()-int64(e.at) > int64(Lifetime/time.Second)
}

// Request is a request with a key. It is not safe for concurrent use.
type Request struct {
	keys   *Keys
	key    Key
	stored int
	lsn    buffer.LSN
	// resumed is set if another page contains the key. since is then the minimum time in Unix seconds of the entry in
	// this request's page, so that this entry is the valid one.
	resumed bool
	since   uint32
	// page is the page of this request from the first Commit on, slot the index of its entry.
	page *page
	slot int
}

// Stored returns the number of parts of the request that are in the buffer.
func (r *Request) Stored() int { return r.stored }

// LSN returns the LSN of the last part in the buffer, or 0 if it was stored by an earlier process and is durable.
func (r *Request) LSN() buffer.LSN { return r.lsn }

// Commit stores further parts. It calls store, which must append their records and the positions to the buffer in
// one write. parts is the number of parts that are stored then, and last is set if these are all. If Commit
// returns an error, nothing was committed.
func (r *Request) Commit(parts int, last bool, store func([]buffer.Position) (buffer.LSN, error)) error {
	k := r.keys
	k.mu.Lock()
	if r.page == nil {
		r.page = k.pages.take()
		r.slot = len(r.page.entries)
	}
	forget := last && r.key.transient
	e := entry{r.key.id, r.key.print, uint32(parts), max(r.since, uint32(k.now().Unix()))} //nolint:gosec // parts are few, the clock is that of this century
	entries := r.page.entries[:r.slot:r.slot]
	if forget {
		e.parts = forgotten
	}
	keep := !forget || r.resumed
	if keep {
		entries = append(entries, e)
	}
	evicted := k.evict()
	k.mu.Unlock()

	positions := make([]buffer.Position, 0, len(evicted)+1)
	for _, p := range evicted {
		positions = append(positions, buffer.Position{Input: p.name()})
	}
	lsn, err := store(append(positions, buffer.Position{Input: r.page.name(), Value: encode(entries)}))
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		k.pages.stale = append(k.pages.stale, evicted...)
		return err
	}
	for _, p := range evicted {
		k.pages.free(p)
	}
	r.page.entries, r.page.lsn = entries, lsn
	if keep {
		k.known[r.key.id] = ref{r.page.number, uint32(r.slot)} //nolint:gosec // below the size of a page
	} else {
		delete(k.known, r.key.id)
	}
	r.stored, r.lsn = parts, lsn
	return nil
}

// End ends the request. Parts that are not committed may be stored by a repeated request.
func (r *Request) End() {
	k := r.keys
	k.mu.Lock()
	defer k.mu.Unlock()
	if r.page != nil {
		k.pages.put(r.page)
	}
	close(k.held[r.key.id])
	delete(k.held, r.key.id)
}

// evict forgets the keys of the oldest pages if they have expired or there are too many keys, and returns a few stale
// pages to delete from the buffer. mu is held.
func (k *Keys) evict() []*page {
	const maxPages = 4
	for len(k.pages.stale) < maxPages {
		p := k.pages.oldest()
		if p == nil || len(k.known) < k.limit && len(p.entries) > 0 && !k.expired(&p.entries[len(p.entries)-1]) {
			break
		}
		k.pages.remove(p)
		for slot := range p.entries {
			id := p.entries[slot].id
			if k.known[id] == (ref{p.number, uint32(slot)}) { //nolint:gosec // below the size of a page
				delete(k.known, id)
			}
		}
		k.pages.stale = append(k.pages.stale, p)
	}
	n := max(0, len(k.pages.stale)-maxPages)
	evicted := k.pages.stale[n:]
	k.pages.stale = k.pages.stale[:n:n]
	return evicted
}
