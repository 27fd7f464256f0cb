package grant

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"logstow/store"
	"logstow/tableindex"
)

// outsideError is the error for requests outside of a grant.
func outsideError(op, object, name string, class error, g *Grant) error {
	return &store.Error{
		Op: op, Object: object, Class: class,
		Err:  fmt.Errorf("%s is for %s/ only", name, g.Directory),
		Hint: "get another grant (shipper grant) if more is needed",
	}
}

// expiredError is the error for an expired grant.
func expiredError(op, object, name string, g *Grant) error {
	return &store.Error{
		Op: op, Object: object, Class: store.ErrAccessDenied,
		Err: fmt.Errorf("%s expired at %s", name, g.Expires.UTC().Format(time.RFC3339)), Hint: "get a new one (shipper grant)",
	}
}

// blobs restricts a store's blobs to a grant.
type blobs struct {
	store.Blobs
	// name is the store's name, for errors.
	name string
	// of returns the current grant.
	of func() (*Grant, error)
}

// Read implements store.BlobReader.
func (b *blobs) Read(ctx context.Context, ref store.BlobRef, off, n int64) ([]byte, error) {
	if err := b.check("read", "blob "+ref.Name, ref.Name); err != nil {
		return nil, err
	}
	return b.Blobs.Read(ctx, ref, off, n)
}

// Create implements store.Blobs.
func (b *blobs) Create(ctx context.Context, name string, body []byte, opts store.CreateOptions) (string, error) {
	if err := b.check("create", "blob "+name, name); err != nil {
		return "", err
	}
	return b.Blobs.Create(ctx, name, body, opts)
}

// Delete implements store.Blobs.
func (b *blobs) Delete(ctx context.Context, refs []store.BlobRef) error {
	for _, ref := range refs {
		if err := b.check("delete", "blob "+ref.Name, ref.Name); err != nil {
			return err
		}
	}
	return b.Blobs.Delete(ctx, refs)
}

// RemoveDirectories implements store.Blobs.
func (b *blobs) RemoveDirectories(ctx context.Context, prefix, before string) error {
	if err := b.check("remove directories", "directories "+prefix+"*", prefix); err != nil {
		return err
	}
	return b.Blobs.RemoveDirectories(ctx, prefix, before)
}

// check rejects a name outside of the grant.
func (b *blobs) check(op, object, name string) error {
	g, err := b.of()
	if err == nil && !strings.HasPrefix(name, g.Directory+"/") {
		err = outsideError(op, object, b.name, store.ErrAccessDenied, g)
	}
	return err
}

// List implements store.BlobReader. A prefix that covers more than the grant is rejected, so that a
// partial listing is not taken for a complete one. The exception is a prefix that does not name a
// whole service: its listing contains the grant's service alone.
func (b *blobs) List(ctx context.Context, prefix string) iter.Seq2[[]store.Blob, error] {
	return func(yield func([]store.Blob, error) bool) {
		g, err := b.of()
		if err != nil {
			yield(nil, err)
			return
		}
		if all := g.Service + "/"; strings.HasPrefix(all, prefix) {
			prefix = all
		}
		if !strings.HasPrefix(prefix, g.Directory+"/") {
			yield(nil, outsideError("list", "blobs "+prefix+"*", b.name, store.ErrAccessDenied, g))
			return
		}
		b.Blobs.List(ctx, prefix)(yield)
	}
}

// ListPrefixes implements store.BlobReader. Each level above the grant's directory consists of one
// name, without a request to storage.
func (b *blobs) ListPrefixes(ctx context.Context, prefix string) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		g, err := b.of()
		top := ""
		if err == nil {
			top = g.Directory + "/"
		}
		switch {
		case err != nil:
			yield(nil, err)
		case strings.HasPrefix(prefix, top):
			b.Blobs.ListPrefixes(ctx, prefix)(yield)
		case strings.HasPrefix(top, prefix) && !g.Expires.After(time.Now()):
			yield(nil, expiredError("list", "names "+prefix+"*", b.name, g))
		case strings.HasPrefix(top, prefix):
			yield([]string{top[:len(prefix)+strings.IndexByte(top[len(prefix):], '/')+1]}, nil)
		default:
			yield(nil, outsideError("list", "names "+prefix+"*", b.name, store.ErrAccessDenied, g))
		}
	}
}

