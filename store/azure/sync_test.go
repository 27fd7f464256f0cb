package azure_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"logstow/internal/hint"
	"logstow/store"
	"logstow/store/azure"
)

// Azurite is a geo-replicated account that is always in sync.
func TestLastSyncAzurite(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	at, replicated, err := store.LastSync(t.Context(), s)
	if err != nil || !replicated || time.Since(at).Abs() > time.Minute {
		t.Errorf("%v, %v, %v", at, replicated, err)
	}
}

func TestLastSync(t *testing.T) {
	t.Parallel()
	stats := func(status, at string) string {
		return `<?xml version="1.0"?><StorageServiceStats><GeoReplication><Status>` + status + `</Status>` + at + `</GeoReplication></StorageServiceStats>`
	}
	sync := time.Date(2026, 11, 20, 15, 4, 5, 0, time.UTC)
	missing := &net.DNSError{Err: "no such host", Name: "acct-secondary.blob.core.windows.net", IsNotFound: true}
	for name, c := range map[string]struct {
		sku string // "" is forbidden to ask
		// The response of the secondary location: a failure, or a status with a code or a body.
		failure    error
		status     int
		code, body string

		at         time.Time
		replicated bool
		class      error
		advice     string
	}{
		"RA-GRS":                               {sku: "Standard_RAGRS", status: 200, body: stats("live", "<LastSyncTime>Fri, 20 Nov 2026 15:04:05 GMT</LastSyncTime>"), at: sync, replicated: true},
		"RA-GZRS":                              {sku: "Standard_RAGZRS", status: 200, body: stats("live", "<LastSyncTime>Fri, 20 Nov 2026 15:04:05 GMT</LastSyncTime>"), at: sync, replicated: true},
		"bootstrap":                            {sku: "Standard_RAGRS", status: 200, body: stats("bootstrap", "<LastSyncTime></LastSyncTime>"), replicated: true},
		"unavailable":                          {sku: "Standard_RAGRS", status: 200, body: stats("unavailable", ""), replicated: true},
		"LRS":                                  {sku: "Standard_LRS", failure: errors.New("must not be asked")},
		"ZRS":                                  {sku: "Standard_ZRS", failure: errors.New("must not be asked")},
		"GRS":                                  {sku: "Standard_GRS", failure: errors.New("must not be asked")},
		"premium":                              {sku: "Premium_LRS", failure: errors.New("must not be asked")},
		"unknown, yes":                         {status: 200, body: stats("live", "<LastSyncTime>Fri, 20 Nov 2026 15:04:05 GMT</LastSyncTime>"), at: sync, replicated: true},
		"unknown, no address of the secondary": {failure: missing},
		"unknown, secondary cannot be read":    {status: 403, code: "InsufficientAccountPermissions"},
		"the network is down":                  {failure: errors.New("connection refused"), class: store.ErrUnavailable, advice: "no response from https://acct-secondary.blob.core.windows.net"},
		"the name server is down":              {failure: &net.DNSError{Err: "server misbehaving", IsTemporary: true}, class: store.ErrUnavailable},
		"no address, though it is replicated":  {sku: "Standard_RAGRS", failure: missing, class: store.ErrUnavailable},
		"forbidden":                            {sku: "Standard_RAGRS", status: 403, code: "AuthorizationPermissionMismatch", class: store.ErrAccessDenied, advice: "permission r (read)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openStore(t, azure.Options{
				Container: "logs", Credential: fromConnection(t, "AccountName=acct;SharedAccessSignature="+testSAS),
				Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
					resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: r, Body: http.NoBody}
					q := r.URL.Query()
					switch {
					case r.URL.Host == "acct.blob.core.windows.net" && q.Get("restype") == "account":
						resp.Header.Set("X-Ms-Sku-Name", c.sku)
						if c.sku == "" {
							resp.StatusCode = http.StatusForbidden
							resp.Header.Set("X-Ms-Error-Code", "AuthorizationPermissionMismatch")
						}
						return resp, nil
					case r.URL.Host == "acct-secondary.blob.core.windows.net" && strings.Trim(r.URL.Path, "/") == "" && q.Get("restype") == "service" && q.Get("comp") == "stats" && q.Get("sig") != "":
						resp.StatusCode, resp.Body = c.status, io.NopCloser(strings.NewReader(c.body))
						resp.Header.Set("X-Ms-Error-Code", c.code)
						return resp, c.failure
					default:
						return nil, fmt.Errorf("unexpected request %s", r.URL)
					}
				}),
			})
			at, replicated, err := store.LastSync(t.Context(), s)
			if !at.Equal(c.at) || replicated != c.replicated || !errors.Is(err, c.class) || (err != nil) != (c.class != nil) || !strings.Contains(hint.Of(err), c.advice) {
				t.Errorf("%v, %v, %v; %s", at, replicated, err, hint.Of(err))
			}
		})
	}
}

// The secondary location of an emulator has another path, and other addresses than the account's own have none.
func TestLastSyncAddress(t *testing.T) {
	t.Parallel()
	for endpoint, want := range map[string]string{
		"http://127.0.0.1:10000/acct":              "http://127.0.0.1:10000/acct-secondary/",
		"https://acct.blob.core.usgovcloudapi.net": "https://acct-secondary.blob.core.usgovcloudapi.net/",
		"https://logs.example.com":                 "",
	} {
		asked := ""
		s := openStore(t, azure.Options{
			Container: "logs", Credential: fromConnection(t, "AccountName=acct;SharedAccessSignature="+testSAS+";BlobEndpoint="+endpoint+";TableEndpoint=http://127.0.0.1/acct"),
			Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				if r.URL.Query().Get("comp") == "stats" {
					asked = r.URL.Scheme + "://" + r.URL.Host + strings.TrimSuffix(r.URL.Path, "/") + "/"
				}
				return &http.Response{StatusCode: http.StatusForbidden, Header: http.Header{"X-Ms-Error-Code": {"InsufficientAccountPermissions"}}, Request: r, Body: http.NoBody}, nil
			}),
		})
		_, replicated, err := store.LastSync(t.Context(), s)
		if asked != want || replicated || errors.Is(err, store.ErrInvalid) != (want == "") {
			t.Errorf("%s: asked %q, %v, %v", endpoint, asked, replicated, err)
		}
	}
}
