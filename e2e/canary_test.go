package e2e

import (
	"encoding/base64"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"logstow/internal/test/azurite"
)

// TestCanary gives every kind of credential as a secret that is easily found again,
// lets every kind of access fail, and looks for it in all that is printed and written.
func TestCanary(t *testing.T) {
	t.Parallel()
	const secret = "CANARY-0123456789-secret"
	key := base64.StdEncoding.EncodeToString([]byte(secret))
	sas := "sv=2021-12-02&ss=bt&srt=sco&sp=rwdlacu&se=2100-01-01&sig=" + secret + "%3D"
	a := azurite.Start(t)
	closed := closedAddress
	dir := t.TempDir()
	file := filepath.Join(dir, "secret")
	for name, content := range map[string]string{file: secret, file + ".sas": sas} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	account := []string{"AZURE_STORAGE_ACCOUNT=" + azurite.Account, "AZURE_STORAGE_BLOB_ENDPOINT=" + a.BlobEndpoint, "AZURE_STORAGE_TABLE_ENDPOINT=" + a.TableEndpoint}
	connection := "AZURE_STORAGE_CONNECTION_STRING=AccountName=" + azurite.Account + ";AccountKey=" + key
	identity := []string{
		"AZURE_STORAGE_ACCOUNT=acct", "AZURE_AUTHORITY_HOST=https://" + closed, "AZURE_TENANT_ID=00000000-0000-0000-0000-000000000001",
		"AZURE_CLIENT_ID=00000000-0000-0000-0000-000000000002",
	}
	with := func(env []string, more ...string) []string { return append(append([]string{}, env...), more...) }
	const store = "azblob://logs"
	for _, tt := range []struct {
		name, store string
		env         []string
	}{
		{"wrong key", store, with(account, "AZURE_STORAGE_KEY="+key)},
		{"wrong key in a connection string", store, []string{connection + ";BlobEndpoint=" + a.BlobEndpoint + ";TableEndpoint=" + a.TableEndpoint}},
		{"connection string, nothing listens", store, []string{connection + ";BlobEndpoint=http://" + closed + "/x;TableEndpoint=http://" + closed + "/x"}},
		{"connection string that is none", store, []string{"AZURE_STORAGE_CONNECTION_STRING=" + key}},
		{"key that is none", store, with(account, "AZURE_STORAGE_KEY="+secret)},
		{"wrong SAS", store, with(account, "AZURE_STORAGE_SAS_TOKEN="+sas)},
		{"wrong SAS in a file", store, with(account, "AZURE_STORAGE_SAS_TOKEN_FILE="+file+".sas")},
		{"file without a SAS", store, with(account, "AZURE_STORAGE_SAS_TOKEN_FILE="+file)},
		{"SAS, nothing listens", store, []string{"AZURE_STORAGE_ACCOUNT=x", "AZURE_STORAGE_SAS_TOKEN=" + sas, "AZURE_STORAGE_BLOB_ENDPOINT=http://" + closed, "AZURE_STORAGE_TABLE_ENDPOINT=http://" + closed}},
		{"proxy that does not listen", store, []string{"AZURE_STORAGE_ACCOUNT=acct", "AZURE_STORAGE_SAS_TOKEN=" + sas, "HTTPS_PROXY=http://user:" + secret + "@" + closed}},
		{"client secret", store, with(identity, "AZURE_CLIENT_SECRET="+secret, "AZURE_TOKEN_CREDENTIALS=EnvironmentCredential")},
		{"federated token", store, with(identity, "LOGSTOW_AUTH=workload", "AZURE_FEDERATED_TOKEN_FILE="+file)},
		{"SAS in the store's name", store + "?" + sas, with(account, "AZURE_STORAGE_KEY="+key)},
		{"address as the store's name", "https://acct.blob.core.windows.net/logs?" + sas, with(account, "AZURE_STORAGE_KEY="+key)},
		{"file that is no grant", "grant://" + file, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := target{name: "azurite", store: tt.store, env: tt.env}
			state := t.TempDir()
			for _, args := range [][]string{
				{"shipper", "run", "--once", "--retry-for", "1s", "--service", "api", "--buffer-dir", filepath.Join(state, "buffer"), "-"},
				{"shipper", "check", "--service", "api", "--buffer-dir", filepath.Join(state, "buffer"), "-"},
				{"shipper", "grant", "--service", "api", "--expires", "1h", "--out", filepath.Join(state, "grant")},
				{"shipper", "verify"},
				{"logq", "query", "-s", "api", "--explain", "-o", "json", "--no-cache"},
			} {
				if args[1] == "verify" && strings.Contains(tt.name, "listen") {
					continue // it is patient
				}
				r := s.command(t, strings.NewReader("2026-11-20T15:04:05Z INFO hello\n"), args...)
				if r.status == 0 || r.status == 1 {
					t.Errorf("%v: status %d, want a failure", args[:2], r.status)
				}
				for _, hidden := range []string{secret, key, key[:16]} {
					if strings.Contains(string(r.out)+r.errs, hidden) {
						t.Errorf("%v prints the secret:\n%s%s", args[:2], r.out, r.errs)
					}
				}
			}
			noSecret(t, state, secret, key)
		})
	}
}

// noSecret looks into every file under a directory.
func noSecret(t *testing.T, dir string, secrets ...string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		for _, secret := range secrets {
			if strings.Contains(string(content), secret) {
				t.Errorf("%s holds the secret", path)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// closedAddress is one at which nothing listens. Port 1 is never assigned to a listener
// without a port, unlike one that was just closed.
const closedAddress = "127.0.0.1:1"
