package azure_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logstow/internal/hint"
	"logstow/store"
	"logstow/store/azure"
)

// plain is a credential with its secrets in the open, to compare.
type plain struct {
	Account, Blob, Table, Key, SAS string
}

func reveal(c azure.Credential) plain {
	return plain{c.Account, c.BlobEndpoint, c.TableEndpoint, c.Key.Reveal(), c.SAS.Reveal()}
}

const (
	testKey = "Q0FOQVJZLWtleQ==" // CANARY-key
	testSAS = "sv=2021-12-02&ss=bt&srt=sco&sp=rl&se=2030-01-01&sig=CANARY%2Bsig%3D"
)

func TestFromEnv(t *testing.T) {
	t.Parallel()
	const blob, tables = "https://acct.blob.core.windows.net", "https://acct.table.core.windows.net"
	const devKey = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
	connection := func(s string) map[string]string {
		return map[string]string{"AZURE_STORAGE_CONNECTION_STRING": s}
	}
	tests := []struct {
		name string
		env  map[string]string
		want plain
	}{
		{
			"connection string of the portal",
			connection("DefaultEndpointsProtocol=https;AccountName=acct;AccountKey=" + testKey + ";EndpointSuffix=core.windows.net"),
			plain{"acct", blob, tables, testKey, ""},
		},
		{
			"keys in another case, spaces and an empty part",
			connection(" accountname=acct; ACCOUNTKEY=" + testKey + ";; "),
			plain{"acct", blob, tables, testKey, ""},
		},
		{
			"sovereign cloud",
			connection("DefaultEndpointsProtocol=https;AccountName=acct;AccountKey=" + testKey + ";EndpointSuffix=core.chinacloudapi.cn"),
			plain{"acct", "https://acct.blob.core.chinacloudapi.cn", "https://acct.table.core.chinacloudapi.cn", testKey, ""},
		},
		{
			"custom endpoints over http",
			connection("DefaultEndpointsProtocol=http;AccountName=acct;AccountKey=" + testKey + ";BlobEndpoint=http://127.0.0.1:1/acct/;TableEndpoint=http://127.0.0.1:2/acct"),
			plain{"acct", "http://127.0.0.1:1/acct", "http://127.0.0.1:2/acct", testKey, ""},
		},
		{
			"development storage",
			connection("UseDevelopmentStorage=true"),
			plain{"devstoreaccount1", "http://127.0.0.1:10000/devstoreaccount1", "http://127.0.0.1:10002/devstoreaccount1", devKey, ""},
		},
		{
			"connection string with a SAS and no account",
			connection("BlobEndpoint=https://acct.blob.core.windows.net/;SharedAccessSignature=" + testSAS),
			plain{"", blob, tables, "", testSAS},
		},
		{
			"connection string with an account and a SAS with a question mark",
			connection("AccountName=acct;SharedAccessSignature=?" + testSAS),
			plain{"acct", blob, tables, "", testSAS},
		},
		{
			"connection string in quotes",
			connection(`"AccountName=acct;AccountKey=` + testKey + `;EndpointSuffix=core.windows.net"`),
			plain{"acct", blob, tables, testKey, ""},
		},
		{
			"connection string in single quotes",
			connection("'AccountName=acct;AccountKey=" + testKey + ";EndpointSuffix=core.windows.net'\n"),
			plain{"acct", blob, tables, testKey, ""},
		},
		{
			"account and SAS in quotes",
			map[string]string{"AZURE_STORAGE_ACCOUNT": `"acct"`, "AZURE_STORAGE_SAS_TOKEN": "'?" + testSAS + "'"},
			plain{"acct", blob, tables, "", testSAS},
		},
		{
			"SAS whose signature has a plus sign and a blank",
			map[string]string{"AZURE_STORAGE_ACCOUNT": "acct", "AZURE_STORAGE_SAS_TOKEN": "sig=a+b c/d%2Be%20f==&sp=rl"},
			plain{"acct", blob, tables, "", "sig=a%2Bb%2Bc/d%2Be%2Bf==&sp=rl"},
		},
		{
			"connection string of a SAS",
			connection("BlobEndpoint=https://acct.blob.core.windows.net;SharedAccessSignature=" + testSAS),
			plain{"", blob, tables, "", testSAS},
		},
		{
			"connection string before all else",
			map[string]string{
				"AZURE_STORAGE_CONNECTION_STRING": "AccountName=acct;AccountKey=" + testKey,
				"AZURE_STORAGE_ACCOUNT":           "other", "AZURE_STORAGE_SAS_TOKEN": testSAS,
			},
			plain{"acct", blob, tables, testKey, ""},
		},
		{
			"account and key, the key before the SAS",
			map[string]string{"AZURE_STORAGE_ACCOUNT": "acct", "AZURE_STORAGE_KEY": testKey, "AZURE_STORAGE_SAS_TOKEN": testSAS},
			plain{"acct", blob, tables, testKey, ""},
		},
		{
			"account and SAS",
			map[string]string{"AZURE_STORAGE_ACCOUNT": "acct", "AZURE_STORAGE_SAS_TOKEN": "?" + testSAS + "\n"},
			plain{"acct", blob, tables, "", testSAS},
		},
		{
			"account alone",
			map[string]string{"AZURE_STORAGE_ACCOUNT": "acct"},
			plain{"acct", blob, tables, "", ""},
		},
		{
			"blob endpoint given, the table's beside it",
			map[string]string{"AZURE_STORAGE_ACCOUNT": "acct", "AZURE_STORAGE_BLOB_ENDPOINT": "https://acct.blob.core.usgovcloudapi.net"},
			plain{"acct", "https://acct.blob.core.usgovcloudapi.net", "https://acct.table.core.usgovcloudapi.net", "", ""},
		},
		{
			"endpoints replace a connection string's",
			map[string]string{
				"AZURE_STORAGE_CONNECTION_STRING": "AccountName=acct;AccountKey=" + testKey,
				"AZURE_STORAGE_BLOB_ENDPOINT":     "https://logs.example.com", "AZURE_STORAGE_TABLE_ENDPOINT": "https://index.example.com",
			},
			plain{"acct", "https://logs.example.com", "https://index.example.com", testKey, ""},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cred, err := azure.FromEnv(env(tt.env))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, reveal(cred)); diff != "" {
				t.Errorf("credential (-want +got):\n%s", diff)
			}
			s := openStore(t, azure.Options{Container: "logs", Credential: cred})
			if got := s.String(); got != "azblob://logs" {
				t.Errorf("String() = %q", got)
			}
		})
	}
}

