package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"logstow/internal/test/azurite"
)

// TestGrant ships, grants the service to a reader that has nothing else, and queries with it.
func TestGrant(t *testing.T) {
	t.Parallel()
	s := azuriteTarget(t)
	line := time.Now().UTC().Format(time.RFC3339) + " ERROR out of cheese\n"
	s.ship(t, "api", line)
	file := filepath.Join(t.TempDir(), "api.grant")
	r := s.command(t, nil, "shipper", "grant", "--service", "api", "--expires", "8h", "--out", file)
	if r.status != 0 || len(r.out) != 0 || !strings.Contains(r.errs, "reads blobs under api/") || strings.Contains(r.errs, "sig=") {
		t.Fatalf("status %d, output %q, standard error:\n%s", r.status, r.out, r.errs)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v, want 0600", info.Mode(), err)
	}
	text, err := os.ReadFile(file)
	var g struct{ From, To, Expires time.Time }
	if err != nil || json.Unmarshal(text, &g) != nil || !g.To.Truncate(time.Second).Equal(g.Expires) || time.Since(g.From).Round(time.Hour) != 7*24*time.Hour {
		t.Errorf("%v, from %v to %v, ends %v", err, g.From, g.To, g.Expires)
	}
	reader := s
	reader.env, reader.store = nil, ""
	for _, args := range [][]string{{"logq", "query", "--grant", file, "cheese"}, {"logq", "query", "--grant", file, "-s", "api", "--plan", "index"}} {
		if got := reader.command(t, nil, args...); got.status != 0 || !strings.Contains(string(got.out), "out of cheese") {
			t.Errorf("%v: status %d, output %q, standard error:\n%s", args, got.status, got.out, got.errs)
		}
	}
	if got := reader.command(t, nil, "logq", "query", "--grant", file, "-s", "billing"); got.status != 4 || !strings.Contains(got.errs, "is for api/ only") {
		t.Errorf("another service: status %d, standard error:\n%s", got.status, got.errs)
	}
	for _, args := range [][]string{{"-s", "api-v2"}, {"--plan", "index", "-s", "api-v2"}, {"--plan", "index", "--since", "30d"}} {
		if got := reader.command(t, nil, append([]string{"logq", "query", "--grant", file}, args...)...); got.status != 4 || len(got.out) != 0 || !strings.Contains(got.errs, " only") {
			t.Errorf("%v, outside of the grant: status %d, output %q, standard error:\n%s", args, got.status, got.out, got.errs)
		}
	}
	// Ended: what was true until then is not reported for then.
	if r := s.command(t, nil, "shipper", "grant", "--service", "api", "--expires", "5s", "--out", file+"3"); r.status != 0 {
		t.Fatalf("status %d, standard error:\n%s", r.status, r.errs)
	}
	var ended struct{ Expires time.Time }
	if text, err := os.ReadFile(file + "3"); err != nil || json.Unmarshal(text, &ended) != nil || strings.Contains(string(text), `\u0026`) {
		t.Fatalf("%v, the grant reads:\n%s", err, text)
	}
	<-time.After(time.Until(ended.Expires) + time.Second) // storage's clock is what counts
	for _, args := range [][]string{{"query"}, {"query", "-s", "api", "--count"}, {"services"}, {"segments"}, {"stats"}} {
		got := reader.command(t, nil, append(append([]string{"logq"}, args...), "--grant", file+"3")...)
		if got.status != 4 || !strings.Contains(got.errs, "expired at "+ended.Expires.Format(time.RFC3339)) {
			t.Errorf("%v with an ended grant: status %d, output %q, standard error:\n%s", args, got.status, got.out, got.errs)
		}
	}
	// A second service in the container: no grant, but what to do.
	s.ship(t, "billing", line)
	r = s.command(t, nil, "shipper", "grant", "--service", "api", "--expires", "8h", "--out", file+"2")
	if r.status != 4 || !strings.Contains(r.errs, "\naz role assignment create") || !strings.Contains(r.errs, "StringStartsWith 'api/'") {
		t.Errorf("status %d, standard error:\n%s", r.status, r.errs)
	}
	if _, err := os.Stat(file + "2"); err == nil {
		t.Error("a file was written")
	}
}

// TestGrantCreateOnly ships with a grant that can do nothing else. Azurite takes no
// transactions with a table's signature: rows are looked at in package grant.
func TestGrantCreateOnly(t *testing.T) {
	t.Parallel()
	s := azuriteTarget(t)
	s.ship(t, "billing", time.Now().UTC().Format(time.RFC3339)+" INFO of another service\n")
	r := s.command(t, nil, "shipper", "grant", "--create-only", "--service", "api", "--expires", "8h", "--out", "-")
	if r.status != 0 || !strings.Contains(r.errs, "can neither read nor change") {
		t.Fatalf("status %d, standard error:\n%s", r.status, r.errs)
	}
	var g map[string]any
	if err := json.Unmarshal(r.out, &g); err != nil {
		t.Fatal(err)
	}
	delete(g, "tables_sas")
	text, err := json.Marshal(g)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "api.grant")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	shipper := s
	shipper.env, shipper.store = nil, "grant://"+file
	if got := shipper.command(t, nil, "shipper", "check", "--service", "api", "-"); got.status != 0 || !strings.Contains(string(got.out), "can neither read nor change") {
		t.Errorf("check: status %d, output %q, standard error:\n%s", got.status, got.out, got.errs)
	}
	if got := shipper.command(t, nil, "shipper", "check", "--service", "billing", "-"); got.status == 0 || !strings.Contains(got.errs, "is for service api, not for billing") {
		t.Errorf("check of another service: status %d, output %q, standard error:\n%s", got.status, got.out, got.errs)
	}
	line := time.Now().UTC().Format(time.RFC3339) + " INFO shipped with a grant\n"
	r = shipper.command(t, strings.NewReader(line), "shipper", "run", "--once", "--retry-for", "3s", "--service", "api", "-")
	if !strings.Contains(r.errs, "found by listing") || strings.Contains(r.errs, "sig=") {
		t.Errorf("status %d, standard error:\n%s", r.status, r.errs)
	}
	if got := s.command(t, nil, "logq", "query", "-s", "api"); got.status != 0 || !strings.Contains(string(got.out), "shipped with a grant") {
		t.Errorf("status %d, output %q, standard error:\n%s", got.status, got.out, got.errs)
	}
	if got := shipper.command(t, nil, "logq", "query", "-s", "api"); got.status != 4 || strings.Contains(got.errs, "sig=") {
		t.Errorf("read: status %d, standard error:\n%s", got.status, got.errs)
	}
}

