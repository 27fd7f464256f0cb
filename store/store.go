// Package store defines the storage interfaces of Logstow: blobs, which are the source of truth, and
// tables, which hold the derived index. There are two backends (store/azure and store/local), and one
// conformance suite (internal/test/storetest) with a case for every sentence of these comments.
package store

import (
	"context"
	"iter"
	"time"
)

// BlobReader is the reading half of a container of immutable blobs. Its methods are safe for
// concurrent use and stop when ctx ends, returning an error for which errors.Is(err,
// context.Cause(ctx)) holds. A missing container is [ErrNoContainer], which is distinct from a
// missing blob.
type BlobReader interface {
	// Read returns exactly n bytes of a blob from offset off. A missing blob is [ErrNotFound], and so is
	// one that was replaced since it was listed, if ref has an ETag; a
	// range that the blob does not have in full is [ErrRange]; an n that is not positive, or a
	// negative off, is [ErrInvalid]. The bytes are those stored: nothing is decompressed, whatever
	// the blob's Content-Encoding. One request.
	Read(ctx context.Context, ref BlobRef, off, n int64) ([]byte, error)

	// List yields the blobs whose names start with prefix, in byte order of the whole name, in
	// pages of at most 5,000, each one request. A blob that existed before the listing began and is
	// not deleted is listed exactly once; one created or deleted during the listing may or may not
	// be listed. If a blob is missing on a page because it was deleted, the page has the blobs of
	// its range of names that were created before that and are not deleted. Directories are not
	// listed. A listed blob is complete, with its metadata. Any prefix is valid: one that no name
	// starts with lists nothing. After an error nothing further is yielded.
	List(ctx context.Context, prefix string) iter.Seq2[[]Blob, error]

	// ListPrefixes yields the distinct "directories" directly under prefix: each blob name that
	// starts with prefix, cut after the first '/' that follows it. Blobs without a further '/' are
	// left out. Order and pages are as with List.
	ListPrefixes(ctx context.Context, prefix string) iter.Seq2[[]string, error]
}

// Blobs is a container of immutable blobs. A missing container is created by the first Create.
// Names are those that [CheckName] allows; a backend that keeps blobs as files may also reject, as
// [ErrInvalid], a component of more than 255 bytes and a name that is the directory of another.
type Blobs interface {
	BlobReader

	// Create writes a blob under a name that must be free; it is atomic and, once it has returned
	// nil, durable. A taken name is [ErrExists], and the existing blob is untouched. An invalid
	// name or invalid metadata is [ErrInvalid] and writes nothing. After any other error the blob
	// may or may not have been written. Create never retries. It returns the blob's ETag, which is
	// also the one in listings.
	Create(ctx context.Context, name string, body []byte, opts CreateOptions) (etag string, err error)

	// Delete removes blobs, in requests of at most [MaxDelete]. A missing blob counts as removed,
	// and so does a different blob that now has the same name, which is not touched; a missing
	// container is [ErrNoContainer]. It tries all and returns the first [*Error] of each class, with
	// its Count, joined. Without blobs it makes no request.
	Delete(ctx context.Context, refs []BlobRef) error

	// RemoveDirectories removes the empty directories whose names start with prefix, which ends in
	// '/', and are before a name in byte order, and the directory of prefix itself. It has an effect only in
	// a hierarchical namespace, where directories are objects that remain, and are listed, after
	// their blobs are deleted. A directory that is not empty is kept, and is no error.
	RemoveDirectories(ctx context.Context, prefix, before string) error

	// SetTier moves blobs to another tier, with the requests and errors of Delete; nothing else
	// about them changes, not even their ETags. A missing blob is skipped. An unknown tier is
	// [ErrInvalid], and so is any tier in a store without tiers.
	SetTier(ctx context.Context, names []string, tier Tier) error
}

// BlobRef identifies a blob as a listing found it.
type BlobRef struct {
	Name string
	// ETag is the blob's ETag in the listing; "" matches any.
	ETag string
}

// AnyVersion returns references to blobs by name, with any ETag.
func AnyVersion(names ...string) []BlobRef {
	refs := make([]BlobRef, len(names))
	for i, name := range names {
		refs[i].Name = name
	}
	return refs
}

// Tier is a price class of a blob's storage: a cooler tier costs less to keep and more to read.
type Tier string

// Valid reports whether t is a tier that can be set.
func (t Tier) Valid() bool { return t == Hot || t == Cool || t == Cold }

// The tiers that can be read directly. Storage may report others, which cannot.
// https://learn.microsoft.com/azure/storage/blobs/access-tiers-overview
const (
	Hot  Tier = "Hot"
	Cool Tier = "Cool"
	Cold Tier = "Cold"
)

// CreateOptions are a blob's metadata and headers, all written with it.
type CreateOptions struct {
	// Metadata is what [CheckMetadata] allows.
	// https://learn.microsoft.com/rest/api/storageservices/setting-and-retrieving-properties-and-metadata-for-blob-resources
	Metadata        map[string]string
	ContentType     string
	ContentEncoding string
	// Tier is the tier of the blob; "" is the account's default, which others can change. Hot is ignored by a
	// store or account without tiers, any other tier is [ErrInvalid] there.
	Tier Tier
}

