package azure_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"

	"logstow/internal/hint"
	"logstow/internal/test/azurite"
	"logstow/store"
	"logstow/store/azure"
)

// accountSAS signs an account SAS for blobs and tables.
// https://learn.microsoft.com/rest/api/storageservices/create-account-sas
func accountSAS(t testing.TB, permissions string, expiry time.Time) string {
	t.Helper()
	const version = "2021-12-02"
	key, err := base64.StdEncoding.DecodeString(azurite.Key)
	if err != nil {
		t.Fatal(err)
	}
	start, end := expiry.Add(-24*time.Hour).UTC().Format(time.RFC3339), expiry.UTC().Format(time.RFC3339)
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(strings.Join([]string{azurite.Account, permissions, "bt", "sco", start, end, "", "http,https", version, "", ""}, "\n")))
	return url.Values{
		"sv": {version}, "ss": {"bt"}, "srt": {"sco"}, "sp": {permissions}, "st": {start}, "se": {end}, "spr": {"http,https"},
		"sig": {base64.StdEncoding.EncodeToString(mac.Sum(nil))},
	}.Encode()
}

// withSAS opens the container of s with a SAS of some permissions.
func withSAS(t testing.TB, s *azure.Store, permissions string, expiry time.Time) *azure.Store {
	t.Helper()
	a, _ := server(t)
	cred, err := azure.FromEnv(env(map[string]string{
		"AZURE_STORAGE_ACCOUNT":        azurite.Account,
		"AZURE_STORAGE_SAS_TOKEN":      accountSAS(t, permissions, expiry),
		"AZURE_STORAGE_BLOB_ENDPOINT":  a.BlobEndpoint,
		"AZURE_STORAGE_TABLE_ENDPOINT": a.TableEndpoint,
	}))
	if err != nil {
		t.Fatal(err)
	}
	return openStore(t, azure.Options{Container: s.Container(), Credential: cred})
}

// checkRefused wants an error of class ErrAccessDenied that contains a text.
func checkRefused(t *testing.T, err error, says string) {
	t.Helper()
	if !errors.Is(err, store.ErrAccessDenied) {
		t.Fatalf("got %v, want ErrAccessDenied", err)
	}
	if !strings.Contains(hint.Text(err), says) {
		t.Errorf("error %q does not contain %q", err, says)
	}
	if strings.Contains(hint.Text(err), "sig=") {
		t.Errorf("error holds a signature: %v", err)
	}
}

func TestSASCreateOnly(t *testing.T) {
	t.Parallel()
	owner := newStore(t)
	s := withSAS(t, owner, "c", time.Now().Add(time.Hour))
	mustCreate(t, s, "a/1.log", "one", store.CreateOptions{})
	// Azure responds with UnauthorizedBlobOverwrite, which is ErrExists (see TestClasses).
	// Azurite has no such code: see package azurite.
	if _, err := s.Blobs().Create(t.Context(), "a/1.log", []byte("two"), store.CreateOptions{}); !errors.Is(err, store.ErrAccessDenied) {
		t.Errorf("taken name: got %v, want Azurite's response; see package azurite if it is better now", err)
	}
	if got, err := owner.Blobs().Read(t.Context(), store.BlobRef{Name: "a/1.log"}, 0, 3); err != nil || string(got) != "one" {
		t.Errorf("blob now %q, error %v", got, err)
	}
	checkRefused(t, do(t.Context(), s, read), "permission r")
	checkRefused(t, do(t.Context(), s, list), "permission l")
	checkRefused(t, do(t.Context(), s, deletion), "permission d")
}

func TestSASReadOnly(t *testing.T) {
	t.Parallel()
	owner := newStore(t)
	mustCreate(t, owner, "a/b.log", "one", store.CreateOptions{})
	s := withSAS(t, owner, "rl", time.Now().Add(time.Hour))
	for _, operation := range []string{read, list, tables} {
		if err := do(t.Context(), s, operation); err != nil {
			t.Errorf("%s: %v", operation, err)
		}
	}
	if err := do(t.Context(), s, query); !errors.Is(err, store.ErrNoTable) {
		t.Errorf("query: got %v, want ErrNoTable", err)
	}
	checkRefused(t, do(t.Context(), s, create), "permission c")
	checkRefused(t, do(t.Context(), s, deletion), "permission d")
	checkRefused(t, do(t.Context(), s, createTable), "permission c")
	if got, err := owner.Blobs().Read(t.Context(), store.BlobRef{Name: "a/b.log"}, 0, 3); err != nil || string(got) != "one" {
		t.Errorf("blob now %q, error %v", got, err)
	}
}

