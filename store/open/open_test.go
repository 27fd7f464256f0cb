package open_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/internal/hint"
	"logstow/record"
	"logstow/relay"
	"logstow/segment"
	"logstow/store"
	"logstow/store/open"
)

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	account := env("AZURE_STORAGE_ACCOUNT", "acct", "AZURE_STORAGE_KEY", "a2V5")
	tests := []struct {
		name, spec string
		getenv     func(string) string
		want       string // String of the store
	}{
		{"directory", dir, nil, dir},
		{"file address", "file://" + dir, nil, dir},
		{"file address with host", "file://localhost" + dir, nil, dir},
		{"escaped", "file://" + dir + "/a%20b%3F", nil, dir + "/a b?"},
		{"container", "azblob://logs-1", account, "azblob://logs-1"},
		{"final slash", "azblob://logs/", account, "azblob://logs"},
		{"Storage Analytics", "azblob://$logs", account, "azblob://$logs"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, err := open.Store(t.Context(), tt.spec, open.Options{Getenv: tt.getenv})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if got := s.String(); got != tt.want {
				t.Errorf("opened %s, want %s", got, tt.want)
			}
		})
	}
}

func TestStoreRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, spec string
		class      error
		says       string
	}{
		{"nothing", "", store.ErrInvalid, "azblob://CONTAINER"},
		{"other service", "s3://bucket", store.ErrInvalid, `"s3"`},
		{"address of a container", "https://acct.blob.core.windows.net/logs?sig=CANARY", store.ErrInvalid, "AZURE_STORAGE_ACCOUNT"},
		{"capitals", "azblob://Logs", store.ErrInvalid, "lower-case"},
		{"path", "azblob://logs/x", store.ErrInvalid, "lower-case"},
		{"no container", "azblob://", store.ErrInvalid, "3 to 63"},
		{"two slashes", "file://dir/x", store.ErrInvalid, "three slashes"},
		{"no directory", "file://", store.ErrInvalid, "no directory"},
		{"query", "file:///dir?x", store.ErrInvalid, "%3F"},
		{"home", "~/logs", store.ErrInvalid, "./~/logs"},
		{"variable", "$HOME/logs", store.ErrInvalid, "${HOME}"},
		{"no relay", "relay://", store.ErrInvalid, "HOST:PORT"},
		{"no credential", "azblob://logs", store.ErrAccessDenied, "AZURE_STORAGE_CONNECTION_STRING"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, err := open.Store(t.Context(), tt.spec, open.Options{})
			if s != nil || !errors.Is(err, tt.class) {
				t.Fatalf("got store %v, error %v, want class %v", s, err, tt.class)
			}
			if text := hint.Text(err); !strings.Contains(text, tt.says) || strings.Contains(text, "CANARY") {
				t.Errorf("error %q: want %q in it and no secret", text, tt.says)
			}
			if relay.IsName(tt.spec) && hint.Of(err) != "" {
				t.Errorf("hint of other stores: %s", hint.Of(err))
			}
		})
	}
}

// TestAuth: the option stands over the variable, and a file of authorities is looked at.
func TestAuth(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing.pem")
	tests := []struct {
		name   string
		auth   string
		getenv func(string) string
		says   string
	}{
		{"option", "key", env("AZURE_STORAGE_ACCOUNT", "acct"), "AZURE_STORAGE_KEY"},
		{"variable", "", env("AZURE_STORAGE_ACCOUNT", "acct", "LOGSTOW_AUTH", "sas"), "AZURE_STORAGE_SAS_TOKEN_FILE"},
		{"option before variable", "cli", env("AZURE_STORAGE_ACCOUNT", "acct", "LOGSTOW_AUTH", "sas"), ""},
		{"unknown", "kerberos", env("AZURE_STORAGE_ACCOUNT", "acct"), "workload or cli"},
		{"authorities", "", env("AZURE_STORAGE_ACCOUNT", "acct", "AZURE_STORAGE_KEY", "a2V5", "LOGSTOW_CA_FILE", missing), missing},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, err := open.Store(t.Context(), "azblob://logs", open.Options{Getenv: tt.getenv, Auth: tt.auth})
			if tt.says == "" && err == nil {
				s.Close()
				return
			}
			if tt.says == "" || !errors.Is(err, store.ErrAccessDenied) || !strings.Contains(hint.Text(err), tt.says) {
				t.Errorf("got %v, want ErrAccessDenied and %q", err, tt.says)
			}
		})
	}
}

// TestGrantAuthorities: the authorities are looked at for a grant's store too.
func TestGrantAuthorities(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, missing := filepath.Join(dir, "api.grant"), filepath.Join(dir, "missing.pem")
	const text = `{"logstow_grant":2,"compacted_sas":"sig=x","kind":"read","service":"api","directory":"api","container":"logs",` +
		`"account":"acct","blob_endpoint":"https://acct.blob.core.windows.net","table_endpoint":"https://acct.table.core.windows.net","blobs_sas":"sig=x"}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := open.Store(t.Context(), "grant://"+path, open.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if _, err := open.Store(t.Context(), "grant://"+path, open.Options{Getenv: env(open.CAFileEnv, missing)}); err == nil || !strings.Contains(hint.Text(err), missing) {
		t.Errorf("got %v, want what is wrong with %s", err, missing)
	}
}

// TestAdopts copies files into a directory: segments are listed with the
// metadata in their footers, others with none.
func TestAdopts(t *testing.T) {
	t.Parallel()
	var body bytes.Buffer
	at := time.Date(2014, 7, 31, 18, 0, 1, 0, time.UTC)
	w := segment.NewWriter(&body, segment.Options{
		Service: "queue", Instance: "pod-1", BucketStart: at.Truncate(time.Hour).Unix(), BucketWidth: 3600,
		Salt: [16]byte{1, 2, 3},
	})
	if err := w.Append(record.Record{Time: at.UnixNano(), Source: "app.log", Message: []byte("hello")}); err != nil {
		t.Fatal(err)
	}
	meta, err := w.Close(7)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, content := range map[string][]byte{
		"queue/2014/07/31/1800/000001.log": body.Bytes(),
		"queue/2014/07/31/1800/foreign":    []byte("plain text"),
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	s, err := open.Store(t.Context(), dir, open.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got := map[string]map[string]string{}
	for page, err := range s.Blobs().List(t.Context(), "queue/") {
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range page {
			got[b.Name] = map[string]string{}
			for key, v := range b.Metadata {
				got[b.Name][strings.ToLower(key)] = v
			}
		}
	}
	want := map[string]map[string]string{
		"queue/2014/07/31/1800/000001.log": {},
		"queue/2014/07/31/1800/foreign":    {},
	}
	for key, v := range meta.Encode() {
		want["queue/2014/07/31/1800/000001.log"][strings.ToLower(key)] = v
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}
}

// TestDir: the directory of a store is found however it is written, and no other store has one.
func TestDir(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]string{
		"logs": "logs", "/logs": "/logs", "file:///logs": "/logs", "file://localhost/logs": "/logs", "file:///a%20b": "/a b",
		"azblob://logs": "", "azblob://NO": "", "grant:///x": "", "file://other/logs": "", "": "",
	} {
		if dir, ok := open.Dir(spec); dir != want || ok != (want != "") {
			t.Errorf("%s: %q, %v, want %q", spec, dir, ok, want)
		}
	}
}
