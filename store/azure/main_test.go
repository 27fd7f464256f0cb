package azure_test

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"logstow/internal/test/azurite"
	"logstow/store"
	"logstow/store/azure"
)

func TestMain(m *testing.M) { os.Exit(azurite.Main(m)) }

// server gives a test an Azurite and a credential with its key.
func server(t testing.TB) (*azurite.Azurite, azure.Credential) {
	t.Helper()
	a := azurite.Start(t)
	return a, fromConnection(t, a.ConnectionString())
}

// fromConnection is the credential of a connection string.
func fromConnection(t testing.TB, connection string) azure.Credential {
	t.Helper()
	cred, err := azure.FromEnv(env(map[string]string{"AZURE_STORAGE_CONNECTION_STRING": connection}))
	if err != nil {
		t.Fatal(err)
	}
	return cred
}

func env(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

// openStore opens a container, closing it with the test.
func openStore(t testing.TB, opts azure.Options) *azure.Store {
	t.Helper()
	s, err := azure.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// newStore is a store on a new container, which exists.
func newStore(t testing.TB) *azure.Store {
	t.Helper()
	a, cred := server(t)
	s := openStore(t, azure.Options{Container: a.Container(), Credential: cred})
	mustCreate(t, s, "made/by/test.log", "x", store.CreateOptions{})
	return s
}

func mustCreate(t testing.TB, s store.Store, name, body string, opts store.CreateOptions) string {
	t.Helper()
	etag, err := s.Blobs().Create(t.Context(), name, []byte(body), opts)
	if err != nil {
		t.Fatal(err)
	}
	return etag
}

// tableName is the table of a test that has its own container.
// Tables belong to the account, which parallel tests share.
func tableName(container string) string {
	return "t" + strings.ReplaceAll(container, "-", "")
}

// roundTrip lets a function stand for the network.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
