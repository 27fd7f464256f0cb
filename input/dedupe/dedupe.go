// Package dedupe recognizes requests that senders repeat because they missed the response: a request
// has a key, and what is stored of it is committed to the buffer in the same write as its records. After
// a kill at any instant both are there or neither is.
//
// # How keys are kept
//
// Keys are kept for an hour, at most 100,000 of them, in pages of 16. A page is the value of a position of
// the buffer, named [buffer.KeyPrefix] and its number, which makes it part of the log entry that appends the
// records. A request has a page for itself while it commits, so a page never has the key of a request whose
// records are not in the log. A page is a version byte (1) and 28 bytes for each key, big-endian:
//
//	id 16 | print 4 | parts 4 | Unix seconds 4
//
// id is the beginning of the SHA-256 of the key, print that of the content of the request, parts how many of
// its parts are stored. If an id is in several pages, the last time counts, and of equal ones the most parts; the time
// of an id never decreases.
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
	// forgotten is the number of parts of a request that was not to be recognized after its end.
	forgotten = math.MaxUint32
)

// ErrReused reports that another request had the same key.
var ErrReused = errors.New("the Idempotency-Key was used for another request")

// Key identifies a request.
type Key struct {
	id    [16]byte
	print uint32
	// transient keys are forgotten when the request is stored as a whole.
	transient bool
}

// NewKey is the key with a name that a sender gave, among those of a scope: an input and its service. content
// is that of the request: another request with the same name is [ErrReused].
func NewKey(scope, name string, content []byte) Key {
	sum := sha256.Sum256(content)
	key := ContentKey(scope, []byte(name))
	key.print = binary.BigEndian.Uint32(sum[:])
	return key
}

// ContentKey is the key of a request that is recognized by its content.
func ContentKey(scope string, content []byte) (key Key) {
	sum := sha256.New()
	sum.Write([]byte(scope))
	sum.Write([]byte{0})
	sum.Write(content)
	copy(key.id[:], sum.Sum(nil))
	return key
}

// PartsKey is the key of a request without one: its parts are stored one by one, and those that are stored
// are recognized by the request's content until all of them are.
func PartsKey(scope string, content []byte) Key {
	key := ContentKey(scope, content)
	key.transient = true
	return key
}

// Keys are the keys of a buffer; there must be only one for each buffer. Safe for concurrent use.
type Keys struct {
	limit int
	now   func() time.Time

	mu sync.Mutex
	// known are the keys, by id: the page's number and the place in it.
	known map[[16]byte]ref
	// held are the requests under way, each with a channel that is closed at its end.
	held  map[[16]byte]chan struct{}
	pages pages
}

// Source has the positions that were committed before; [*buffer.Buffer] is one.
type Source interface {
	Positions(prefix string) []buffer.Position
}

// New returns the keys of a buffer, of which at most limit are kept; 0, and any larger value, is [Limit].
func New(from Source, limit int, now func() time.Time) *Keys {
	if limit <= 0 || limit > Limit {
		limit = Limit
	}
	k := &Keys{limit: limit, now: now, known: map[[16]byte]ref{}, held: map[[16]byte]chan struct{}{}}
	k.load(from.Positions(buffer.KeyPrefix))
	return k
}

// Begin begins a request once no other with the same key is under way. The error is [ErrReused], or the cause
// of ctx's end. End must be called.
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

// begin is Begin without waiting: if another request has the key, wait is closed at its end.
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

// Request is a request with a key, for one goroutine.
type Request struct {
	keys   *Keys
	key    Key
	stored int
	lsn    buffer.LSN
	// resumed: another page has its key. since is the least time of its own one, in Unix seconds: then that counts.
	resumed bool
	since   uint32
	// page is the one of this request from the first Commit on, slot its place in it.
	page *page
	slot int
}

// Stored is how many parts of the request are in the buffer, up to LSN.
func (r *Request) Stored() int { return r.stored }

// LSN is that of the last part in the buffer; what an earlier process stored is durable.
func (r *Request) LSN() buffer.LSN { return r.lsn }

// Commit stores further parts: store appends their records and the given positions to the buffer. With that
// there are parts of them, and with last set these are all. After an error nothing was committed.
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
	leaving := k.evict()
	k.mu.Unlock()

	positions := make([]buffer.Position, 0, len(leaving)+1)
	for _, p := range leaving {
		positions = append(positions, buffer.Position{Input: p.name()})
	}
	lsn, err := store(append(positions, buffer.Position{Input: r.page.name(), Value: encode(entries)}))
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		k.pages.stale = append(k.pages.stale, leaving...)
		return err
	}
	for _, p := range leaving {
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

// End ends the request. What is not committed by then may be stored by a repeated one.
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

// evict takes away pages whose keys have expired or are too many: a few at a time. mu is held.
func (k *Keys) evict() []*page {
	const most = 4
	for len(k.pages.stale) < most {
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
	n := max(0, len(k.pages.stale)-most)
	leaving := k.pages.stale[n:]
	k.pages.stale = k.pages.stale[:n:n]
	return leaving
}
