package watch

import (
	"context"

	"logstow/store"
)

// Source is where a [Flusher] reads watches and reports what it has flushed: the table of a store, or relays. Safe for concurrent use.
type Source interface {
	// Watches returns the watches on services, in order of name, live or expired; it may return watches on further services. A source
	// that learns of changes by itself calls wake of the last call at each.
	Watches(ctx context.Context, services []string, wake func()) ([]Watch, error)
	// Report reports that a shipper responds to the watch on a service, and what it has flushed.
	Report(ctx context.Context, s Shipper) error
	// String returns the name of the source.
	String() string
}

// sourceOf returns the source of watches of a store: the store itself, if it is a [Source], otherwise its table.
func sourceOf(st store.Store) Source {
	if s, ok := store.As[Source](st); ok {
		return s
	}
	return tableSource{st}
}

// tableSource is the table of a store as a [Source].
type tableSource struct{ store.Store }

// Watches implements [Source] with one request, see [readWatches].
func (t tableSource) Watches(ctx context.Context, services []string, _ func()) ([]Watch, error) {
	return readWatches(ctx, t.Tables(), Table(t.Container()), services[0], services[len(services)-1])
}

// Report implements [Source]. It writes the shipper's entity.
func (t tableSource) Report(ctx context.Context, s Shipper) error {
	return t.Tables().Upsert(ctx, Table(t.Container()), []store.Entity{shipperEntity(s)})
}