// tables restricts a store's tables to a grant.
type tables struct {
	inner store.Tables
	name  string
	of    func() (*Grant, error)
}

// Query implements store.TableReader. Storage returns no entities for partitions outside of a
// signature, as if they were empty; so other services' partitions are rejected here.
func (t *tables) Query(ctx context.Context, table string, q store.Query) iter.Seq2[[]store.Entity, error] {
	if err := t.check("query", table, q.Partition); q.Partition != "" && err != nil {
		return store.Failing[store.Entity](err)
	}
	return t.inner.Query(ctx, table, q)
}

// check rejects a partition of another service.
func (t *tables) check(op, table, partition string) error {
	g, err := t.of()
	if err == nil && !tableindex.OfService(partition, g.Service) {
		err = outsideError(op, "table "+table, t.name, store.ErrAccessDenied, g)
	}
	return err
}

// Covers returns [store.ErrAccessDenied] if the tables do not cover a range. The grant has tables
// only for the days for which it was made, and other days would look like days without logs. The
// part of the range in the future is ignored.
func (t *tables) Covers(from, to time.Time) error {
	g, err := t.of()
	if err != nil || g.From.IsZero() {
		return err
	}
	first, end := g.From.Truncate(day), g.To.Add(day-1).Truncate(day)
	if now := time.Now(); to.After(now) {
		to = now
	}
	if !from.Before(first) && !to.After(end) {
		return nil
	}
	return &store.Error{
		Op: "query", Object: "the index", Class: store.ErrAccessDenied,
		Err:  fmt.Errorf("%s holds it from %s to %s only", t.name, first.Format(time.DateOnly), end.Add(-day).Format(time.DateOnly)),
		Hint: "use --plan list, or a range inside of that",
	}
}

// Remove implements store.Tables. Storage denies it: no grant allows it.
func (t *tables) Remove(ctx context.Context, table string, keys []store.Key) error {
	return t.inner.Remove(ctx, table, keys)
}

// Tables implements store.TableReader: the names are in the grant; some of the tables may not
// exist.
func (t *tables) Tables(ctx context.Context, prefix string) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		g, err := t.of()
		if err == nil && ctx.Err() != nil {
			err = fmt.Errorf("list tables %s*: %w", prefix, context.Cause(ctx))
		}
		if err == nil && g.Kind == Read && len(g.Tables) == 0 {
			err = &store.Error{
				Op: "list", Object: "tables " + prefix + "*", Class: store.ErrAccessDenied,
				Err: errors.New(t.name + " holds no signatures for tables"), Hint: "use --plan list",
			}
		}
		if err != nil {
			yield(nil, err)
			return
		}
		names := slices.Sorted(maps.Keys(g.Tables))
		names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, prefix) })
		for page := range slices.Chunk(names, maxNames) {
			if !yield(page, nil) {
				return
			}
		}
	}
}

// maxNames is the maximum number of names in a page of [store.TableReader].
const maxNames = 1000

// CreateTable implements store.Tables. It always fails: the tables that a grant names were created
// when the grant was made, and segments of other days stay unindexed.
func (t *tables) CreateTable(_ context.Context, table string) error {
	return t.invalid("create", table)
}

// DropTable implements store.Tables. It always fails.
func (t *tables) DropTable(_ context.Context, table string) error {
	return &store.Error{Op: "drop", Object: "table " + table, Class: store.ErrAccessDenied, Err: errors.New(t.name + " does not allow it")}
}

// Upsert implements store.Tables.
func (t *tables) Upsert(ctx context.Context, table string, entities []store.Entity) error {
	g, err := t.of()
	if err != nil {
		return err
	}
	if !g.Tables[table].Set() {
		return t.invalid("write to", table)
	}
	for i := range entities {
		if err := t.check("write to", table, entities[i].Partition); err != nil {
			return err
		}
	}
	return t.inner.Upsert(ctx, table, entities)
}

// invalid returns the error for a table that the grant does not allow to write. It is not retried.
func (t *tables) invalid(op, table string) error {
	return &store.Error{
		Op: op, Object: "table " + table, Class: store.ErrInvalid, Err: errors.New(t.name + " does not allow it"),
		Hint: "segments of that day are found by listing, and shipper reindex adds their entities",
	}
}