// TestTwoAccounts ships from several instances to containers of the same name in two
// accounts, each with its own key, and queries both. Azurite reads its accounts from the
// environment, so this test cannot run beside others.
func TestTwoAccounts(t *testing.T) {
	t.Setenv("AZURITE_ACCOUNTS", "one:"+azurite.Key+";two:"+azurite.Key)
	a := azurite.Start(t, "--loose")
	s := target{name: "azurite"}
	for _, account := range []string{"one", "two"} {
		connection := strings.ReplaceAll(a.ConnectionString(), azurite.Account, account)
		s.env = append(s.env, "AZURE_STORAGE_CONNECTION_STRING_"+strings.ToUpper(account)+"="+connection)
	}
	stores := []string{"azblob://logs?account=one", "azblob://logs?account=two"}
	config := filepath.Join(t.TempDir(), "shipper.yaml")
	if err := os.WriteFile(config, []byte("store: [\""+strings.Join(stores, "\", \"")+"\"]\nservice: api\ninputs:\n  - stdin: true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const instances = 8
	for i := range instances {
		line := fmt.Sprintf("2026-11-20T15:04:0%dZ INFO from %d\n", i, i)
		r := s.command(t, strings.NewReader(line), "shipper", "run", "--once", "--config", config, "--instance", fmt.Sprintf("pod-%d", i), "--buffer-dir", filepath.Join(t.TempDir(), "b"))
		if r.status != 0 {
			t.Fatalf("status %d: %s", r.status, r.errs)
		}
	}
	ask := func(stores ...string) int {
		args := []string{"logq", "query", "-s", "api", "--from", "2026-11-20", "--to", "2026-11-21", "-o", "raw"}
		for _, spec := range stores {
			args = append(args, "--store", spec)
		}
		return strings.Count(string(s.must(t, args...)), "\n")
	}
	one, two := ask(stores[0]), ask(stores[1])
	if both := ask(stores...); both != instances || one+two != instances || one == 0 || two == 0 {
		t.Errorf("%d in one account, %d in the other, %d in both, want %d", one, two, both, instances)
	}
	refusedStore(t, s, stores)
}

// refusedStore runs all queries on both stores and on one between them for which there is
// no credential: it is named, it is the exit status, and the others answer.
func refusedStore(t *testing.T, s target, stores []string) {
	t.Helper()
	const refused = "azblob://logs?account=three"
	s.env = append(slices.Clone(s.env), "AZURE_STORAGE_ACCOUNT=one", "AZURE_STORAGE_KEY=a2V5") // which is for no other account
	all := []string{"--store", stores[0], "--store", refused, "--store", stores[1]}
	day := []string{"--from", "2026-11-20", "--to", "2026-11-21"}
	for _, tt := range []struct {
		args   []string
		status int
		want   string // "" is looked at below
	}{
		{append([]string{"logq", "query", "-o", "raw"}, day...), 3, ""},
		{append([]string{"logq", "query", "--count"}, day...), 3, "8\n"},
		{append([]string{"logq", "query", "--count", "--plan", "index"}, day...), 3, "8\n"},
		{append([]string{"logq", "stats", "--by", "service", "-o", "csv"}, day...), 3, "service,count\napi,8\n"},
		{[]string{"logq", "services"}, 3, "api\n"},
		{[]string{"logq", "segments"}, 3, ""},
		{[]string{"shipper", "verify"}, 4, ""},
		{[]string{"shipper", "reindex"}, 4, ""},
		{[]string{"shipper", "retain", "--keep", "30000d"}, 4, ""},
	} {
		r := s.command(t, nil, append(append([]string{}, tt.args...), all...)...)
		said := string(r.out) + r.errs
		if r.status != tt.status || !strings.Contains(r.errs, refused) || !strings.Contains(r.errs, "AZURE_STORAGE_KEY_THREE") || tt.want != "" && string(r.out) != tt.want {
			t.Errorf("%v: status %d, output:\n%s", tt.args, r.status, said)
		}
		switch tt.args[1] {
		case "query":
			if lines := strings.Split(strings.TrimSpace(string(r.out)), "\n"); tt.want == "" && (len(lines) != 8 || !slices.IsSorted(lines)) {
				t.Errorf("not in order of time:\n%s", r.out)
			}
		case "segments":
			// One instance a segment, and in both stores the names begin at 000001.
			if n := strings.Count(string(r.out), "api/2026/11/20/1500/000001.log"); n != 2 || !strings.Contains(string(r.out), "STORE") {
				t.Errorf("%d segments of the same name:\n%s", n, r.out)
			}
		case "verify", "reindex", "retain":
			for _, store := range stores {
				if !strings.Contains(said, store+": ") {
					t.Errorf("%s: nothing of %s:\n%s", tt.args[1], store, said)
				}
			}
		}
	}
}
