package source

import (
	"context"
	"errors"
	"iter"
	"sync"

	"logstow/internal/inflight"
	"logstow/internal/price"
	"logstow/store"
)

// ErrBudget ends a query that would read more, or cost more, than its options allow.
var ErrBudget = errors.New("the query would exceed its limit of bytes or cost")

const (
	// MaxInFlight is the maximum number of requests in flight to one store.
	MaxInFlight = 64
	// firstInFlight is the initial limit of a query.
	firstInFlight = 16
)

// Meter counts the usage of a query, and stops the query before a limit is exceeded.
type Meter struct {
	prices   price.Table
	maxBytes int64   // 0 is no limit
	maxCost  float64 // 0 is no limit

	mu     sync.Mutex
	used   price.Usage // of all stores
	billed price.Usage // of those that are not free
	stop   context.CancelCauseFunc
	over   bool
}

// NewMeter makes a meter. Nil prices are [price.Default]; a limit of 0 is none.
func NewMeter(prices *price.Table, maxBytes int64, maxCost float64) *Meter {
	return &Meter{prices: prices.OrDefault(), maxBytes: maxBytes, maxCost: maxCost}
}

// Store wraps a store so that requests are counted before they are made. Unless the store is free, at most [MaxInFlight] requests
// are in flight, fewer if storage throttles.
func (m *Meter) Store(s Store) Store {
	gate := gate{m: m, free: s.Free}
	if !s.Free {
		gate.limit = inflight.New(inflight.Options{First: firstInFlight, Max: MaxInFlight})
	}
	s.Blobs, s.Compacted = meteredBlobs{BlobReader: s.Blobs, gate: gate}, meteredBlobs{BlobReader: s.compacted(), gate: gate}
	s.Tables = meteredTables{s.Tables, gate}
	return s
}

// gate admits each request to a store.
type gate struct {
	m     *Meter
	limit *inflight.Limiter
	free  bool
}

// enter waits until a request may be made, and charges it. After the request, the caller must call leave with its result.
func (g gate) enter(ctx context.Context, u price.Usage) (request inflight.Request, err error) {
	if request, err = g.limit.Acquire(ctx); err != nil {
		return request, err
	}
	if err = g.m.charge(g.free, u); err != nil {
		g.limit.Release(request, nil)
	}
	return request, err
}

func (g gate) leave(request inflight.Request, result error) { g.limit.Release(request, result) }

// Cost returns the cost of usage by the meter's prices, in dollars.
func (m *Meter) Cost(u price.Usage) float64 { return m.prices.Cost(u) }

// charge counts usage before the request. If that exceeds a limit, it counts nothing, stops the query and returns [ErrBudget], as do
// all later calls.
func (m *Meter) charge(free bool, u price.Usage) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	used, billed := m.used.Plus(u), m.billed
	if !free {
		billed = billed.Plus(u)
	}
	if m.maxBytes > 0 && used.BytesRead() > m.maxBytes || m.maxCost > 0 && m.prices.Cost(billed) > m.maxCost {
		m.over = true
	}
	if m.over {
		if m.stop != nil {
			m.stop(ErrBudget)
		}
		return ErrBudget
	}
	m.used, m.billed = used, billed
	return nil
}

// refund subtracts a request for a page that was charged but not made.
func (m *Meter) refund(free bool, request price.Usage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	unused := price.Usage{List: -request.List, Table: -request.Table}
	m.used = m.used.Plus(unused)
	if !free {
		m.billed = m.billed.Plus(unused)
	}
}

// Requests returns the number of requests so far.
func (m *Meter) Requests() Requests {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Requests{List: m.used.List, Get: m.used.Read + m.used.Cool.Read + m.used.Cold.Read, Table: m.used.Table}
}

// Spent returns the cost of the query so far, and the bytes read from the cool and cold tiers.
func (m *Meter) Spent() (dollars float64, retrieved int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.prices.Cost(m.billed), m.billed.Cool.Bytes + m.billed.Cold.Bytes
}

