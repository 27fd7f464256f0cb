package azure_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logstow/internal/hint"
	"logstow/store"
	"logstow/store/azure"
)

// chosen is a credential as far as its kind is concerned.
type chosen struct {
	Account, Blob, Key, SAS, SASFile string
	Auth                             azure.Auth
	Client                           string
}

func TestAuth(t *testing.T) {
	t.Parallel()
	const blob = "https://acct.blob.core.windows.net"
	all := map[string]string{
		"AZURE_STORAGE_ACCOUNT": "acct", "AZURE_STORAGE_KEY": testKey, "AZURE_STORAGE_SAS_TOKEN": testSAS,
		"AZURE_CLIENT_ID": "client",
	}
	connection := map[string]string{
		"AZURE_STORAGE_CONNECTION_STRING": "AccountName=acct;AccountKey=" + testKey + ";SharedAccessSignature=" + testSAS + ";EndpointSuffix=core.chinacloudapi.cn",
		"AZURE_STORAGE_ACCOUNT":           "other",
	}
	const china = "https://acct.blob.core.chinacloudapi.cn"
	tests := []struct {
		name, auth string
		env        map[string]string
		want       chosen
	}{
		{"all", "", all, chosen{"acct", blob, testKey, "", "", azure.AuthAuto, ""}},
		{"all", "auto", all, chosen{"acct", blob, testKey, "", "", azure.AuthAuto, ""}},
		{"all", "KEY", all, chosen{"acct", blob, testKey, "", "", azure.AuthKey, ""}},
		{"all", "sas", all, chosen{"acct", blob, "", testSAS, "", azure.AuthSAS, ""}},
		{"all", "msi", all, chosen{"acct", blob, "", "", "", azure.AuthMSI, "client"}},
		{"all", "workload", all, chosen{"acct", blob, "", "", "", azure.AuthWorkload, "client"}},
		{"all", "cli", all, chosen{"acct", blob, "", "", "", azure.AuthCLI, "client"}},
		{"connection string", "", connection, chosen{"acct", china, testKey, "", "", azure.AuthAuto, ""}},
		{"connection string", "sas", connection, chosen{"acct", china, "", testSAS, "", azure.AuthSAS, ""}},
		{"connection string", "cli", connection, chosen{"acct", china, "", "", "", azure.AuthCLI, ""}},
		{
			"file before text", "",
			map[string]string{"AZURE_STORAGE_ACCOUNT": "acct", "AZURE_STORAGE_SAS_TOKEN": testSAS, "AZURE_STORAGE_SAS_TOKEN_FILE": "/sas"},
			chosen{"acct", blob, "", "", "/sas", azure.AuthAuto, ""},
		},
		{
			"connection string without a secret", "msi",
			map[string]string{"AZURE_STORAGE_CONNECTION_STRING": "AccountName=acct"},
			chosen{"acct", blob, "", "", "", azure.AuthMSI, ""},
		},
		{
			"connection string of an address, a file beside it", "sas",
			map[string]string{"AZURE_STORAGE_CONNECTION_STRING": "BlobEndpoint=" + blob, "AZURE_STORAGE_SAS_TOKEN_FILE": "/sas"},
			chosen{"", blob, "", "", "/sas", azure.AuthSAS, ""},
		},
		{
			"endpoint suffix", "cli",
			map[string]string{"AZURE_STORAGE_ACCOUNT": "acct", "AZURE_STORAGE_ENDPOINT_SUFFIX": "core.usgovcloudapi.net"},
			chosen{"acct", "https://acct.blob.core.usgovcloudapi.net", "", "", "", azure.AuthCLI, ""},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name+"/"+tt.auth, func(t *testing.T) {
			t.Parallel()
			cred, err := azure.FromEnv(func(name string) string {
				if name == azure.AuthEnv {
					return tt.auth
				}
				return tt.env[name]
			})
			if err != nil {
				t.Fatal(err)
			}
			got := chosen{
				cred.Account, cred.BlobEndpoint, cred.Key.Reveal(), cred.SAS.Reveal(), cred.SASFile, cred.Auth, cred.Identity.ClientID,
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("credential (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAuthRejects(t *testing.T) {
	t.Parallel()
	account := map[string]string{"AZURE_STORAGE_ACCOUNT": "acct"}
	tests := []struct {
		auth string
		env  map[string]string
		says string
	}{
		{"kerberos", account, "want auto, key, sas, msi, workload or cli"},
		{"key", map[string]string{"AZURE_STORAGE_ACCOUNT": "acct", "AZURE_STORAGE_SAS_TOKEN": testSAS}, "AZURE_STORAGE_KEY"},
		{"sas", map[string]string{"AZURE_STORAGE_ACCOUNT": "acct", "AZURE_STORAGE_KEY": testKey}, "AZURE_STORAGE_SAS_TOKEN_FILE"},
		{"sas", map[string]string{"AZURE_STORAGE_CONNECTION_STRING": "AccountName=acct;AccountKey=" + testKey}, "SharedAccessSignature"},
		{"msi", map[string]string{"AZURE_STORAGE_KEY": testKey}, "AZURE_STORAGE_ACCOUNT"},
	}
	for _, tt := range tests {
		t.Run(tt.auth, func(t *testing.T) {
			t.Parallel()
			_, err := azure.FromEnv(func(name string) string {
				if name == azure.AuthEnv {
					return tt.auth
				}
				return tt.env[name]
			})
			if !errors.Is(err, store.ErrAccessDenied) || !strings.Contains(hint.Text(err), tt.says) {
				t.Errorf("got %v, want ErrAccessDenied and %q", err, tt.says)
			}
			checkClean(t, err)
		})
	}
}
