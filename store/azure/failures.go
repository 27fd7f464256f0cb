package azure

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"

	"logstow/store"
)

// failures converts errors of the SDK into those of the store.
type failures struct {
	cred      Credential
	container string
	// compacted is set for the compacted container. Its absence means that nothing was compacted, so only storage itself may report it.
	compacted bool
	scrub     scrubber
	// tokens provides the tokens; nil if there are none.
	tokens *tokenSource
}

// invalid is the error for a request that is invalid before it is sent.
func (f *failures) invalid(a action, object string, err error) error {
	return &store.Error{Op: a.verb(), Object: object, Class: store.ErrInvalid, Err: err}
}

// wrap returns the store's error for err, with which an action on an object failed.
func (f *failures) wrap(ctx context.Context, a action, object string, err error) error {
	var response *azcore.ResponseError
	if errors.As(err, &response) {
		return f.wrapResponse(a, object, response)
	}
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("%s %s: %w", a.verb(), object, cause)
	}
	e := &store.Error{Op: a.verb(), Object: object, Class: store.ErrUnavailable}
	var token *tokenError
	var signature *signatureError
	switch {
	case errors.As(err, &token):
		if token.permanent() {
			e.Class = store.ErrAccessDenied
		}
		e.Err = errors.New(f.scrub.text(flat(token.Error())))
		e.Hint = f.tokenHint()
		return e
	case errors.As(err, &signature):
		e.Class = store.ErrAccessDenied
		e.Err = f.scrub.err(signature.err)
		e.Hint = "used for " + f.host(a) + ": " + f.cred.kind()
		return e
	}
	e.Err = f.scrub.err(err)
	e.Hint = f.networkHint(a, err)
	var broken *brokenError
	if errors.As(err, &broken) {
		e.Hint = "read twice from " + f.host(a) + ": a proxy in between may change or cut responses"
	}
	return e
}

func (f *failures) wrapResponse(a action, object string, response *azcore.ResponseError) error {
	parsed := readServiceError(response)
	e := &store.Error{
		Op: a.verb(), Object: object, Class: classOf(a, parsed.status, parsed.code),
		Status: parsed.status, Code: parsed.code,
	}
	if f.compacted && errors.Is(e.Class, store.ErrNoContainer) && parsed.code != string(bloberror.ContainerNotFound) {
		e.Class = store.ErrUnavailable // from a proxy
		if parsed.code != "" {
			e.Class = store.ErrAccessDenied // it is hidden
		}
	}
	switch {
	case a == readBlob && parsed.status == http.StatusPreconditionFailed:
		e.Err = errors.New("replaced since it was listed")
	case parsed.message != "":
		e.Err = errors.New(f.scrub.text(parsed.message))
	}
	if response.RawResponse != nil {
		header := response.RawResponse.Header
		e.RequestID = header.Get("x-ms-request-id")
		e.RetryAfter = retryAfter(header, time.Now())
		e.Hint = f.responseHint(a, e, header, time.Now())
		if parsed.page {
			e.Hint = f.pageHint(a)
		}
	}
	return e
}

// retryAfter is the delay that the service requests.
func retryAfter(header http.Header, now time.Time) time.Duration {
	for _, name := range [2]string{"x-ms-retry-after-ms", "retry-after-ms"} {
		if ms, err := strconv.ParseUint(header.Get(name), 10, 31); err == nil {
			return time.Duration(ms) * time.Millisecond
		}
	}
	value := header.Get("Retry-After")
	if s, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(s) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}