// StepContext returns a context for one step of the query. It ends with [ErrBudget] before a limit is exceeded. The caller must call
// done.
func (m *Meter) StepContext(ctx context.Context) (limited context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	outer := m.stop
	m.stop = cancel
	if m.over {
		cancel(ErrBudget)
	}
	return ctx, func() {
		cancel(nil)
		m.mu.Lock()
		defer m.mu.Unlock()
		m.stop = outer
	}
}

// meteredBlobs counts each request before it is made.
type meteredBlobs struct {
	store.BlobReader
	gate
	// tier is the tier of the blobs that are read.
	tier store.Tier
}

// IsPriced reports whether requests of a metered reader cost something.
func IsPriced(r store.BlobReader) bool {
	metered, ok := r.(meteredBlobs)
	return ok && !metered.free
}

// InTier returns r for blobs of a tier, whose reads may cost more.
func InTier(r store.BlobReader, tier store.Tier) store.BlobReader {
	metered, ok := r.(meteredBlobs)
	if !ok || tier == "" || tier == store.Hot {
		return r
	}
	metered.tier = tier
	return metered
}

// ReadUsage returns the usage of a number of requests that read bytes from a tier.
func ReadUsage(tier store.Tier, requests, bytes int64) price.Usage {
	switch tier {
	case store.Cool:
		return price.Usage{Cool: price.TierUsage{Read: requests, Bytes: bytes}}
	case store.Cold:
		return price.Usage{Cold: price.TierUsage{Read: requests, Bytes: bytes}}
	default:
		return price.Usage{Read: requests, Bytes: bytes}
	}
}

func (r meteredBlobs) Read(ctx context.Context, ref store.BlobRef, off, n int64) ([]byte, error) {
	request, err := r.enter(ctx, ReadUsage(r.tier, 1, max(0, n)))
	if err != nil {
		return nil, err
	}
	b, err := r.BlobReader.Read(ctx, ref, off, n)
	r.leave(request, err)
	return b, err
}

func (r meteredBlobs) List(ctx context.Context, prefix string) iter.Seq2[[]store.Blob, error] {
	return meterPages(ctx, r.gate, price.Usage{List: 1}, r.BlobReader.List(ctx, prefix))
}

func (r meteredBlobs) ListPrefixes(ctx context.Context, prefix string) iter.Seq2[[]string, error] {
	return meterPages(ctx, r.gate, price.Usage{List: 1}, r.BlobReader.ListPrefixes(ctx, prefix))
}

type meteredTables struct {
	store.TableReader
	gate
}

func (r meteredTables) Tables(ctx context.Context, prefix string) iter.Seq2[[]string, error] {
	return meterPages(ctx, r.gate, price.Usage{Table: 1}, r.TableReader.Tables(ctx, prefix))
}

func (r meteredTables) Query(ctx context.Context, table string, q store.Query) iter.Seq2[[]store.Entity, error] {
	return meterPages(ctx, r.gate, price.Usage{Table: 1}, r.TableReader.Query(ctx, table, q))
}

// meterPages charges a request before each page. Because the last page is only known afterwards, one request too many is charged, and
// refunded at the end. While the caller uses a page, no request is in flight.
func meterPages[T any](ctx context.Context, g gate, usage price.Usage, pages iter.Seq2[[]T, error]) iter.Seq2[[]T, error] {
	return func(yield func([]T, error) bool) {
		request, err := g.enter(ctx, usage)
		if err != nil {
			yield(nil, err)
			return
		}
		unused := false
		for page, pageErr := range pages {
			g.leave(request, pageErr)
			if !yield(page, pageErr) || pageErr != nil {
				return
			}
			if request, err = g.enter(ctx, usage); err != nil {
				yield(nil, err)
				return
			}
			unused = true
		}
		g.leave(request, nil)
		if unused {
			g.m.refund(g.free, usage)
		}
	}
}
