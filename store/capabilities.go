package store

import (
	"context"
	"errors"
	"time"
)

// Rebuilder is a store whose index may be incomplete: that of a directory (store/local) is incomplete
// after its damaged database was moved aside.
type Rebuilder interface {
	Store
	// PendingReindex returns the id of the incomplete state, "" if the index is complete.
	PendingReindex() (id string, err error)
	// Reindexed clears the incomplete state with an id. It is called when all blobs are in the index.
	Reindexed(id string) error
}

// PendingReindex returns an id if a store's index is incomplete until everything is reindexed, otherwise
// "". s must be a store that package open returned, not a wrapper around it.
func PendingReindex(s Store) (id string, err error) {
	if r, ok := s.(Rebuilder); ok {
		return r.PendingReindex()
	}
	return "", nil
}

// Containers is a store of an account whose containers can be listed.
type Containers interface {
	// Containers returns the names of the containers that start with a prefix, in order.
	Containers(ctx context.Context, prefix string) ([]string, error)
}

// Expires returns when the credential of a store expires. known is false if that is unknown or the
// credential does not expire. s must be a store that package open returned, not a wrapper around it.
func Expires(s Store) (at time.Time, known bool) {
	if e, ok := s.(interface{ Expires() (time.Time, bool) }); ok {
		return e.Expires()
	}
	return time.Time{}, false
}

// Covers returns an error if tables, such as those of a grant, are known not to cover a range of time.
// t must be the result of [Store.Tables], not a wrapper around it.
func Covers(t TableReader, from, to time.Time) error {
	if limited, ok := t.(interface {
		Covers(from, to time.Time) error
	}); ok {
		return limited.Covers(from, to)
	}
	return nil
}

// IsImmutable reports whether a policy of the store's container prevents that deleting blobs frees space. It
// returns false if the credential may not read the policy. s must be a store that package open returned,
// not a wrapper around it. One request, or none if the store has no such policies.
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

// LastSync returns the Last Sync Time of a store that is replicated to a second location: what was written before it, by
// storage's clock, is also there. It is zero while that is unknown; then nothing is known to be there. replicated is
// false if the store has no second location that can be read. s must be a store that package open returned, not a
// wrapper around it. At most two requests.
func LastSync(ctx context.Context, s Store) (at time.Time, replicated bool, err error) {
	if r, ok := s.(interface {
		LastSync(ctx context.Context) (time.Time, bool, error)
	}); ok {
		return r.LastSync(ctx)
	}
	return time.Time{}, false, nil
}

// MayCompact reports whether the credential of a store may write to its compacted container. The credential of a shipper
// should not: it could forge outputs of compaction, which hide segments. known is false if the store does not
// separate the two. Nothing is written. A missing container is [ErrNoContainer]. s must be a store that package open
// returned, not a wrapper around it. One request.
func MayCompact(ctx context.Context, s Store) (may, known bool, err error) {
	if p, ok := s.(interface {
		MayCompact(ctx context.Context) (bool, error)
	}); ok {
		may, err = p.MayCompact(ctx)
		return may, err == nil, err
	}
	return false, false, nil
}

// As returns a store, or the first that it wraps, as another type, not ok if none has that type. A wrapper has the method Unwrap, which
// returns the store that it wraps.
func As[T any](s Store) (found T, ok bool) {
	for s != nil {
		if found, ok = s.(T); ok {
			return found, true
		}
		wrapper, ok := s.(interface{ Unwrap() Store })
		if !ok {
			break
		}
		s = wrapper.Unwrap()
	}
	return found, false
}
