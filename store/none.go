package store

import (
	"context"
	"errors"
	"iter"
)

// Failing is a listing that fails.
func Failing[T any](err error) iter.Seq2[[]T, error] {
	return func(yield func([]T, error) bool) { yield(nil, err) }
}

// NoTables are the tables of a store that has no index.
type NoTables struct{}

// Tables implements [TableReader].
func (NoTables) Tables(context.Context, string) iter.Seq2[[]string, error] {
	return func(func([]string, error) bool) {}
}

// Query implements [TableReader].
func (NoTables) Query(_ context.Context, table string, _ Query) iter.Seq2[[]Entity, error] {
	return Failing[Entity](&Error{Op: "query", Object: table, Class: ErrNoTable})
}

// NoBlobs returns a container that never exists, for the compacted half of a store that has none: reading gives
// [ErrNoContainer], creating [ErrInvalid]. It makes no requests. name is its name in errors.
func NoBlobs(name string) Blobs { return noBlobs(name) }

type noBlobs string

func (b noBlobs) missing(op string) error {
	return &Error{Op: op, Object: "blobs of " + string(b), Class: ErrNoContainer, Err: errors.New("it has no compacted segments")}
}

func (b noBlobs) invalid(op, object string) error {
	return &Error{Op: op, Object: object, Class: ErrInvalid, Err: errors.New(string(b) + " has no compacted segments")}
}

func (b noBlobs) Read(context.Context, BlobRef, int64, int64) ([]byte, error) {
	return nil, b.missing("read")
}

func (b noBlobs) List(context.Context, string) iter.Seq2[[]Blob, error] {
	return Failing[Blob](b.missing("list"))
}

func (b noBlobs) ListPrefixes(context.Context, string) iter.Seq2[[]string, error] {
	return Failing[string](b.missing("list"))
}

func (b noBlobs) Create(_ context.Context, name string, _ []byte, _ CreateOptions) (string, error) {
	return "", b.invalid("create", name)
}

func (b noBlobs) Delete(_ context.Context, refs []BlobRef) error {
	if len(refs) == 0 {
		return nil
	}
	return b.missing("delete")
}

func (b noBlobs) RemoveDirectories(context.Context, string, string) error { return nil }

func (b noBlobs) SetTier(_ context.Context, names []string, tier Tier) error {
	if len(names) == 0 {
		return nil
	}
	return b.invalid("set the tier of", names[0])
}
