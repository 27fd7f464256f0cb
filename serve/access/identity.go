// Package access decides who may read what through the HTTP server: tokens, how requests present them, and the identity that
// a request has for the packages that answer it.
//
// A service that an identity may not read must behave exactly as one that does not exist: ask [FromContext] where services are
// selected, not where results are shown.
package access

import (
	"context"
	"fmt"
	"slices"
)

// Identity is what a request may read. The zero value may read nothing.
type Identity struct {
	// Token is the name of the token, "" without tokens.
	Token string
	// Unrestricted is set if it may read all services.
	Unrestricted bool
	// Services are globs, as of logq --service, of the services that it may read if it is not unrestricted.
	Services []string
}

// Globs are the globs of the services that it may read: nil if unrestricted, otherwise not nil.
func (i Identity) Globs() []string {
	if i.Unrestricted {
		return nil
	}
	return append([]string{}, i.Services...)
}

// Scope is the same text for identities that may read the same, and differs for others.
func (i Identity) Scope() string {
	if i.Unrestricted {
		return "*"
	}
	return fmt.Sprintf("%q", slices.Compact(slices.Sorted(slices.Values(i.Services))))
}

type contextKey struct{}

// NewContext returns a context with the identity of a request.
func NewContext(ctx context.Context, i Identity) context.Context {
	return context.WithValue(ctx, contextKey{}, i)
}

// FromContext is the identity of the request of a context. A context without one may read nothing.
func FromContext(ctx context.Context) Identity {
	i, _ := ctx.Value(contextKey{}).(Identity)
	return i
}