func TestSASAll(t *testing.T) {
	t.Parallel()
	owner := newStore(t)
	s := withSAS(t, owner, "racwdlu", time.Now().Add(time.Hour))
	name := tableName(owner.Container())
	key := store.Key{Partition: "p|00", Row: "r"}
	for _, step := range []struct {
		name string
		err  error
	}{
		{"create", do(t.Context(), s, create)},
		{"read", do(t.Context(), s, read)},
		{"delete", do(t.Context(), s, deletion)},
		{"create table", s.Tables().CreateTable(t.Context(), name)},
		{"upsert", s.Tables().Upsert(t.Context(), name, []store.Entity{{Key: key}})},
		{"query", last(s.Tables().Query(t.Context(), name, store.Query{Partition: "p|00"}))},
		{"remove", s.Tables().Remove(t.Context(), name, []store.Key{key})},
		{"drop", s.Tables().DropTable(t.Context(), name)},
	} {
		if step.err != nil {
			t.Errorf("%s: %v", step.name, step.err)
		}
	}
}

func TestSASExpired(t *testing.T) {
	t.Parallel()
	expiry := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	s := withSAS(t, newStore(t), "racwdlu", expiry)
	for _, operation := range []string{create, read, list, deletion, createTable, query} {
		checkRefused(t, do(t.Context(), s, operation), "the SAS expired at 2024-05-06T07:08:09Z")
	}
}

func TestSASMayNotMakeContainer(t *testing.T) {
	t.Parallel()
	a, _ := server(t)
	cred := fromConnection(t, "BlobEndpoint="+a.BlobEndpoint+";TableEndpoint="+a.TableEndpoint+
		";SharedAccessSignature="+accountSAS(t, "rl", time.Now().Add(time.Hour)))
	s := openStore(t, azure.Options{Container: a.Container(), Credential: cred})
	if err := do(t.Context(), s, list); !errors.Is(err, store.ErrNoContainer) {
		t.Errorf("list: got %v, want ErrNoContainer", err)
	}
	checkRefused(t, do(t.Context(), s, create), "")
}

func TestWrongKey(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	_, cred := server(t)
	cred.Key = azure.NewSecret(testKey)
	wrong := openStore(t, azure.Options{Container: s.Container(), Credential: cred})
	for _, operation := range []string{create, read, list, deletion, createTable, dropTable, query, upsert, remove, tables} {
		err := do(t.Context(), wrong, operation)
		checkRefused(t, err, "check that the key is one of account "+azurite.Account)
		checkClean(t, err)
	}
}

// TestSASOfContainer uses a service SAS, which grants one container.
func TestSASOfContainer(t *testing.T) {
	t.Parallel()
	owner := newStore(t)
	a, _ := server(t)
	key, err := container.NewSharedKeyCredential(azurite.Account, azurite.Key)
	if err != nil {
		t.Fatal(err)
	}
	client, err := container.NewClientWithSharedKeyCredential(a.BlobEndpoint+"/"+owner.Container(), key, nil)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := client.GetSASURL(sas.ContainerPermissions{Read: true, List: true, Create: true, Delete: true}, time.Now().Add(time.Hour), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, query, _ := strings.Cut(signed, "?")
	cred := fromConnection(t, "BlobEndpoint="+a.BlobEndpoint+";TableEndpoint="+a.TableEndpoint+";SharedAccessSignature="+query)
	s := openStore(t, azure.Options{Container: owner.Container(), Credential: cred})
	for _, operation := range []string{create, read, list, deletion} {
		if err := do(t.Context(), s, operation); err != nil {
			t.Errorf("%s: %v", operation, err)
		}
	}
	// Another container is none of its business.
	other := newStore(t)
	wrong := openStore(t, azure.Options{Container: other.Container(), Credential: cred})
	checkRefused(t, do(t.Context(), wrong, list), "")
	if err := do(t.Context(), s, list); err != nil {
		t.Error(err)
	}
}
