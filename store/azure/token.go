package azure

import (
	"context"
	"errors"
	"net"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
)

// tokenSource marks the errors of a credential, so that no token is told from
// no answer of storage.
type tokenSource struct {
	azcore.TokenCredential
}

// GetToken implements azcore.TokenCredential.
func (s tokenSource) GetToken(ctx context.Context, opts policy.TokenRequestOptions) (azcore.AccessToken, error) {
	token, err := s.TokenCredential.GetToken(ctx, opts)
	if err != nil {
		return azcore.AccessToken{}, &tokenError{err}
	}
	return token, nil
}

// tokenError says that a credential gave no token.
type tokenError struct {
	err error
}

func (e *tokenError) Error() string { return "no token: " + e.err.Error() }
func (e *tokenError) Unwrap() error { return e.err }

// refused reports whether another try is pointless: nobody is logged in, or the
// authority said no. It is not refused where the authority did not answer.
func (e *tokenError) refused() bool {
	var failed *azidentity.AuthenticationFailedError
	if errors.As(e.err, &failed) && failed.RawResponse != nil {
		status := failed.RawResponse.StatusCode
		return status < http.StatusInternalServerError && status != http.StatusTooManyRequests
	}
	var network net.Error
	return !errors.As(e.err, &network)
}
