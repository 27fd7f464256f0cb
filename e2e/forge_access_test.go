package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"logstow/internal/test/azurite"
	"logstow/store"
	"logstow/tableindex"
)

// TestForgeAccess sends requests with the signatures of a shipper's create-only grant. Storage allows what the attacks of the other tests
// need, and refuses the rest.
func TestForgeAccess(t *testing.T) {
	t.Parallel()
	f := newForgeries(t, stageMerged, []forgingAttack{{name: "web"}, {name: "api"}})
	file := filepath.Join(t.TempDir(), "web.grant")
	f.must(t, "shipper", "grant", "--create-only", "--service", "web", "--from", f.day.Format(time.DateOnly), "--expires", "1h", "--out", file)
	text, err := os.ReadFile(file)
	var g struct {
		Blobs  string            `json:"blobs_sas"`
		Tables map[string]string `json:"tables_sas"`
	}
	if err == nil {
		err = json.Unmarshal(text, &g)
	}
	if err != nil || g.Blobs == "" {
		t.Fatalf("%v, grant:\n%.300s", err, text)
	}
	raw, compacted := f.owner.Container(), store.CompactedContainer(f.owner.Container())
	web := &forgery{forgeries: f, service: "web", honest: f.honest["web"]}
	honest, output := web.honest[0].Name, web.chain("-", 1)
	for what, c := range map[string]struct {
		method, container, name, query string
		allowed                        bool
	}{
		"create a blob":                       {http.MethodPut, raw, web.name("1030", 7), "", true},
		"create a blob of another service":    {http.MethodPut, raw, "api/2026/01/01/0000/000007.log", "", true},
		"create a marker in the raw one":      {http.MethodPut, raw, strings.TrimSuffix(output, ".log") + ".rejected", "", true},
		"overwrite a segment":                 {http.MethodPut, raw, honest, "", false},
		"overwrite the metadata of a segment": {http.MethodPut, raw, honest, "comp=metadata&", false},
		"move a segment to a tier":            {http.MethodPut, raw, honest, "comp=tier&", false},
		"lease a segment":                     {http.MethodPut, raw, honest, "comp=lease&", false},
		"read a segment":                      {http.MethodGet, raw, honest, "", false},
		"delete a segment":                    {http.MethodDelete, raw, honest, "", false},
		"list":                                {http.MethodGet, raw, "", "restype=container&comp=list&", false},
		"delete the container":                {http.MethodDelete, raw, "", "restype=container&", false},
		"create an output":                    {http.MethodPut, compacted, web.chain("-", 2), "", false},
		"create a marker":                     {http.MethodPut, compacted, strings.TrimSuffix(output, ".log") + ".rejected", "", false},
		"overwrite an output":                 {http.MethodPut, compacted, output, "", false},
		"read an output":                      {http.MethodGet, compacted, output, "", false},
		"delete an output":                    {http.MethodDelete, compacted, output, "", false},
		"list outputs":                        {http.MethodGet, compacted, "", "restype=container&comp=list&", false},
	} {
		status := f.request(c.method, c.container, c.name, c.query+g.Blobs, nil, nil, "x-ms-access-tier", "Cool", "x-ms-lease-action", "acquire", "x-ms-lease-duration", "15")
		if c.allowed != (status == http.StatusCreated) || !c.allowed && status != http.StatusForbidden {
			t.Errorf("%s: status %d", what, status)
		}
	}

	// Azure also refuses entities of other services' partitions, which Azurite does not.
	own := tableindex.TableName(raw, "", f.day)
	sas := g.Tables[own]
	if sas == "" {
		t.Fatalf("no signature of table %s in %v", own, len(g.Tables))
	}
	for what, c := range map[string]struct {
		method, table, partition string
		allowed                  bool
	}{
		"write an entity":                  {http.MethodPut, own, "web|00", true},
		"delete an entity":                 {http.MethodDelete, own, "web|00", false},
		"write an entity of an output":     {http.MethodPut, tableindex.TableName(compacted, "", f.day), "web|00", false},
		"write an entity of another class": {http.MethodPut, tableindex.TableName(raw, "audit", f.day), "web|00", false},
	} {
		status := f.entity(c.method, c.table, c.partition, "row", `{"Type":"segment"}`, sas)
		if c.allowed != (status == http.StatusNoContent) || !c.allowed && status != http.StatusForbidden {
			t.Errorf("%s: status %d", what, status)
		}
	}
	f.forged = true
	f.check("after refused requests")
	f.compact()
	f.check("compacted")
	f.checkStored("compacted", true)
}

// entity sends a request for an entity with a signature.
func (f *forgeries) entity(method, table, partition, row, body, sas string) (status int) {
	f.t.Helper()
	_, _, endpoint := f.owner.Address()
	path := fmt.Sprintf("/%s(PartitionKey='%s',RowKey='%s')", table, strings.ReplaceAll(partition, "|", "%7C"), row)
	req, err := http.NewRequestWithContext(f.t.Context(), method, endpoint+path+"?"+sas, strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	for key, value := range map[string]string{"x-ms-version": "2019-02-02", "Content-Type": "application/json", "Accept": "application/json;odata=nometadata", "DataServiceVersion": "3.0"} {
		req.Header.Set(key, value)
	}
	if method == http.MethodDelete {
		req.Header.Set("If-Match", "*")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		f.t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// TestForgeCompactedRefused reads with a credential for the raw container only. It is not as if nothing was compacted: only a container
// that does not exist means that.
func TestForgeCompactedRefused(t *testing.T) {
	t.Parallel()
	f := newForgeries(t, stagePlain, []forgingAttack{{name: "web"}})
	f.check("without a compacted container")
	f.compact()
	f.compact()
	_, blobs, tables := f.owner.Address()
	f.env = []string{
		"AZURE_STORAGE_ACCOUNT=" + azurite.Account, "AZURE_STORAGE_SAS_TOKEN=" + f.sign("rl"),
		"AZURE_STORAGE_BLOB_ENDPOINT=" + blobs, "AZURE_STORAGE_TABLE_ENDPOINT=" + tables,
	}
	day := f.day.Format(time.DateOnly)
	for _, args := range [][]string{
		{"logq", "query", "-s", "web", "--from", day},
		{"logq", "query", "--from", day, "--count"},
		{"logq", "stats", "-s", "web", "--from", day},
		{"logq", "segments"},
		{"logq", "services"},
		{"shipper", "verify"},
		{"shipper", "compact"},
		{"shipper", "retain", "--keep", "365d"},
	} {
		if r := f.command(t, nil, args...); r.status != 4 || len(r.out) > 0 && args[1] != "compact" && args[1] != "retain" {
			t.Errorf("%v: status %d, output %q, standard error:\n%s", args, r.status, r.out, r.errs)
		}
	}
}