// TestQuotedVariables: ignored quotes are logged when the store is opened.
func TestQuotedVariables(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, account, key, want string
	}{
		{"none", "acct", testKey, ""},
		{"both kinds", "'acct'", `"` + testKey + `"`, "AZURE_STORAGE_ACCOUNT, AZURE_STORAGE_KEY"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cred, err := azure.FromEnv(env(map[string]string{"AZURE_STORAGE_ACCOUNT": tt.account, "AZURE_STORAGE_KEY": tt.key}))
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			openStore(t, azure.Options{Container: "logs", Credential: cred, Log: slog.New(slog.NewTextHandler(&out, nil))})
			if logged := strings.Contains(out.String(), "quotes"); logged != (tt.want != "") || !strings.Contains(out.String(), tt.want) {
				t.Errorf("logged %q, want the variables %q", &out, tt.want)
			}
		})
	}
}

func TestFromEnvRejects(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		env  map[string]string
		says string
	}{
		{"nothing set", nil, "AZURE_STORAGE_ACCOUNT"},
		{"no pairs", map[string]string{"AZURE_STORAGE_CONNECTION_STRING": "CANARY"}, "key=value"},
		{"quote at the start", map[string]string{"AZURE_STORAGE_CONNECTION_STRING": `"AccountName=acct;AccountKey=` + testKey}, "quotes"},
		{"quote at the end", map[string]string{"AZURE_STORAGE_CONNECTION_STRING": "AccountName=acct;AccountKey=" + testKey + "'"}, "quotes"},
		{"value in quotes", map[string]string{"AZURE_STORAGE_CONNECTION_STRING": `AccountName="acct";AccountKey=` + testKey}, "quotes"},
		{"no secret", map[string]string{"AZURE_STORAGE_CONNECTION_STRING": "AccountName=acct"}, "AccountKey"},
		{"no account", map[string]string{"AZURE_STORAGE_CONNECTION_STRING": "AccountKey=" + testKey}, "account's name"},
		{
			"key cut short",
			map[string]string{"AZURE_STORAGE_ACCOUNT": "acct", "AZURE_STORAGE_KEY": testKey[:len(testKey)-1]},
			"not base64",
		},
		{"SAS without signature", map[string]string{"AZURE_STORAGE_ACCOUNT": "acct", "AZURE_STORAGE_SAS_TOKEN": "sv=CANARY"}, "sig="},
		{"address as account", map[string]string{"AZURE_STORAGE_ACCOUNT": "acct.blob.core.windows.net"}, "without a domain"},
		{
			"endpoint with a SAS in it",
			map[string]string{"AZURE_STORAGE_ACCOUNT": "acct", "AZURE_STORAGE_KEY": testKey, "AZURE_STORAGE_BLOB_ENDPOINT": "https://acct.blob.core.windows.net/?" + testSAS},
			"without a query",
		},
		{
			"endpoint without scheme",
			map[string]string{"AZURE_STORAGE_ACCOUNT": "acct", "AZURE_STORAGE_BLOB_ENDPOINT": "acct.blob.core.windows.net"},
			"not an http",
		},
		{
			"token to http",
			map[string]string{"AZURE_STORAGE_ACCOUNT": "acct", "AZURE_STORAGE_BLOB_ENDPOINT": "http://acct.blob.core.windows.net"},
			"https only",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cred, err := azure.FromEnv(env(tt.env))
			if !errors.Is(err, store.ErrAccessDenied) || cred != (azure.Credential{}) {
				t.Fatalf("got %+v, error %v, want ErrAccessDenied alone", reveal(cred), err)
			}
			checkClean(t, err)
			if !strings.Contains(hint.Text(err), tt.says) {
				t.Errorf("error %q does not contain %q", err, tt.says)
			}
		})
	}
}

