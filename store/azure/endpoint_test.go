package azure_test

import (
	"errors"
	"strings"
	"testing"

	"logstow/internal/hint"
	"logstow/store"
	"logstow/store/azure"
)

// TestEndpointWithContainer opens the container logs at addresses of accounts, and at addresses that end with a container.
func TestEndpointWithContainer(t *testing.T) {
	t.Parallel()
	const key, sas = "AccountName=acct;AccountKey=" + testKey, "SharedAccessSignature=" + testSAS
	const azureBlob, azureTable = "https://acct.blob.core.windows.net", "https://acct.table.core.windows.net"
	const emulator, emulatorTable = "http://127.0.0.1:10000/acct", "http://127.0.0.1:10002/acct"
	tests := []struct {
		name, connection string
		blob, table      string
		rejected         string // a part of the error and its hint; "" if it opens
	}{
		{"the account", key + ";BlobEndpoint=" + azureBlob, azureBlob, azureTable, ""},
		{"the account and a slash", key + ";BlobEndpoint=" + azureBlob + "/", azureBlob, azureTable, ""},
		{"the container", key + ";BlobEndpoint=" + azureBlob + "/logs", "", "", "give the address of the account, " + azureBlob},
		{"the container and a slash, SAS", sas + ";BlobEndpoint=" + azureBlob + "/logs/", "", "", "the path /logs is not an account's"},
		{"another container", key + ";BlobEndpoint=" + azureBlob + "/other", "", "", "the path /other is not an account's"},
		{"a directory", sas + ";BlobEndpoint=" + azureBlob + "/logs/api", "", "", "give the address of the account, " + azureBlob},
		{"the account, where the host has it", key + ";BlobEndpoint=" + azureBlob + "/acct", "", "", "the path /acct"},
		{"tables of a container", key + ";TableEndpoint=" + azureTable + "/other", "", "", "table endpoint"},
		{"emulator", key + ";BlobEndpoint=" + emulator + ";TableEndpoint=" + emulatorTable, emulator, emulatorTable, ""},
		{"emulator, the container", key + ";BlobEndpoint=" + emulator + "/logs;TableEndpoint=" + emulatorTable, "", "", "give the address of the account, " + emulator},
		{"emulator, another account", key + ";BlobEndpoint=http://127.0.0.1:10000/other;TableEndpoint=" + emulatorTable, "", "", "the path /other"},
		{
			"emulator, an account with the container's name", sas + ";BlobEndpoint=http://azurite/logs;TableEndpoint=http://azurite/logs",
			"http://azurite/logs", "http://azurite/logs", "",
		},
		{"custom domain, the container", sas + ";BlobEndpoint=https://logs.example.com/logs;TableEndpoint=https://index.example.com", "", "", "the path /logs"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, err := azure.Open(t.Context(), azure.Options{Container: "logs", Credential: fromConnection(t, tt.connection)})
			if tt.rejected != "" {
				if !errors.Is(err, store.ErrAccessDenied) || !strings.Contains(hint.Text(err), tt.rejected) {
					t.Errorf("error %v, want ErrAccessDenied with %q", err, tt.rejected)
				}
				checkClean(t, err)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, blob, table := s.Address(); blob != tt.blob || table != tt.table {
				t.Errorf("blobs at %s, tables at %s, want %s, %s", blob, table, tt.blob, tt.table)
			}
			endpoint := strings.TrimSuffix(tt.blob, "/")
			if at, want := s.Location(), (store.Location{Raw: endpoint + "/logs", Compacted: endpoint + "/logs-compacted"}); at != want {
				t.Errorf("location %+v, want %+v", at, want)
			}
		})
	}
}
