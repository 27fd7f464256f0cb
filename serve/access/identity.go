// Package access determines which services a request to the HTTP server may read: it reads the tokens, finds the token of a
// request, and passes its identity on to the handlers in the context.
//
// A service that an identity may not read must behave exactly as one that does not exist. So handlers must call [FromContext]
// where they select services, not where they show results.
package access

import (
	"context"
	"fmt"
	"slices"
)

// Identity determines the services that a request may read. The zero value may read nothing.
type Identity struct {
	// Token is the name of the token, or "" if the server has no tokens.
	Token string
	// Unrestricted is set if the request may read all services.
	Unrestricted bool
	// Services are globs of the services that the request may read, in the syntax of logq --service, if Unrestricted is not set.
	Services []string
}

// Globs returns the globs of the services that the request may read. It is nil if and only if the identity is unrestricted.
func (i Identity) Globs() []string {
	if i.Unrestricted {
		return nil
	}
	return append([]string{}, i.Services...)
}

// Scope returns a key for results: equal scopes mean that the identities may read the same services.
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

// FromContext returns the identity of the request of a context, or the zero value if there is none.
func FromContext(ctx context.Context) Identity {
	i, _ := ctx.Value(contextKey{}).(Identity)
	return i
}
