package azure_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"logstow/internal/hint"
	"logstow/internal/test/azurite"
	"logstow/store"
	"logstow/store/azure"
)

// sasFileStore is a store with a SAS in a file, and what replaces that file.
func sasFileStore(t *testing.T, first string) (s *azure.Store, replace func(content string)) {
	t.Helper()
	a, _ := server(t)
	owner := newStore(t)
	path := filepath.Join(t.TempDir(), "sas")
	replace = func(content string) {
		t.Helper()
		if err := os.WriteFile(path+".new", []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	replace(first)
	cred, err := azure.FromEnv(env(map[string]string{
		"AZURE_STORAGE_ACCOUNT": azurite.Account, "AZURE_STORAGE_SAS_TOKEN_FILE": path,
		"AZURE_STORAGE_BLOB_ENDPOINT": a.BlobEndpoint, "AZURE_STORAGE_TABLE_ENDPOINT": a.TableEndpoint,
	}))
	if err != nil {
		t.Fatal(err)
	}
	return openStore(t, azure.Options{Container: owner.Container(), Credential: cred}), replace
}

// TestSASFile replaces the file under an open store: every operation uses what is
// in it by then.
func TestSASFile(t *testing.T) {
	t.Parallel()
	later := time.Now().Add(2 * time.Hour).Truncate(time.Second)
	s, replace := sasFileStore(t, "?"+accountSAS(t, "rl", later)+"\n")
	if err := do(t.Context(), s, list); err != nil {
		t.Error(err)
	}
	checkRefused(t, do(t.Context(), s, create), "127.0.0.1")
	if got, ok := s.Expires(); !ok || !got.Equal(later) {
		t.Errorf("Expires() = %s, %v, want %s", got, ok, later)
	}
	later = later.Add(time.Hour)
	replace(accountSAS(t, "racwdlu", later))
	for _, operation := range []string{create, read, list, deletion, createTable, upsert, query, remove, tables, dropTable} {
		if err := do(t.Context(), s, operation); err != nil {
			t.Errorf("%s: %v", operation, err)
		}
	}
	if got, ok := s.Expires(); !ok || !got.Equal(later) {
		t.Errorf("Expires() = %s, %v, want %s", got, ok, later)
	}
	// What cannot be a SAS, half a file for example, changes nothing.
	replace("sv=2021-12-02&CANARY")
	if err := do(t.Context(), s, list); err != nil {
		t.Error(err)
	}
	expired := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	replace(accountSAS(t, "rl", expired))
	err := do(t.Context(), s, list)
	checkRefused(t, err, "the SAS expired at 2024-05-06T07:08:09Z")
	checkRefused(t, err, "denied access to the SAS in /")
	replace(accountSAS(t, "rl", later))
	if err := do(t.Context(), s, list); err != nil {
		t.Errorf("after a new SAS: %v", err)
	}
}

func TestSASFileRejects(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad")
	if err := os.WriteFile(bad, []byte("CANARY"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{bad, filepath.Join(dir, "missing")} {
		s, err := azure.Open(t.Context(), azure.Options{Container: "logs", Credential: azure.Credential{
			Account: "acct", BlobEndpoint: "https://b", TableEndpoint: "https://t", SASFile: path,
		}})
		if s != nil || !errors.Is(err, store.ErrAccessDenied) || !strings.Contains(hint.Text(err), path) {
			t.Errorf("got %v, %v, want ErrAccessDenied and %s", s, err, path)
		}
		checkClean(t, err)
	}
}

// TestKeyHasNoExpiry: nothing is claimed where nothing is known.
func TestKeyHasNoExpiry(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	if got, ok := s.Expires(); ok {
		t.Errorf("Expires() = %s", got)
	}
}

// TestBatchIsSigned: each part of a batch is authorized by itself, so the signature of
// the moment is in the batch's address and in every part.
func TestBatchIsSigned(t *testing.T) {
	t.Parallel()
	var address, body string
	cred := fromConnection(t, "AccountName=acct;SharedAccessSignature="+testSAS)
	s := openStore(t, azure.Options{Container: "logs", Credential: cred, Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		content, err := io.ReadAll(r.Body)
		address, body = r.URL.RawQuery, string(content)
		return nil, errors.Join(err, errors.New("seen enough"))
	})})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := s.Blobs().Delete(ctx, store.AnyVersion("a/1.log", "a/2.log")); err == nil {
		t.Error("no error")
	} else {
		checkClean(t, err)
	}
	if strings.Count(address, "sig=CANARY%2Bsig%3D") != 1 || strings.Count(body, "sig=CANARY%2Bsig%3D") != 2 {
		t.Errorf("address %s, body:\n%s", address, body)
	}
}
