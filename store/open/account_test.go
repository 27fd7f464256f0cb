package open_test

import (
	"errors"
	"strings"
	"testing"

	"logstow/internal/hint"
	"logstow/store"
	"logstow/store/open"
)

// where is the place of an opened store.
type where interface {
	Address() (account, blobs, tables string)
	Delegates() bool
}

func TestAccount(t *testing.T) {
	t.Parallel()
	key := []string{"AZURE_STORAGE_ACCOUNT", "one", "AZURE_STORAGE_KEY", "a2V5"}
	identity := []string{"AZURE_STORAGE_ACCOUNT", "one", "AZURE_STORAGE_ENDPOINT_SUFFIX", "core.chinacloudapi.cn", "AZURE_STORAGE_BLOB_ENDPOINT", "https://one.example.com"}
	tests := []struct {
		name, spec, auth string
		env              []string
		account, blobs   string
		delegates        bool
	}{
		{"the usual one", "azblob://logs", "", key, "one", "https://one.blob.core.windows.net", false},
		{"the usual one by name", "azblob://logs?account=one", "", key, "one", "https://one.blob.core.windows.net", false},
		{"an identity's other", "azblob://logs?account=two", "cli", identity, "two", "https://two.blob.core.chinacloudapi.cn", true},
		{"an identity for another than the key's", "azblob://logs?account=two", "cli", key, "two", "https://two.blob.core.windows.net", true},
		{"a key of its own", "azblob://logs?account=two", "", append([]string{"AZURE_STORAGE_KEY_TWO", "a2V5"}, key...), "two", "https://two.blob.core.windows.net", false},
		{
			"a connection string of its own", "azblob://logs/?account=two", "",
			append([]string{"AZURE_STORAGE_CONNECTION_STRING_TWO", "AccountName=two;AccountKey=a2V5;BlobEndpoint=http://127.0.0.1:1/two;TableEndpoint=http://127.0.0.1:2/two"}, key...),
			"two", "http://127.0.0.1:1/two", false,
		},
		{"no usual one", "azblob://logs?account=two", "", []string{"AZURE_STORAGE_KEY_TWO", "a2V5"}, "two", "https://two.blob.core.windows.net", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, err := open.Store(t.Context(), tt.spec, open.Options{Getenv: env(tt.env...), Auth: tt.auth})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			w, ok := s.(where)
			if !ok {
				t.Fatalf("opened a %T", s)
			}
			account, blobs, _ := w.Address()
			if account != tt.account || blobs != tt.blobs || w.Delegates() != tt.delegates {
				t.Errorf("account %s at %s, identity %v, want %s at %s, %v", account, blobs, w.Delegates(), tt.account, tt.blobs, tt.delegates)
			}
			if got, want := s.String(), strings.Replace(tt.spec, "/?", "?", 1); got != want {
				t.Errorf("String() = %s, want %s", got, want)
			}
		})
	}
}

// TestAccountRejects: no account's secret is used for another.
func TestAccountRejects(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, spec string
		env        []string
		class      error
		says       string
	}{
		{"another account's key", "azblob://logs?account=two", []string{"AZURE_STORAGE_ACCOUNT", "one", "AZURE_STORAGE_KEY", "a2V5"}, store.ErrAccessDenied, "set AZURE_STORAGE_KEY_TWO"},
		{
			"another account's key named", "azblob://logs?account=two",
			[]string{"AZURE_STORAGE_ACCOUNT", "one", "AZURE_STORAGE_KEY", "a2V5", "LOGSTOW_AUTH", "key"},
			store.ErrAccessDenied, "AZURE_STORAGE_KEY",
		},
		{
			"a connection string for another", "azblob://logs?account=two",
			[]string{"AZURE_STORAGE_CONNECTION_STRING_TWO", "AccountName=three;AccountKey=a2V5"},
			store.ErrAccessDenied, "is for account three",
		},
		{"no name", "azblob://logs?account=", nil, store.ErrInvalid, "?account=NAME"},
		{"a signature", "azblob://logs?sig=CANARY", nil, store.ErrInvalid, "?account=NAME"},
		{"more", "azblob://logs?account=two&sig=CANARY", nil, store.ErrInvalid, "?account=NAME"},
		{"not a name", "azblob://logs?account=Two.example", nil, store.ErrAccessDenied, "lower-case"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, err := open.Store(t.Context(), tt.spec, open.Options{Getenv: env(tt.env...)})
			if s != nil || !errors.Is(err, tt.class) || !strings.Contains(hint.Text(err), tt.says) || strings.Contains(hint.Text(err), "CANARY") {
				t.Errorf("got %v, %v, want %v and %q", s, err, tt.class, tt.says)
			}
		})
	}
}

func TestCheckAndShown(t *testing.T) {
	t.Parallel()
	for spec, shown := range map[string]string{
		"/logs": "/logs", "file:///logs": "file:///logs", "azblob://logs": "azblob://logs", "azblob://logs?account=one": "azblob://logs?account=one",
		"grant:///x": "grant:///x",
	} {
		if err := open.Check(spec); err != nil || open.Shown(spec) != shown {
			t.Errorf("%s: %v, shown as %s", spec, err, open.Shown(spec))
		}
	}
	for spec, shown := range map[string]string{
		"azblob://logs?sig=CANARY": "azblob://logs?…", "azblob://logs?account=one&sig=CANARY": "azblob://logs?…",
		"https://one.blob.core.windows.net/logs?sig=CANARY": "https://one.blob.core.windows.net/logs?…", "": "", "grant://": "grant://",
		"one.blob.core.windows.net/logs?sv=1&sig=CANARY": "one.blob.core.windows.net/logs?…",
		"azblob://one:CANARY@logs":                       "azblob://…@logs",
		"relay://one:CANARY?x@relay.logging:4319":        "relay://…@relay.logging:4319",
	} {
		if err := open.Check(spec); !errors.Is(err, store.ErrInvalid) || open.Shown(spec) != shown || strings.Contains(hint.Text(err), "CANARY") {
			t.Errorf("%s: %v, shown as %s", spec, err, open.Shown(spec))
		}
	}
}

func FuzzCheck(f *testing.F) {
	for _, spec := range []string{"", "/logs", "file:///logs?x", "azblob://logs?account=one", "azblob://logs?sig=x", "grant://x", "https://h/c?sig=x", "azblob://?%zz", "$h?0123456789abcdef01234567"} {
		f.Add(spec)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		err := open.Check(spec)
		_, query, asked := strings.Cut(spec, "?")
		if err != nil && asked && len(query) > 20 && strings.Contains(hint.Text(err), query) {
			t.Errorf("the error repeats what may be a signature: %v", err)
		}
		if err == nil && strings.HasPrefix(spec, "azblob://") && open.Shown(spec) != spec {
			t.Errorf("%s opens, and is shown as %s", spec, open.Shown(spec))
		}
	})
}
