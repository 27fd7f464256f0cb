package azure_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"logstow/internal/test/azurite"
	"logstow/store"
	"logstow/store/azure"
)

// principal is the object id in tokens of an authority.
const principal = "0b1f6471-1bf0-4dda-aec3-111122223333"

// authority stands for Microsoft Entra ID and for the metadata service of a
// virtual machine, on the loopback interface.
type authority struct {
	*httptest.Server
	token string

	mu     sync.Mutex
	asked  []http.Request
	forms  []string
	refuse bool
}

func newAuthority(t *testing.T, token string) *authority {
	t.Helper()
	a := &authority{token: token}
	a.Server = httptest.NewTLSServer(http.HandlerFunc(a.serve))
	t.Cleanup(a.Close)
	return a
}

func (a *authority) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	answer := map[string]any{"access_token": a.token, "expires_in": 3600, "expires_on": "4102444800", "token_type": "Bearer", "resource": "https://storage.azure.com"}
	switch {
	case strings.HasSuffix(r.URL.Path, "/openid-configuration"):
		answer = map[string]any{
			"token_endpoint": a.URL + "/tenant/oauth2/v2.0/token", "authorization_endpoint": a.URL + "/tenant/authorize", "issuer": a.URL + "/tenant/v2.0",
		}
	case a.refuse:
		w.WriteHeader(http.StatusBadRequest)
		// Some authorities repeat what they were sent.
		answer = map[string]any{"error": "invalid_client", "error_description": "AADSTS700016: no such application; got " + string(body) + r.URL.RawQuery}
		a.asked, a.forms = append(a.asked, *r), append(a.forms, string(body))
	default:
		a.asked, a.forms = append(a.asked, *r), append(a.forms, string(body))
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// requests are those for tokens until now.
func (a *authority) requests() ([]http.Request, []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.asked), slices.Clone(a.forms)
}

// network carries requests to storage, to the authority by its own address, and
// those to a virtual machine's metadata service to the authority.
func (a *authority) network(storage http.RoundTripper) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		switch {
		case r.URL.Hostname() == "169.254.169.254":
			r = r.Clone(r.Context())
			r.URL.Scheme, r.URL.Host = "https", strings.TrimPrefix(a.URL, "https://")
			return a.Client().Transport.RoundTrip(r)
		case strings.HasPrefix(a.URL, "https://"+r.URL.Host):
			return a.Client().Transport.RoundTrip(r)
		case r.URL.Hostname() == "127.0.0.1":
			return storage.RoundTrip(r)
		default:
			return nil, errors.New("no network to " + r.URL.Host)
		}
	})
}

// identityEnv is the environment of a container that uses tokens.
func identityEnv(t *testing.T, a *authority, s *azurite.Azurite, auth azure.Auth, federated string) map[string]string {
	t.Helper()
	tokenFile := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(tokenFile, []byte(federated), 0o600); err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"LOGSTOW_AUTH":                string(auth),
		"AZURE_STORAGE_ACCOUNT":       azurite.Account,
		"AZURE_STORAGE_KEY":           testKey, // there, and not used
		"AZURE_STORAGE_BLOB_ENDPOINT": s.BlobEndpoint, "AZURE_STORAGE_TABLE_ENDPOINT": s.TableEndpoint,
		"AZURE_AUTHORITY_HOST": a.URL, "AZURE_TENANT_ID": "00000000-0000-0000-0000-000000000001",
		"AZURE_CLIENT_ID": "00000000-0000-0000-0000-000000000002", "AZURE_FEDERATED_TOKEN_FILE": tokenFile,
	}
}

// TestIdentity gets tokens for Azurite as a pod and as a virtual machine do.
func TestIdentity(t *testing.T) {
	t.Parallel()
	server, transport := secureServer(t)
	for auth, asks := range map[azure.Auth]func(*testing.T, http.Request, string){
		azure.AuthWorkload: func(t *testing.T, r http.Request, form string) {
			for _, want := range []string{"client_assertion=CANARY-federated", "scope=https%3A%2F%2Fstorage.azure.com%2F.default", "client_id=00000000-0000-0000-0000-000000000002"} {
				if !strings.Contains(form, want) {
					t.Errorf("request with %s, want %s in it", form, want)
				}
			}
		},
		azure.AuthMSI: func(t *testing.T, r http.Request, _ string) {
			q := r.URL.Query()
			if r.Header.Get("Metadata") != "true" || strings.TrimSuffix(q.Get("resource"), "/") != "https://storage.azure.com" || q.Get("client_id") != "00000000-0000-0000-0000-000000000002" {
				t.Errorf("request of %s with Metadata %q", r.URL, r.Header.Get("Metadata"))
			}
		},
	} {
		t.Run(string(auth), func(t *testing.T) {
			t.Parallel()
			a := newAuthority(t, jwt(t, "https://storage.azure.com"))
			values := identityEnv(t, a, server, auth, "CANARY-federated")
			cred, err := azure.FromEnv(env(values))
			if err != nil {
				t.Fatal(err)
			}
			s := openStore(t, azure.Options{Container: server.Container(), Credential: cred, Transport: a.network(transport)})
			for _, operation := range []string{create, read, list, deletion, createTable, query} {
				if err := do(t.Context(), s, operation); err != nil {
					t.Errorf("%s: %v", operation, err)
				}
			}
			asked, forms := a.requests()
			if len(asked) == 0 {
				t.Fatal("no token was requested")
			}
			asks(t, asked[0], forms[0])
			if expiry, ok := s.Expires(); !ok || expiry.IsZero() {
				t.Errorf("Expires() = %s, %v", expiry, ok)
			}
		})
	}
}

