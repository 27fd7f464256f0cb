package azure

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"logstow/internal/reread"
)

// From nearExpiry before a SAS expires, its file is reread every rereadEvery, even if its modification time
// is the same.
const (
	nearExpiry  = 5 * time.Minute
	rereadEvery = 5 * time.Second
)

// Signatures provide the current shared access signatures, as query strings without '?'. They are
// called before every request, concurrently.
type Signatures interface {
	// Blobs is the signature for a container.
	Blobs(container string) (Secret, error)
	// Table is the signature for a table; if the name is "", for the table service.
	Table(name string) (Secret, error)
	// String describes the signatures in errors: "the SAS in FILE".
	String() string
}

// fixedSAS is one SAS for all.
type fixedSAS struct{ sas Secret }

func (f fixedSAS) Blobs(string) (Secret, error) { return f.sas, nil }
func (f fixedSAS) Table(string) (Secret, error) { return f.sas, nil }
func (f fixedSAS) String() string               { return "the SAS" }

// sasFile is one SAS for all, in a file that may be replaced.
type sasFile struct{ file *reread.File[Secret] }

func newSASFile(path string) sasFile {
	return sasFile{reread.New(path, func(content []byte) (Secret, error) {
		sas := newSAS(strings.TrimSpace(string(content)))
		return sas, checkSAS(sas)
	})}
}

func (s sasFile) Blobs(string) (Secret, error) {
	sas, err := s.file.Get(0)
	if err != nil {
		return Secret{}, err
	}
	if expiry, ok := sasExpiry(sas); ok && time.Until(expiry) < nearExpiry {
		return s.file.Get(rereadEvery)
	}
	return sas, nil
}

func (s sasFile) Table(string) (Secret, error) { return s.Blobs("") }
func (s sasFile) String() string               { return "the SAS in " + s.file.Path() }

// newSAS makes a SAS of a query string, with or without '?'. A plus sign or a blank in its signature is
// encoded: base64 has no blanks, and a plus sign in a query is one.
func newSAS(query string) Secret {
	parts := strings.Split(strings.TrimPrefix(query, "?"), "&")
	for i, part := range parts {
		if sig, ok := strings.CutPrefix(part, "sig="); ok {
			parts[i] = "sig=" + strings.NewReplacer("+", "%2B", " ", "%2B", "%20", "%2B").Replace(sig)
		}
	}
	return NewSecret(strings.Join(parts, "&"))
}

// checkSAS validates a SAS, without quoting it.
func checkSAS(sas Secret) error {
	values, err := url.ParseQuery(sas.Reveal())
	if err != nil || values.Get("sig") == "" {
		return errors.New("the shared access signature has no sig= in it: copy it whole, as the query string that follows '?'")
	}
	return nil
}

// sasExpiry is when a SAS expires, if it contains that.
func sasExpiry(sas Secret) (time.Time, bool) {
	values, err := url.ParseQuery(sas.Reveal())
	if err != nil {
		return time.Time{}, false
	}
	return sasTime(values.Get("se"))
}

// sasTime parses a time in a SAS.
func sasTime(s string) (time.Time, bool) {
	// The forms that a SAS may use.
	// https://learn.microsoft.com/rest/api/storageservices/formatting-datetime-values
	for _, layout := range [3]string{time.RFC3339, "2006-01-02T15:04Z", time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// signer is the policy that signs requests with the current signature.
type signer struct {
	signature func(ctx context.Context) (Secret, error)
}

// Do implements policy.Policy.
func (s signer) Do(req *policy.Request) (*http.Response, error) {
	sas, err := s.signature(req.Raw().Context())
	if err != nil {
		return nil, &signatureError{err}
	}
	u := req.Raw().URL
	if u.RawQuery != "" {
		u.RawQuery += "&"
	}
	u.RawQuery += sas.Reveal()
	return req.Next()
}

// signatureError reports that there is no signature; a retry is pointless.
type signatureError struct{ err error }

func (e *signatureError) Error() string { return e.err.Error() }
func (e *signatureError) Unwrap() error { return e.err }

// NonRetriable makes Azure's library not retry.
func (e *signatureError) NonRetriable() {}

// tableKey is the context key of the table of a request.
type tableKey struct{}

// forTable marks the requests of a context as those for a table.
func forTable(ctx context.Context, table string) context.Context {
	return context.WithValue(ctx, tableKey{}, table)
}

// signerOfTables signs with the signature of the table in the context.
func signerOfTables(s Signatures) signer {
	return signer{func(ctx context.Context) (Secret, error) {
		name, _ := ctx.Value(tableKey{}).(string)
		return s.Table(name)
	}}
}

// signerOfBlobs signs with a container's signature.
func signerOfBlobs(s Signatures, container string) signer {
	return signer{func(context.Context) (Secret, error) { return s.Blobs(container) }}
}
