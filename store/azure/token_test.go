package azure_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"logstow/internal/hint"
	"logstow/internal/test/azurite"
	"logstow/store"
	"logstow/store/azure"
)

// secureServer is an Azurite that takes tokens, over TLS with a certificate that
// the transport trusts.
func secureServer(t *testing.T) (*azurite.Azurite, *http.Transport) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "127.0.0.1"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for path, content := range map[string][]byte{
		certFile: certPEM,
		keyFile:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}),
	} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(certPEM)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return azurite.Start(t, "--oauth", "basic", "--cert", certFile, "--key", keyFile), transport
}

// jwt is a token as Azurite expects it: it checks its claims, not its signature.
func jwt(t testing.TB, audience string) string {
	t.Helper()
	now := time.Now().Unix()
	part := func(v map[string]any) string {
		encoded, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(encoded)
	}
	return part(map[string]any{"alg": "RS256", "typ": "JWT"}) + "." + part(map[string]any{
		"aud": audience, "iss": "https://sts.windows.net/00000000-0000-0000-0000-000000000001/",
		"iat": now - 60, "nbf": now - 60, "exp": now + 3600, "sub": "CANARY", "oid": principal, "tid": "00000000-0000-0000-0000-000000000001",
	}) + "." + base64.RawURLEncoding.EncodeToString([]byte("signature"))
}

// fixedToken gives always the same token, or an error.
type fixedToken struct {
	token string
	err   error
}

func (f fixedToken) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: f.token, ExpiresOn: time.Now().Add(time.Hour)}, f.err
}

func TestToken(t *testing.T) {
	t.Parallel()
	server, transport := secureServer(t)
	cred := azure.Credential{
		Account: azurite.Account, BlobEndpoint: server.BlobEndpoint, TableEndpoint: server.TableEndpoint,
		Token: fixedToken{token: jwt(t, "https://storage.azure.com")},
	}
	opts := azure.Options{Container: server.Container(), Credential: cred, Transport: transport}
	s := openStore(t, opts)
	for _, operation := range []string{create, read, list, deletion, createTable, upsert, query, tables, remove, dropTable} {
		if err := do(t.Context(), s, operation); err != nil {
			t.Errorf("%s: %v", operation, err)
		}
	}

	opts.Credential.Token = fixedToken{token: jwt(t, "https://other.example.com")}
	wrong := openStore(t, opts)
	for _, operation := range []string{list, query} {
		err := do(t.Context(), wrong, operation)
		checkRefused(t, err, "")
		checkClean(t, err)
	}

	opts.Credential.Token = fixedToken{err: errors.New("nobody is logged in:\n\tat CANARY")}
	none := openStore(t, opts)
	checkRefused(t, do(t.Context(), none, list), "run az login")
	opts.Credential.Token = fixedToken{err: &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("authority is down")}}
	down := openStore(t, opts)
	if err := do(t.Context(), down, list); !errors.Is(err, store.ErrUnavailable) || !strings.Contains(hint.Text(err), "authority is down") {
		t.Errorf("got %v, want ErrUnavailable", err)
	}
}

// TestDefaultCredential gets a token from a stand-in for the authority that
// AZURE_AUTHORITY_HOST names. Azure's library reads that variable itself, so
// this test cannot run beside others.
func TestDefaultCredential(t *testing.T) {
	const authority = "login.chinacloudapi.cn"
	t.Setenv("AZURE_AUTHORITY_HOST", "https://"+authority)
	t.Setenv("AZURE_TENANT_ID", "00000000-0000-0000-0000-000000000001")
	t.Setenv("AZURE_CLIENT_ID", "00000000-0000-0000-0000-000000000002")
	t.Setenv("AZURE_CLIENT_SECRET", "CANARY")
	server, transport := secureServer(t)
	asked, refuse := 0, false
	respond := func(r *http.Request, status int, body map[string]any) (*http.Response, error) {
		encoded, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		return &http.Response{
			StatusCode: status, Status: http.StatusText(status), Request: r, Header: http.Header{"Content-Type": {"application/json"}},
			Body: io.NopCloser(strings.NewReader(string(encoded))), ContentLength: int64(len(encoded)),
		}, nil
	}
	network := roundTrip(func(r *http.Request) (*http.Response, error) {
		if r.URL.Hostname() == "127.0.0.1" {
			return transport.RoundTrip(r)
		}
		if r.URL.Hostname() != authority {
			return nil, errors.New("no network to " + r.URL.Hostname())
		}
		switch {
		case strings.HasSuffix(r.URL.Path, "/openid-configuration"):
			base := "https://" + authority + "/00000000-0000-0000-0000-000000000001"
			return respond(r, http.StatusOK, map[string]any{
				"token_endpoint": base + "/oauth2/v2.0/token", "authorization_endpoint": base + "/oauth2/v2.0/authorize", "issuer": base + "/v2.0",
			})
		case refuse:
			return respond(r, http.StatusUnauthorized, map[string]any{"error": "invalid_client", "error_description": "AADSTS7000215: Invalid client secret provided."})
		default:
			asked++
			return respond(r, http.StatusOK, map[string]any{"access_token": jwt(t, "https://storage.azure.com"), "expires_in": 3600, "token_type": "Bearer"})
		}
	})
	cred, err := azure.FromEnv(env(map[string]string{
		"AZURE_STORAGE_ACCOUNT":       azurite.Account,
		"AZURE_STORAGE_BLOB_ENDPOINT": server.BlobEndpoint, "AZURE_STORAGE_TABLE_ENDPOINT": server.TableEndpoint,
	}))
	if err != nil {
		t.Fatal(err)
	}
	opts := azure.Options{Container: server.Container(), Credential: cred, Transport: network}
	s := openStore(t, opts)
	for _, operation := range []string{create, read, list, createTable, query} {
		if err := do(t.Context(), s, operation); err != nil {
			t.Errorf("%s: %v", operation, err)
		}
	}
	if asked == 0 {
		t.Error("no token was requested of the authority")
	}

	refuse = true
	refused := openStore(t, opts)
	err = do(t.Context(), refused, list)
	checkRefused(t, err, "run az login")
	checkClean(t, err)
	t.Logf("refused: %v", err)
}
