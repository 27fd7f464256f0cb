package azure_test

import (
	"net/http"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logstow/store"
	"logstow/store/azure"
)

// An account without tiers, which Azurite cannot be, rejects each tier; Hot is then left out.
func TestAccountWithoutTiers(t *testing.T) {
	t.Parallel()
	a, cred := server(t)
	var mu sync.Mutex
	var tiers []string
	s := openStore(t, azure.Options{Container: a.Container(), Credential: cred, Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		if headerOf(r, "X-Ms-Blob-Type") != "" {
			tier := headerOf(r, "X-Ms-Access-Tier")
			mu.Lock()
			defer mu.Unlock()
			if tiers = append(tiers, tier); tier != "" {
				return &http.Response{
					StatusCode: http.StatusBadRequest, Header: http.Header{"X-Ms-Error-Code": {"BlobAccessTierNotSupportedForAccountType"}}, Body: http.NoBody, Request: r,
				}, nil
			}
		}
		return http.DefaultTransport.RoundTrip(r)
	})})
	for _, name := range []string{"a/1", "a/2"} {
		mustCreate(t, s, name, "x", store.CreateOptions{Tier: store.Hot})
	}
	// The first request without a tier finds that the container is missing.
	if diff := cmp.Diff([]string{"Hot", "", "", ""}, tiers); diff != "" {
		t.Error(diff)
	}
	if _, err := s.Blobs().Create(t.Context(), "a/3", nil, store.CreateOptions{Tier: store.Cool}); err == nil {
		t.Error("created in a tier that the account does not have")
	}
}