// TestIdentityRefused: the authority rejects the request and repeats the secrets it was sent.
func TestIdentityRefused(t *testing.T) {
	t.Parallel()
	for auth, says := range map[azure.Auth][]string{
		azure.AuthWorkload: {"AADSTS700016", "AZURE_FEDERATED_TOKEN_FILE", "has a federated credential"},
		azure.AuthMSI:      {"AADSTS700016", "give this machine a managed identity"},
	} {
		for name, federated := range map[string]string{"plain": "CANARY-federated", "jwt": jwt(t, "CANARY")} {
			t.Run(string(auth)+"/"+name, func(t *testing.T) {
				t.Parallel()
				a := newAuthority(t, "")
				a.refuse = true
				unused := &azurite.Azurite{BlobEndpoint: "https://acct.blob.example.com", TableEndpoint: "https://acct.table.example.com"}
				values := identityEnv(t, a, unused, auth, federated)
				values["AZURE_CLIENT_ID"] = "00000000-0000-0000-0000-000000000003" // the library keeps tokens of the other for the whole process
				cred, err := azure.FromEnv(env(values))
				if err != nil {
					t.Fatal(err)
				}
				s := openStore(t, azure.Options{Container: "logs", Credential: cred, Transport: a.network(nil)})
				err = do(t.Context(), s, list)
				if !errors.Is(err, store.ErrAccessDenied) {
					t.Fatalf("got %v, want ErrAccessDenied", err)
				}
				for _, want := range says {
					checkRefused(t, err, want)
				}
				checkClean(t, err)
				if strings.Contains(err.Error(), federated) {
					t.Errorf("the token is in the error: %v", err)
				}
			})
		}
	}
}

// TestAccessDeniedNamesRole: storage rejects a token, and the error names who, what
// role is missing and how to give it.
func TestAccessDeniedNamesRole(t *testing.T) {
	t.Parallel()
	server, transport := secureServer(t)
	for operation, want := range map[string]string{
		list:        `"Storage Blob Data Reader"`,
		create:      `"Storage Blob Data Contributor"`,
		query:       `"Storage Table Data Reader"`,
		createTable: `"Storage Table Data Contributor"`,
	} {
		t.Run(operation, func(t *testing.T) {
			t.Parallel()
			cred := azure.Credential{
				Account: azurite.Account, BlobEndpoint: server.BlobEndpoint, TableEndpoint: server.TableEndpoint,
				Auth: azure.AuthMSI, Token: fixedToken{token: jwt(t, "https://elsewhere.example.com")},
			}
			s := openStore(t, azure.Options{Container: "logs", Credential: cred, Transport: transport})
			err := do(t.Context(), s, operation)
			host := strings.TrimPrefix(server.BlobEndpoint, "https://")
			if strings.Contains(want, "Table") {
				host = strings.TrimPrefix(server.TableEndpoint, "https://")
			}
			host, _, _ = strings.Cut(host, "/")
			for _, says := range []string{
				host + " denied access to the managed identity", "az role assignment create --role " + want,
				`--assignee "` + principal + `"`, "az storage account show --name " + azurite.Account,
			} {
				checkRefused(t, err, says)
			}
			checkClean(t, err)
		})
	}
}

// TestCLI puts a stand-in for az into the path, which Azure's library looks up
// itself: this test cannot run beside others.
func TestCLI(t *testing.T) {
	server, transport := secureServer(t)
	bin := t.TempDir()
	script := "#!/bin/sh\necho \"$@\" >>\"$0.log\"\n[ -e \"$0.fail\" ] && { echo 'ERROR: Please run az login; refresh_token=CANARY' >&2; exit 1; }\n" +
		`echo '{"accessToken":"` + jwt(t, "https://storage.azure.com") + `","expires_on":4102444800}'` + "\n"
	az := filepath.Join(bin, "az")
	if err := os.WriteFile(az, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	cred := azure.Credential{Account: azurite.Account, BlobEndpoint: server.BlobEndpoint, TableEndpoint: server.TableEndpoint, Auth: azure.AuthCLI}
	opts := azure.Options{Container: server.Container(), Credential: cred, Transport: transport}
	s := openStore(t, opts)
	for _, operation := range []string{create, read, list} {
		if err := do(t.Context(), s, operation); err != nil {
			t.Errorf("%s: %v", operation, err)
		}
	}
	if log, err := os.ReadFile(az + ".log"); err != nil || !strings.Contains(string(log), "get-access-token -o json --resource https://storage.azure.com") {
		t.Errorf("az was called with %q, %v", log, err)
	}
	if err := os.WriteFile(az+".fail", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := do(t.Context(), openStore(t, opts), list)
	checkRefused(t, err, "run az login")
	checkClean(t, err)
}
