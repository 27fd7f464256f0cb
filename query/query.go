package query

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"

	"logstow/blobnaming"
	"logstow/internal/price"
	"logstow/query/cache"
	"logstow/segment"
	"logstow/store"
)

// ErrSelection is wrapped by the errors of [New]: the selection is not one.
var ErrSelection = errors.New("invalid query")

// The ways to find the segments of a range.
const (
	// PlanList lists blobs by name prefix: the authority.
	PlanList = "list"
	// PlanIndex asks the table index, which may lag behind.
	PlanIndex = "index"
)

// Store is a place to read from.
type Store struct {
	// Name is the store as the user named it.
	Name string
	// Container tells the store's segments in the index from those of others.
	Container string
	Blobs     store.BlobReader
	Tables    store.TableReader
	// Cache keeps what is read of segments; nil keeps nothing. It is for stores that
	// cost time and money to read.
	Cache *cache.Cache
	// Free says that requests cost nothing: it is a directory.
	Free bool
}

// ReadOnly is the reading half of a store.
func ReadOnly(s store.Store) Store {
	return Store{Name: s.String(), Container: s.Container(), Blobs: s.Blobs(), Tables: s.Tables()}
}

// DefaultGroupMemory is the default of [Options.GroupMemory]: 256 MiB.
const DefaultGroupMemory = 256 << 20

// Options say how to read. The zero value is the default.
type Options struct {
	// Plan is PlanList or PlanIndex; "" is PlanList.
	Plan string
	// Memory is the number of bytes of records that may wait to be merged before
	// some go through a temporary file; 0 is 24 MiB.
	Memory int64
	// GroupMemory is about the number of bytes that the groups of [Query.Stats] may take;
	// 0 is DefaultGroupMemory.
	GroupMemory int64
	// Prices are what requests cost; nil is [price.Default].
	Prices *price.Table
	// MaxBytes and MaxCost (dollars) are what the query may read from its stores, in
	// all; before more is, it ends with [ErrBudget]. 0 is no limit.
	MaxBytes int64
	MaxCost  float64
	// Tiers has a plan by the index look up in which tier the blobs of each day are, so
	// that costs are right: the index does not know. It takes a listing a day.
	Tiers bool
	// TempDir is the directory of that file; "" is the system's.
	TempDir string
}

// Query finds records. Its methods may be called one after the other; the
// report adds up what they did.
type Query struct {
	sel     Selection
	opts    Options
	matcher *matcher
	stores  []Store
	decoder *segment.Decoder
	workers chan *worker
	tally   *tally
	meter   *meter
	// scratch keeps what is made of foreign segments with the compressor.
	scratch    *scratchBlocks
	compressor func() *segment.Compressor
}

// New compiles a selection. A mistake in it wraps [ErrSelection].
func New(stores []Store, sel Selection, opts Options) (*Query, error) {
	m, err := compile(&sel)
	if err != nil {
		return nil, err
	}
	opts.Plan = cmp.Or(opts.Plan, PlanList)
	opts.Memory = cmp.Or(opts.Memory, 24<<20)
	opts.GroupMemory = cmp.Or(opts.GroupMemory, DefaultGroupMemory)
	if opts.Plan != PlanList && opts.Plan != PlanIndex {
		return nil, fmt.Errorf("%w: %q is not a way to plan (%s or %s)", ErrSelection, opts.Plan, PlanList, PlanIndex)
	}
	q := &Query{
		sel: sel, opts: opts, matcher: m, stores: make([]Store, len(stores)), decoder: segment.NewDecoder(), tally: &tally{},
		scratch: &scratchBlocks{dir: opts.TempDir}, compressor: sync.OnceValue(segment.NewCompressor),
		meter: &meter{prices: price.Default(), maxBytes: opts.MaxBytes, maxCost: opts.MaxCost},
	}
	if opts.Prices != nil {
		q.meter.prices = *opts.Prices
	}
	for i, s := range stores {
		s.Blobs = meteredBlobs{BlobReader: q.tally.requests.BlobReader(s.Blobs), m: q.meter, free: s.Free}
		s.Tables = meteredTables{q.tally.requests.TableReader(s.Tables), q.meter, s.Free}
		q.stores[i] = s
	}
	q.newWorkers()
	return q, nil
}

// With is a query for another selection of the same stores, which adds to the same
// report and has the same limits. A plan of one may be read by the other where it
// finds what that wants.
func (q *Query) With(sel Selection) (*Query, error) {
	m, err := compile(&sel)
	if err != nil {
		return nil, err
	}
	other := *q
	other.sel, other.matcher = sel, m
	other.newWorkers()
	return &other, nil
}

// compile checks a selection. A mistake in it wraps [ErrSelection].
func compile(sel *Selection) (*matcher, error) {
	if err := sel.validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSelection, err)
	}
	m, err := newMatcher(sel)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSelection, err)
	}
	return m, nil
}

// newWorkers makes the workers.
func (q *Query) newWorkers() {
	q.workers = make(chan *worker, runtime.GOMAXPROCS(0))
	for range cap(q.workers) {
		q.workers <- &worker{scanner: scanner{m: q.matcher}}
	}
}

// Segment is a segment that a plan found.
type Segment struct {
	// Store is the name of the store that holds it.
	Store string
	Name  blobnaming.Name
	Meta  blobnaming.Metadata
	// Size is its stored size in bytes.
	Size int64
	// Tier is where it is stored, as far as that is known.
	Tier store.Tier
	// Foreign says that another program wrote it: of Meta, only Start and End (bounds of
	// its records' times), Batch (made of name, ETag and size) and Instance ("-") are set.
	Foreign bool

	blobs  store.BlobReader
	cache  *cache.Cache
	copies []*Segment // other blobs of the same content
	rank   int        // its place in the order (instance, sequence, name)
}

// String names the segment for a message.
func (s *Segment) String() string { return s.Name.String() }

// compareSegments is the order of segments for records of equal time.
func compareSegments(a, b *Segment) int {
	return cmp.Or(
		strings.Compare(a.Meta.Instance, b.Meta.Instance),
		cmp.Compare(a.Meta.Seq, b.Meta.Seq),
		strings.Compare(a.Name.Service, b.Name.Service),
		a.Name.Bucket.Compare(b.Name.Bucket),
		cmp.Compare(a.Name.Number, b.Name.Number),
		strings.Compare(a.Store, b.Store),
	)
}