// checkClean fails for an error with a secret of the tests in it.
func checkClean(t *testing.T, err error) {
	t.Helper()
	text := fmt.Sprintf("%v %+v %#v %s", err, err, err, hint.Text(err))
	for _, secret := range []string{"CANARY", testKey[:12], "sig=C"} {
		if strings.Contains(text, secret) {
			t.Errorf("error holds the secret %s: %s", secret, text)
		}
	}
}

func TestOpenRejects(t *testing.T) {
	t.Parallel()
	good := fromConnection(t, "AccountName=acct;AccountKey="+testKey)
	badKey := good
	badKey.Key = azure.NewSecret("CANARY!")
	for _, tt := range []struct {
		name  string
		opts  azure.Options
		class error
	}{
		{"container name", azure.Options{Container: "No", Credential: good}, store.ErrInvalid},
		{"key not base64", azure.Options{Container: "logs", Credential: badKey}, store.ErrAccessDenied},
		{"no endpoints", azure.Options{Container: "logs"}, store.ErrAccessDenied},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, err := azure.Open(t.Context(), tt.opts)
			if s != nil || !errors.Is(err, tt.class) {
				t.Errorf("got %v, error %v, want %v", s, err, tt.class)
			}
			checkClean(t, err)
		})
	}
}

func TestCheckContainer(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"abc": true, "logs-2014": true, "0a1": true, "$logs": true, strings.Repeat("a", 63): true,
		"": false, "ab": false, strings.Repeat("a", 64): false, "Logs": false, "-logs": false, "logs-": false,
		"lo--gs": false, "lo_gs": false, "lo.gs": false, "$root": false, "$web": false, "løgs": false, "lo/gs": false, "logs-compacted": false,
	} {
		if err := azure.CheckContainer(name); (err == nil) != want {
			t.Errorf("CheckContainer(%q) = %v, want valid %v", name, err, want)
		}
	}
}

func TestSecretIsNeverPrinted(t *testing.T) {
	t.Parallel()
	opts := azure.Options{Credential: azure.Credential{Account: "acct", Key: azure.NewSecret("CANARY")}}
	hidden := struct{ inner azure.Options }{opts}
	var out bytes.Buffer
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&out, format+"\n", opts.Credential.Key)
		fmt.Fprintf(&out, format+"\n", opts)
		fmt.Fprintf(&out, format+"\n", &opts)
		fmt.Fprintf(&out, format+"\n", hidden)
	}
	encoded, err := json.Marshal(opts.Credential)
	if err != nil {
		t.Fatal(err)
	}
	out.Write(encoded)
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "key", opts.Credential.Key, "options", opts)
	for _, secret := range []string{"CANARY", fmt.Sprintf("%x", "CANARY")} {
		if strings.Contains(out.String(), secret) {
			t.Errorf("secret in output:\n%s", &out)
		}
	}
	if !strings.Contains(out.String(), "[redacted]") {
		t.Errorf("nothing is redacted:\n%s", &out)
	}
}

func FuzzConnectionString(f *testing.F) {
	f.Add("DefaultEndpointsProtocol=https;AccountName=acct;AccountKey=" + testKey + ";EndpointSuffix=core.windows.net")
	f.Add("BlobEndpoint=https://acct.blob.core.windows.net/;SharedAccessSignature=" + testSAS)
	f.Add("UseDevelopmentStorage=true")
	f.Add(";=;==;AccountName")
	f.Fuzz(func(t *testing.T, connection string) {
		cred, err := azure.FromEnv(env(map[string]string{"AZURE_STORAGE_CONNECTION_STRING": connection}))
		if err != nil {
			return
		}
		// What is accepted opens, or is for another container.
		s, err := azure.Open(t.Context(), azure.Options{Container: "logs", Credential: cred})
		if err != nil && strings.Contains(err.Error(), "is not the container logs") {
			return
		}
		if err != nil {
			t.Fatalf("accepted, but does not open: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
