// Package store defines what Logstow needs of storage: blobs, which are the
// truth, and tables, which hold the derived index. Two small interfaces, two
// backends (store/azure and store/local), one conformance suite
// (store/storetest) in which every sentence of these comments has a case.
package store

import (
	"context"
	"iter"
	"time"
)

// BlobReader is the reading half of a container of immutable blobs. Its
// methods are safe for concurrent use and stop when ctx ends, returning an
// error for which errors.Is(err, context.Cause(ctx)) holds. A missing container
// reads as [ErrNoContainer], which is never confused with a missing blob.
type BlobReader interface {
	// Read returns exactly n bytes of a blob from offset off on.
	// A missing blob is [ErrNotFound]; a range that the blob does not have in
	// full is [ErrRange]; an n that is not positive, or a negative off, is
	// [ErrInvalid]. The bytes are those stored: nothing is decompressed, whatever
	// the blob's Content-Encoding. One request.
	Read(ctx context.Context, name string, off, n int64) ([]byte, error)

	// List yields the blobs whose names start with prefix, in byte order of the
	// whole name, in pages of at most 5,000, each one request. A blob that existed
	// before the listing began and is not deleted is listed exactly once; one
	// created or deleted meanwhile may or may not be. Directories are none. What is
	// listed is whole, with its metadata. Any prefix will do: one that no name starts with lists
	// nothing. After an error nothing further is yielded.
	List(ctx context.Context, prefix string) iter.Seq2[[]Blob, error]

	// ListPrefixes yields the distinct "directories" directly under prefix: each
	// blob name that starts with prefix, cut after the first '/' that follows it.
	// Blobs without a further '/' are left out. Order and pages as with List.
	ListPrefixes(ctx context.Context, prefix string) iter.Seq2[[]string, error]
}

// Blobs is a container of immutable blobs. A missing container is created by
// the first Create that needs it. Names are those that [CheckName] allows; a
// backend that keeps blobs as files may further refuse, as [ErrInvalid], a
// component of more than 255 bytes and a name that is the directory of another.
type Blobs interface {
	BlobReader

	// Create writes a blob under a name that must be free; it is atomic and, once
	// it returned nil, durable. A taken name is [ErrExists], and the blob there is
	// untouched. A name or metadata that is not allowed is [ErrInvalid] and writes
	// nothing. When any other error is returned the blob may or may not have been
	// written. Create never retries by itself. It returns the blob's ETag, which
	// is also what listings say.
	Create(ctx context.Context, name string, body []byte, opts CreateOptions) (etag string, err error)

	// Delete removes blobs, in requests of at most [MaxDelete]. A blob that is
	// missing counts as removed, and so does one that is another by now under the
	// same name, which is not touched; a missing container is [ErrNoContainer]. It
	// tries all and returns the first [*Error] of each class, joined. None are no request.
	Delete(ctx context.Context, versions []BlobRef) error

	// RemoveDirectories removes the directories without blobs whose names start with
	// prefix, which ends in '/', and are before a name in byte order; and that of prefix
	// itself. Only where they are things of their own: in a hierarchical namespace, where
	// they stay when their blobs are deleted, and are listed forever. Elsewhere it does
	// nothing. One that holds something stays, and is no error.
	RemoveDirectories(ctx context.Context, prefix, before string) error

	// SetTier moves blobs to another tier, in requests and with errors as Delete; nothing
	// else about them changes, their ETags neither. A blob that is missing is left out. A store
	// without tiers refuses it as [ErrInvalid], as does one that does not know the tier.
	SetTier(ctx context.Context, names []string, tier Tier) error
}

// BlobRef names a blob as a listing found it.
type BlobRef struct {
	Name string
	// ETag is that of the listing; "" is any.
	ETag string
}

// AnyVersion names blobs whatever their ETags.
func AnyVersion(names ...string) []BlobRef {
	versions := make([]BlobRef, len(names))
	for i, name := range names {
		versions[i].Name = name
	}
	return versions
}

// Tier is what a blob's storage costs: the cooler, the less to keep and the more to read.
type Tier string

// The tiers that are read at once. Storage may name others, which are not.
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
}

