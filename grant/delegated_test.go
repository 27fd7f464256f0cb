package grant_test

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/grant"
	"logstow/internal/test/azurite"
	"logstow/internal/test/testpki"
	"logstow/store"
	"logstow/store/azure"
)

const (
	objectID = "0b1f6471-1bf0-4dda-aec3-111122223333"
	tenantID = "00000000-0000-0000-0000-000000000001"
)

// machine is the network of a virtual machine with a managed identity: its metadata
// service gives tokens as Azurite expects them, which checks their claims, not their signature.
type machine struct{ *http.Transport }

func (m machine) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Hostname() != "169.254.169.254" {
		return m.Transport.RoundTrip(r)
	}
	now := time.Now().Unix()
	claims, err := json.Marshal(map[string]any{
		"aud": "https://storage.azure.com", "iss": "https://sts.windows.net/" + tenantID + "/", "oid": objectID, "tid": tenantID,
		"iat": now - 60, "nbf": now - 60, "exp": now + 3600, "sub": "CANARY",
	})
	if err != nil {
		return nil, err
	}
	part := base64.RawURLEncoding.EncodeToString
	answer := httptest.NewRecorder()
	answer.Header().Set("Content-Type", "application/json")
	err = json.NewEncoder(answer).Encode(map[string]any{
		"access_token": part([]byte(`{"alg":"RS256","typ":"JWT"}`)) + "." + part(claims) + "." + part([]byte("signature")),
		"expires_in":   "3600", "token_type": "Bearer", "resource": "https://storage.azure.com",
	})
	return answer.Result(), err
}

// TestDelegated signs in the name of an identity: blobs are read, tables there are none.
func TestDelegated(t *testing.T) {
	t.Parallel()
	pki := testpki.New(t)
	server := azurite.Start(t, "--oauth", "basic", "--cert", pki.Path("server.pem"), "--key", pki.Path("server.key"))
	transport := machine{&http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pki.Pool, ServerName: "localhost"}, DisableCompression: true,
		// Whatever the host's name, which must begin with the account's.
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			_, port, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			var d net.Dialer
			return d.DialContext(ctx, network, net.JoinHostPort("127.0.0.1", port))
		},
	}}
	t.Cleanup(transport.CloseIdleConnections)
	u, err := url.Parse(server.BlobEndpoint)
	if err != nil {
		t.Fatal(err)
	}
	s := openAzure(t, azure.Options{Container: server.Container(), Transport: transport, Credential: azure.Credential{
		Account: azurite.Account, BlobEndpoint: "https://" + azurite.Account + ".blob.localhost:" + u.Port(), TableEndpoint: server.TableEndpoint, Auth: azure.AuthMSI,
	}})
	now := time.Now()
	put(t, s, "api", "", now, "hello")
	g := makeGrant(t, s, grant.Read, "api")
	if !g.Delegated || len(g.Tables) != 0 {
		t.Errorf("delegated %v, %d tables, want none", g.Delegated, len(g.Tables))
	}
	got := fields(t, g.Blobs)
	end := g.Expires.Format(time.RFC3339)
	want := map[string]string{"sp": "rl", "sr": "c", "spr": "https", "se": end, "ske": end, "skoid": objectID, "sktid": tenantID, "sks": "b"}
	for _, name := range []string{"sv", "skt", "skv"} {
		want[name] = got[name]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("signed (-want +got):\n%s", diff)
	}
	reader, err := grant.Open(t.Context(), written(t, g), grant.Options{Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reader.Close() })
	if messages, problems := ask(t, reader, "list", now.Add(-time.Hour), now.Add(time.Hour)); len(messages) != 1 || problems != nil {
		t.Errorf("found %v, problems %v", messages, problems)
	}
	_, problems := ask(t, reader, "index", now.Add(-time.Hour), now.Add(time.Hour))
	if err := errors.Join(problems...); !errors.Is(err, store.ErrAccessDenied) {
		t.Errorf("by the index: %v, want ErrAccessDenied", err)
	}
}