// Blob is an entry of a listing.
type Blob struct {
	Name string
	// Size is the stored size in bytes.
	Size int64
	ETag string
	// Created is the time at which storage wrote the blob.
	Created time.Time
	// Modified is the time at which the blob was last written. What Logstow wrote is never written again.
	Modified time.Time
	// Appended is set for an append blob: what was written of it does not change.
	Appended bool
	// Tier is the blob's tier; "" in a store without tiers.
	Tier Tier
	// TierInferred is set if the tier is the account's default, because none was set on the blob.
	TierInferred bool
	// Paged is set for a page blob: it costs nothing where it was not written, and may be 8 TiB
	// (https://learn.microsoft.com/rest/api/storageservices/understanding-block-blobs--append-blobs--and-page-blobs). No log is one.
	Paged bool
	// Metadata is as written, except that storage may change the case of keys: compare keys without
	// case.
	Metadata map[string]string
}

// Ref identifies the blob as it was listed.
func (b Blob) Ref() BlobRef { return BlobRef{b.Name, b.ETag} }

// TableReader is the reading half of an account's tables. Its methods are safe for concurrent use
// and stop when ctx ends, like those of [BlobReader]. A missing table is [ErrNoTable].
type TableReader interface {
	// Tables yields the names of the tables that start with prefix, in order, in
	// pages of at most 1,000, each one request.
	Tables(ctx context.Context, prefix string) iter.Seq2[[]string, error]

	// Query yields entities in order of partition and row key, in pages of at most 1,000, each one
	// request; a page may be empty while more follow. Keys and conditions compare as bytes if they
	// are ASCII. An invalid query is [ErrInvalid].
	Query(ctx context.Context, table string, q Query) iter.Seq2[[]Entity, error]
}

// Tables is an account's tables. Names match [A-Za-z][A-Za-z0-9]{2,62} and are compared without
// case; any other is [ErrInvalid].
type Tables interface {
	TableReader

	// CreateTable creates a table; an existing one is no error. While an earlier table of the name
	// is still being deleted the error is [ErrTableBusy].
	CreateTable(ctx context.Context, table string) error

	// Upsert inserts or replaces entities of one partition in one transaction: all or none. An
	// entity is replaced as a whole. There are 1 to [MaxTransaction] entities with distinct row
	// keys, [MaxTransactionSize] bytes in all; what [CheckEntities] rejects is [ErrInvalid] and
	// writes nothing. One request.
	Upsert(ctx context.Context, table string, entities []Entity) error

	// Remove deletes entities of one partition in one transaction. A missing entity counts as
	// removed. What [CheckTransaction] rejects is [ErrInvalid].
	Remove(ctx context.Context, table string, keys []Key) error

	// DropTable deletes a table with all its entities; a missing one counts as dropped.
	DropTable(ctx context.Context, table string) error
}

// Key identifies an entity in a table. Neither part may contain / \ # ? or control characters, nor
// exceed [MaxKeySize].
type Key struct {
	Partition, Row string
}

// Entity is an entity of a table: at most [MaxEntitySize] and [MaxProperties].
type Entity struct {
	Key
	// Properties are values of type string, int64 or []byte of at most
	// [MaxPropertySize]. Names are ASCII identifiers.
	Properties map[string]any
	// Written is when storage wrote the entity, Read when it was read, both by storage's clock; Read may be
	// truncated to whole seconds. They are zero, except in the results of a [Query] with Times.
	Written, Read time.Time
}

// Kind is the type of a property.
type Kind uint8

// The kinds of property, as the Go types string, int64 and []byte.
const (
	String Kind = iota
	Int64
	Binary
)

// Column names a property to return, and its type: storage responds without type information, so
// the reader states the type. An entity without that property is returned without it; a value of
// another type is [ErrInvalid].
type Column struct {
	Name string
	Kind Kind
}

// Query selects the entities that match all of it: those of one partition, or, if PartitionTo is not "",
// of the partitions from Partition (included) to PartitionTo (excluded); with row keys from RowFrom
// (included) to RowTo (excluded; "" is unbounded); for which every condition of Where holds. The results
// have only the properties of Columns; without Columns only the keys.
type Query struct {
	Partition, PartitionTo string
	RowFrom, RowTo         string
	Where                  []Condition
	Columns                []Column
	// Times asks for Written and Read of each entity. An entity that a version of Logstow without these wrote into
	// a directory has no Written.
	Times bool
}

// Condition compares a string property with a value in byte order.
type Condition struct {
	Column string
	// Op is one of "eq", "lt", "le", "gt", "ge".
	Op    string
	Value string
}

// Location is where programs other than Logstow find the blobs of a store: the absolute path of a directory, or a URL without a
// credential, of each container. It does not end in a slash. The zero value is unknown.
type Location struct{ Raw, Compacted string }

// Located is a [Store] whose blobs other programs can read.
type Located interface{ Location() Location }

// Store is one place where segments and their index are stored, with its configured name.
type Store interface {
	// Blobs is the raw container: shippers create plain segments in it.
	Blobs() Blobs
	// Compacted is the compacted container: the outputs of compaction are in it. Only compaction and
	// retention write to it, so that a credential of a shipper cannot create what hides segments. It has
	// no blob of the raw container, and the raw container none of its blobs. It may be missing while the raw
	// container exists, and is created by its own first Create.
	Compacted() Blobs
	Tables() Tables
	// Container distinguishes this store's blobs from those of others that share its tables.
	Container() string
	// Now is the time by storage's own clock: Azure's, which costs a listing of one blob (a missing
	// container is [ErrNoContainer]), or this machine's for a directory.
	Now(ctx context.Context) (time.Time, error)
	// String is the store as the user named it, without secrets.
	String() string
	// Close releases the resources of the store; its halves must not be used afterwards.
	Close() error
}
