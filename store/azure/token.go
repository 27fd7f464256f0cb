package azure

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
)

// tokenSource marks the errors of a credential, to distinguish a missing token from a missing
// response of storage, and remembers the facts of the last token.
type tokenSource struct {
	azcore.TokenCredential
	last atomic.Pointer[tokenFacts]
}

// tokenFacts are the parts of a token that are not secret.
type tokenFacts struct {
	expires time.Time
	// principal is the object id of the caller, "" if the token lacks it.
	principal string
}

// GetToken implements azcore.TokenCredential.
func (s *tokenSource) GetToken(ctx context.Context, opts policy.TokenRequestOptions) (azcore.AccessToken, error) {
	token, err := s.TokenCredential.GetToken(ctx, opts)
	if err != nil {
		return azcore.AccessToken{}, &tokenError{err}
	}
	s.last.Store(&tokenFacts{expires: token.ExpiresOn, principal: principalOf(token.Token)})
	return token, nil
}

// facts returns the facts of the last token; zero if there is none.
func (s *tokenSource) facts() tokenFacts {
	if s != nil {
		if f := s.last.Load(); f != nil {
			return *f
		}
	}
	return tokenFacts{}
}

// principalOf returns the object id in a token, which is a JWT; "" if there is none. It does not verify the
// token's signature.
func principalOf(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return ""
	}
	encoded, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return ""
	}
	var claims struct {
		OID string `json:"oid"`
	}
	if err := json.Unmarshal(encoded, &claims); err != nil || !objectID(claims.OID) {
		return ""
	}
	return claims.OID
}

// objectID reports whether s has the form of an id of Microsoft Entra.
func objectID(s string) bool {
	return len(s) == 36 && strings.Trim(strings.ToLower(s), "0123456789abcdef-") == ""
}

// tokenError reports that a credential issued no token.
type tokenError struct {
	err error
}

func (e *tokenError) Error() string { return "no token: " + e.err.Error() }
func (e *tokenError) Unwrap() error { return e.err }

// permanent reports whether a retry is pointless: there is no login, or the authority rejected the
// request. It is false if the authority did not respond.
func (e *tokenError) permanent() bool {
	var failed *azidentity.AuthenticationFailedError
	if errors.As(e.err, &failed) && failed.RawResponse != nil {
		status := failed.RawResponse.StatusCode
		return status < http.StatusInternalServerError && status != http.StatusTooManyRequests
	}
	var network net.Error
	return !errors.As(e.err, &network)
}
