package azure

import (
	"bytes"
	"context"
	"encoding/xml"
	"io"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
)

// A pageReader decodes pages of listings in place of the SDK, whose decoder would take longer than the
// rest of a query. It leaves pages that [decodeEnumeration] does not support to the SDK.
type pageReader struct{}

// A capturedPage is the result of a pageReader. The context of the request has a pointer to it.
type capturedPage struct {
	enumerated
	ok bool
}

type capturedPageKey struct{}

// capturePage returns a context for a listing whose pages are stored in t, one after the other.
func capturePage(ctx context.Context, t *capturedPage) context.Context {
	return context.WithValue(ctx, capturedPageKey{}, t)
}

// Do implements policy.Policy.
func (pageReader) Do(req *policy.Request) (*http.Response, error) {
	resp, err := req.Next()
	t, wanted := req.Raw().Context().Value(capturedPageKey{}).(*capturedPage)
	if err != nil || !wanted || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	page, err := runtime.Payload(resp)
	if err != nil {
		return resp, err
	}
	var next string
	if t.enumerated, next, t.ok = decodeEnumeration(page); !t.ok {
		return resp, nil
	}
	// The SDK only needs the marker of the next page.
	var rest bytes.Buffer
	rest.WriteString("<EnumerationResults><NextMarker>")
	if err := xml.EscapeText(&rest, []byte(next)); err != nil {
		return resp, err
	}
	rest.WriteString("</NextMarker></EnumerationResults>")
	resp.Body = io.NopCloser(&rest)
	return resp, nil
}
