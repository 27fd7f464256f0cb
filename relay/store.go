package relay

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"time"

	"logstow/internal/logging"
	"logstow/store"
)

// TokenEnv is the variable with the token that a sender presents to relays.
const TokenEnv = "LOGSTOW_RELAY_TOKEN" //nolint:gosec // the name of a variable

// FloorKey is the metadata key of the lowest Seq that the sender may still send; it becomes the [FloorHeader].
const FloorKey = "Floor"

// Options configure a [Store].
type Options struct {
	// Name is the name of the store, for [ParseAddresses].
	Name string
	// Token is presented to the relays; "" is none.
	Token string
	// CAFile names a PEM file of certificate authorities, trusted in addition to the system's; "" is none.
	CAFile string
	// Log receives operational messages; nil discards them.
	Log *slog.Logger
}

// Store is relays in place of storage. Of a [store.Store], it has the creation of segments only: [Name.String] is the name of a segment,
// and its metadata are [FloorKey]. Everything else is [store.ErrInvalid]. It is a [watch.Source]. Safe for concurrent use.
type Store struct {
	name    string
	pool    *pool
	watches *watches
}

// Open returns a Store. It requests nothing yet. An invalid name is [store.ErrInvalid].
func Open(opts Options) (*Store, error) {
	addresses, err := ParseAddresses(opts.Name)
	if err != nil {
		return nil, &store.Error{Op: "open", Object: opts.Name, Class: store.ErrInvalid, Err: err}
	}
	opts.Log = logging.OrDiscard(opts.Log)
	p, err := newPool(addresses, opts)
	if err != nil {
		return nil, err
	}
	return &Store{name: opts.Name, pool: p, watches: newWatches(p)}, nil
}

// Relay returns the ID of the relay to which the next segment of a service is to be sent: the same for one service, as long as that relay
// takes segments. If none can be reached, the error is [store.ErrUnavailable]; if none takes segments at present, [store.ErrThrottled].
func (s *Store) Relay(ctx context.Context, service string) (id string, err error) {
	return s.pool.choose(ctx, service)
}

// Relays returns the relays that respond at present, in the order of their IDs. Its error is that of Relay.
func (s *Store) Relays(ctx context.Context) ([]Info, error) { return s.pool.list(ctx) }

// Permits returns an error, [store.ErrAccessDenied], if a relay does not allow segments of a service and class to this sender.
func (s *Store) Permits(ctx context.Context, service, class string) error {
	return s.pool.permits(ctx, service, class)
}

// Blobs implements [store.Store]. Only Create works: see [Store].
func (s *Store) Blobs() store.Blobs { return segments{s} }

// Compacted implements [store.Store].
func (s *Store) Compacted() store.Blobs { return segments{s} }

// Tables implements [store.Store].
func (s *Store) Tables() store.Tables { return tables{s} }

// Container implements [store.Store].
func (s *Store) Container() string { return "" }

// Now implements [store.Store].
func (s *Store) Now(context.Context) (time.Time, error) {
	return time.Time{}, s.unsupported("read", "clock")
}

// String implements [store.Store].
func (s *Store) String() string { return s.name }

// Close ends polling for watches and closes the connections.
func (s *Store) Close() error {
	s.watches.close()
	s.pool.close()
	return nil
}

// errNoStorage is the cause of everything that relays do not do.
var errNoStorage = errors.New("a relay only takes segments")

func (s *Store) unsupported(op, object string) error {
	return &store.Error{
		Op:     op,
		Object: object + " of " + s.name,
		Class:  store.ErrInvalid,
		Err:    errNoStorage,
		Hint:   "name the store that the relay writes to",
	}
}

// segments are the blobs of a relay.
type segments struct{ *Store }

// Create sends a segment.
func (s segments) Create(ctx context.Context, name string, body []byte, opts store.CreateOptions) (etag string, err error) {
	n, err := ParseName(name)
	if err != nil {
		return "", &store.Error{Op: "send", Object: name, Class: store.ErrInvalid, Err: err}
	}
	return "", s.pool.send(ctx, n, body, opts.Metadata[FloorKey])
}

func (s segments) Read(context.Context, store.BlobRef, int64, int64) ([]byte, error) {
	return nil, s.unsupported("read", "blobs")
}

func (s segments) List(context.Context, string) iter.Seq2[[]store.Blob, error] {
	return store.Failing[store.Blob](s.unsupported("list", "blobs"))
}

func (s segments) ListPrefixes(context.Context, string) iter.Seq2[[]string, error] {
	return store.Failing[string](s.unsupported("list", "blobs"))
}

func (s segments) Delete(context.Context, []store.BlobRef) error {
	return s.unsupported("delete", "blobs")
}

func (s segments) RemoveDirectories(context.Context, string, string) error {
	return s.unsupported("delete", "directories")
}

func (s segments) SetTier(context.Context, []string, store.Tier) error {
	return s.unsupported("move", "blobs")
}

// tables are the tables of a relay, which has none.
type tables struct{ *Store }

func (t tables) Tables(context.Context, string) iter.Seq2[[]string, error] {
	return store.Failing[string](t.unsupported("list", "tables"))
}

func (t tables) Query(context.Context, string, store.Query) iter.Seq2[[]store.Entity, error] {
	return store.Failing[store.Entity](t.unsupported("query", "tables"))
}

func (t tables) CreateTable(context.Context, string) error { return t.unsupported("create", "tables") }

func (t tables) Upsert(context.Context, string, []store.Entity) error {
	return t.unsupported("write", "tables")
}

func (t tables) Remove(context.Context, string, []store.Key) error {
	return t.unsupported("write", "tables")
}

func (t tables) DropTable(context.Context, string) error { return t.unsupported("delete", "tables") }

var _ store.Store = (*Store)(nil)

// unreachable is the error of relays none of which responds.
func (p *pool) unreachable(op string, cause error) error {
	return &store.Error{Op: op, Object: p.name, Class: store.ErrUnavailable, Err: fmt.Errorf("no relay responds: %w", cause)}
}
