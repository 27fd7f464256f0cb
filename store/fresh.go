package store

import "context"

type freshKey struct{}

// WithFreshListings returns a context for listings that must not be answered from an earlier listing, as readers that share
// listings do otherwise.
func WithFreshListings(ctx context.Context) context.Context {
	return context.WithValue(ctx, freshKey{}, true)
}

// NeedsFreshListings reports whether a context is one of [WithFreshListings].
func NeedsFreshListings(ctx context.Context) bool { return ctx.Value(freshKey{}) != nil }