// Blob is what a listing says of a blob.
type Blob struct {
	Name string
	// Size is the stored size in bytes.
	Size int64
	ETag string
	// Created is the time at which storage wrote the blob.
	Created time.Time
	// Tier is where the blob is; "" in a store without tiers.
	Tier Tier
	// Metadata as written, except that the case of keys is storage's own:
	// compare keys without case.
	Metadata map[string]string
}

// Ref is the blob as it was listed.
func (b Blob) Ref() BlobRef { return BlobRef{b.Name, b.ETag} }

// TableReader is the reading half of an account's tables. Its methods are safe
// for concurrent use and stop when ctx ends, as those of [BlobReader]. A missing
// table is [ErrNoTable].
type TableReader interface {
	// Tables yields the names of the tables that start with prefix, in order, in
	// pages of at most 1,000, each one request.
	Tables(ctx context.Context, prefix string) iter.Seq2[[]string, error]

	// Query yields entities in order of partition and row, in pages of at most
	// 1,000, each one request; a page may be empty while more follow. Keys and
	// conditions compare as bytes where they are ASCII. A query that can not be
	// is [ErrInvalid].
	Query(ctx context.Context, table string, q Query) iter.Seq2[[]Entity, error]
}

// Tables is an account's tables. Names match [A-Za-z][A-Za-z0-9]{2,62} and are
// compared without case; any other is [ErrInvalid].
type Tables interface {
	TableReader

	// CreateTable creates a table; that it exists already is not an error. While
	// an earlier table of the name is still being deleted the error is [ErrTableBusy].
	CreateTable(ctx context.Context, table string) error

	// Upsert inserts or replaces entities of one partition in one transaction:
	// all or none. An entity is replaced whole. There are 1 to [MaxTransaction]
	// entities with distinct row keys, [MaxTransactionSize] bytes in all; what
	// [CheckEntities] does not allow is [ErrInvalid] and writes nothing. One request.
	Upsert(ctx context.Context, table string, entities []Entity) error

	// Remove deletes entities of one partition in one transaction. An entity that
	// is missing counts as removed. What [CheckTransaction] does not allow is [ErrInvalid].
	Remove(ctx context.Context, table string, keys []Key) error

	// DropTable deletes a table with all it holds; a missing one counts as dropped.
	DropTable(ctx context.Context, table string) error
}

// Key names an entity in a table. Neither part may hold / \ # ? or control
// characters, nor exceed [MaxKeySize].
type Key struct {
	Partition, Row string
}

// Entity is a row of a table: at most [MaxEntitySize] and [MaxProperties].
type Entity struct {
	Key
	// Properties are values of type string, int64 or []byte of at most
	// [MaxPropertySize]. Names are ASCII identifiers.
	Properties map[string]any
}

// Kind is the type of a property.
type Kind uint8

// The kinds of property, as the Go types string, int64 and []byte.
const (
	String Kind = iota
	Int64
	Binary
)

// Column names a property to return, and its type: storage answers without type
// information, so the reader says what it expects. An entity without that
// property is returned without it; a value of another type is [ErrInvalid].
type Column struct {
	Name string
	Kind Kind
}

// Query selects entities: one partition, or where PartitionTo is not "" those from
// Partition (included) to PartitionTo (excluded); row keys from RowFrom (included) to
// RowTo (excluded; "" is no bound), those for which every condition holds,
// projected to Columns (none: keys only).
type Query struct {
	Partition, PartitionTo string
	RowFrom, RowTo         string
	Where                  []Condition
	Columns                []Column
}

// Condition compares a string property with a value in byte order.
type Condition struct {
	Column string
	// Op is one of "eq", "lt", "le", "gt", "ge".
	Op    string
	Value string
}

// Store is one place where segments and their index live, with the
// configuration's name for it.
type Store interface {
	Blobs() Blobs
	Tables() Tables
	// Container is the name that distinguishes this store's blobs from others that
	// share its tables.
	Container() string
	// Now is the time by storage's own clock: Azure's, which costs a listing of one
	// blob (a missing container is [ErrNoContainer]), or this machine's for a directory.
	Now(ctx context.Context) (time.Time, error)
	// String is the store as the user named it, without any secret.
	String() string
	// Close releases what Open took; the halves must not be used after it.
	Close() error
}
