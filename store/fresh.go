package store

import "context"

type freshKey struct{}

// WithFreshListings returns a context whose listings begin when they are asked for: readers that share listings do not answer
// them from earlier ones.
func WithFreshListings(ctx context.Context) context.Context {
	return context.WithValue(ctx, freshKey{}, true)
}

// NeedsFreshListings reports whether a context is one of [WithFreshListings].
func NeedsFreshListings(ctx context.Context) bool { return ctx.Value(freshKey{}) != nil }
