package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"logstow/store"
)

// capable is a store with every capability.
type capable struct {
	fake
	err error
}

func (c capable) PendingReindex() (string, error)           { return "id", c.err }
func (c capable) Reindexed(string) error                    { return c.err }
func (c capable) Expires() (time.Time, bool)                { return time.Unix(1, 0), true }
func (c capable) IsImmutable(context.Context) (bool, error) { return true, c.err }

func (c capable) LastSync(context.Context) (time.Time, bool, error) {
	return time.Unix(2, 0), true, c.err
}

func (c capable) Tables() store.Tables { return bounded{fakeTables{}, c.err} }

// bounded are tables of a limited range.
type bounded struct {
	fakeTables
	err error
}

func (b bounded) Covers(_, _ time.Time) error { return b.err }

func TestCapabilities(t *testing.T) {
	t.Parallel()
	failure := errors.New("failure")
	for name, c := range map[string]struct {
		s       store.Store
		id      string
		expires bool
		err     error
	}{
		"with":    {capable{err: failure}, "id", true, failure},
		"without": {fake{}, "", false, nil},
		// What wraps a store counts its requests only.
		"wrapped": {new(store.Counter).Store(capable{err: failure}), "", false, nil},
	} {
		if id, err := store.PendingReindex(c.s); id != c.id || !errors.Is(err, c.err) {
			t.Errorf("%s: pending %q, %v", name, id, err)
		}
		if at, known := store.Expires(c.s); known != c.expires || known && !at.Equal(time.Unix(1, 0)) {
			t.Errorf("%s: expires %v, %v", name, at, known)
		}
		if immutable, err := store.IsImmutable(t.Context(), c.s); immutable != c.expires || !errors.Is(err, c.err) {
			t.Errorf("%s: immutable %v, %v", name, immutable, err)
		}
		if at, replicated, err := store.LastSync(t.Context(), c.s); replicated != c.expires || replicated && !at.Equal(time.Unix(2, 0)) || !errors.Is(err, c.err) {
			t.Errorf("%s: last sync %v, %v, %v", name, at, replicated, err)
		}
		if err := store.Covers(c.s.Tables(), time.Time{}, time.Time{}); !errors.Is(err, c.err) {
			t.Errorf("%s: covers: %v", name, err)
		}
	}
}
