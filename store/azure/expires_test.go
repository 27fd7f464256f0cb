package azure_test

import (
	"testing"
	"time"

	"logstow/store/azure"
)

// A store has the end of its shared access signature.
func TestExpires(t *testing.T) {
	t.Parallel()
	open := func(cred azure.Credential) *azure.Store {
		t.Helper()
		cred.Account, cred.BlobEndpoint, cred.TableEndpoint = "a", "https://a.blob.example", "https://a.table.example"
		s, err := azure.Open(t.Context(), azure.Options{Container: "logs", Credential: cred})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	signed := open(azure.Credential{SAS: azure.NewSecret("se=2026-11-20T15%3A00%3A00Z&sig=x")})
	if at, ok := signed.Expires(); !ok || !at.Equal(time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC)) {
		t.Error(at, ok)
	}
	if at, ok := open(azure.Credential{Key: azure.NewSecret("AAAA")}).Expires(); ok {
		t.Error(at)
	}
}
