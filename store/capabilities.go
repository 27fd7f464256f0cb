package store

import (
	"context"
	"errors"
	"time"
)

// Rebuilder is a store whose index may be incomplete, as that of a directory (store/local) is after
// its damaged database was moved aside.
type Rebuilder interface {
	Store
	// PendingReindex returns a state's id, "" if the index is complete.
	PendingReindex() (id string, err error)
	// Reindexed clears the state with an id, once all blobs are in the index.
	Reindexed(id string) error
}

// PendingReindex reports whether a store's index is incomplete until everything is reindexed: then
// id is not "". s must be as package open returned it: what wraps it hides this.
func PendingReindex(s Store) (id string, err error) {
	if r, ok := s.(Rebuilder); ok {
		return r.PendingReindex()
	}
	return "", nil
}

// Expires is when the credential of a store expires; known is false if that is unknown, or it does
// not expire. s must be as package open returned it.
func Expires(s Store) (at time.Time, known bool) {
	if e, ok := s.(interface{ Expires() (time.Time, bool) }); ok {
		return e.Expires()
	}
	return time.Time{}, false
}

// Covers reports an error if tables are known not to cover a range of time, such as those of a
// grant. t must be as [Store.Tables] returned it.
func Covers(t TableReader, from, to time.Time) error {
	if limited, ok := t.(interface {
		Covers(from, to time.Time) error
	}); ok {
		return limited.Covers(from, to)
	}
	return nil
}

// IsImmutable reports whether a policy of the store's container keeps all blobs from being deleted; with
// a credential that may not read that, it does not. s must be as package open returned it. One request, or
// none if the store has no such policies.
func IsImmutable(ctx context.Context, s Store) (bool, error) {
	i, ok := s.(interface {
		IsImmutable(ctx context.Context) (bool, error)
	})
	if !ok {
		return false, nil
	}
	immutable, err := i.IsImmutable(ctx)
	if errors.Is(err, ErrAccessDenied) || errors.Is(err, ErrNoContainer) {
		return false, nil
	}
	return immutable, err
}
