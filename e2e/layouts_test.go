package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"          //nolint:depguard // store/azure writes no append blobs
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"            //nolint:depguard // as above
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/appendblob" //nolint:depguard // as above
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"  //nolint:depguard // as above

	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
)

// auditHour is the start of the hour h of the blobs of diagnostic settings.
func auditHour(h int) time.Time { return time.Date(2026, 11, 27, h, 0, 0, 0, time.UTC) }

// auditName is the name of the blob of an hour.
func auditName(h int) string {
	return auditHour(h).Format("resourceId=/SUBSCRIPTIONS/A/SITES/SHOP/y=2006/m=01/d=02/h=15/m=00/") + "PT1H.json"
}

// auditLines are records of an hour with numbers from one to another.
func auditLines(h, from, to int) []byte {
	var text []byte
	for n := from; n < to; n++ {
		at := auditHour(h).Add(time.Duration(n%3600) * time.Second)
		text = fmt.Appendf(text, `{"time":"%s","resourceId":"/A/SITES/SHOP","level":"Warning","properties":"{\"h\":%d,\"n\":%d}"}`+"\r\n", at.Format(time.RFC3339), h, n)
	}
	return text
}

// writeAudit writes a blob of an hour to a directory.
func writeAudit(t *testing.T, dir string, h int, text []byte) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(auditName(h)))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// numbers are how often each number of an hour was found.
func numbers(t *testing.T, out []byte) map[[2]int]int {
	t.Helper()
	found := map[[2]int]int{}
	for line := range bytes.Lines(out) {
		var one struct{ Properties struct{ H, N int } }
		if err := json.Unmarshal(line, &one); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		found[[2]int{one.Properties.H, one.Properties.N}]++
	}
	return found
}

// checkOnce reports numbers that are missing or occur several times; sizes has how many each hour has.
func checkOnce(t *testing.T, out []byte, sizes map[int]int) {
	t.Helper()
	found := numbers(t, out)
	want := 0
	for h, n := range sizes {
		want += n
		for i := range n {
			if found[[2]int{h, i}] != 1 {
				t.Fatalf("record %d of hour %d occurs %d times", i, h, found[[2]int{h, i}])
			}
		}
	}
	if len(found) != want {
		t.Fatalf("%d records, want %d", len(found), want)
	}
}

// An import that is killed anywhere copies each record once, so does one of blobs that have grown; a second one copies nothing.
func TestImportKilled(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	dir := filepath.Join(t.TempDir(), "insights-logs-audit")
	s := target{name: "local", store: filepath.Join(t.TempDir(), "store")}
	buffer := filepath.Join(t.TempDir(), "buffer")
	sizes := map[int]int{}
	lines := effort.Cases{Test: 1000, Full: 2000}.N()
	for h := range 24 {
		sizes[h] = lines + 2*lines*(h%3)
		writeAudit(t, dir, h, auditLines(h, 0, sizes[h]))
	}
	args := []string{
		"import", "--layout", "azure", "--from-store", dir, "--from", "2026-11-27T00:00Z", "--to", "2026-11-28T00:00Z", "--store", s.store, "--buffer-dir", buffer, "--flush-size", "20kB",
	}
	run := func(wait time.Duration) string {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		defer cancel()
		cmd := exec.CommandContext(ctx, programPath("shipper"), args...) // it is killed at the end of ctx
		var errs bytes.Buffer
		cmd.Env, cmd.Stderr = cleanEnv(t), &errs
		if err := cmd.Run(); err != nil && ctx.Err() == nil {
			t.Fatalf("%v: %s", err, errs.String())
		}
		return errs.String()
	}
	everything := []string{"logq", "query", "--store", s.store, "--from", "2026-11-27T00:00Z", "--to", "2026-11-28T00:00Z", "-o", "raw"}
	kills := effort.Cases{Test: 4, Full: 20}.N()
	for range kills {
		run(time.Duration(20+rnd.IntN(600)) * time.Millisecond)
	}
	if errs := run(5 * time.Minute); !strings.Contains(errs, "import") {
		t.Errorf("it reports %s", errs)
	}
	checkOnce(t, s.command(t, nil, everything...).out, sizes)
	if errs := run(5 * time.Minute); !strings.Contains(errs, "nothing to import") {
		t.Errorf("a second import reports %s", errs)
	}
	checkOnce(t, s.command(t, nil, everything...).out, sizes)
	for h := 3; h < 6; h++ {
		sizes[h] += 100
		writeAudit(t, dir, h, auditLines(h, 0, sizes[h]))
	}
	if errs := run(5 * time.Minute); !strings.Contains(errs, `"records":300,`) {
		t.Errorf("an import of what was appended reports %s", errs)
	}
	checkOnce(t, s.command(t, nil, everything...).out, sizes)
	writeAudit(t, dir, 5, auditLines(5, 1, sizes[5]+100))
	if r := s.command(t, nil, append([]string{"shipper"}, args...)...); r.status != 3 || !strings.Contains(r.errs, "rewritten") {
		t.Errorf("an import of a rewritten blob ends with %d: %s", r.status, r.errs)
	}
	checkOnce(t, s.command(t, nil, everything...).out, sizes)
}

// Append blobs of several containers are read where they are, and imported.
func TestLayoutOnAzure(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "creates 144 append blobs")
	s := azuriteTarget(t)
	client, err := azblob.NewClientFromConnectionString(strings.TrimPrefix(s.env[0], "AZURE_STORAGE_CONNECTION_STRING="), nil)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"insights-logs-" + strings.ToLower(t.Name()) + "-a", "insights-logs-" + strings.ToLower(t.Name()) + "-b"}
	for _, name := range names {
		if _, err := client.CreateContainer(t.Context(), name, nil); err != nil {
			t.Fatal(err)
		}
		in := client.ServiceClient().NewContainerClient(name)
		for h := range 24 {
			for part := range 3 {
				appendTo(t, in, auditName(h), auditLines(h, 10*part, 10*part+10))
			}
		}
	}
	prefix := "azblob://insights-logs-" + strings.ToLower(t.Name()) + "*"
	hour := []string{"--layout", "azure", "--store", prefix, "--no-cache", "--from", "2026-11-27T15:00Z", "--to", "2026-11-27T16:00Z"}
	r := s.command(t, nil, append([]string{"logq", "stats", "--by", "service,level", "-o", "csv", "--explain"}, hour...)...)
	if want := "-a,WARN,30\n"; r.status != 0 || strings.Count(string(r.out), ",WARN,30") != 2 {
		t.Errorf("status %d, %s, want %q: %s", r.status, r.out, want, r.errs)
	}
	if !strings.Contains(r.errs, "4 get") || strings.Contains(r.errs, "at no cost") && !strings.Contains(r.errs, "$") {
		t.Errorf("two hours of two containers were explained as %s", r.errs)
	}
	r = s.command(t, nil, append([]string{"logq", "query", "--where", "properties.n == 7", "-o", "raw"}, hour...)...)
	if found := numbers(t, r.out); r.status != 0 || found[[2]int{15, 7}] != 2 || len(found) != 1 {
		t.Errorf("status %d, %v: %s", r.status, found, r.errs)
	}
	r = s.command(t, nil, "shipper", "import", "--layout", "azure", "--from-store", "azblob://"+names[0], "--from", "2026-11-27T00:00Z", "--to", "2026-11-28T00:00Z", "--buffer-dir", filepath.Join(t.TempDir(), "buffer"))
	if r.status != 0 {
		t.Fatalf("import ends with %d: %s", r.status, r.errs)
	}
	sizes := map[int]int{}
	for h := range 24 {
		sizes[h] = 30
	}
	r = s.command(t, nil, "logq", "query", "--no-cache", "--from", "2026-11-27T00:00Z", "--to", "2026-11-28T00:00Z", "-o", "raw")
	checkOnce(t, r.out, sizes)
	r = s.command(t, nil, "logq", "query", "--store", "azblob://"+names[0], "--no-cache", "--from", "2026-11-27T15:00Z", "--to", "2026-11-27T16:00Z")
	if r.status != 1 || !strings.Contains(r.errs, "--layout azure") {
		t.Errorf("without --layout it ends with %d: %s", r.status, r.errs)
	}
}

// appendTo appends to an append blob, which it creates.
func appendTo(t *testing.T, in *container.Client, name string, text []byte) {
	t.Helper()
	blob := in.NewAppendBlobClient(name)
	if _, err := blob.GetProperties(t.Context(), nil); err != nil {
		if _, err := blob.Create(t.Context(), &appendblob.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := blob.AppendBlock(t.Context(), streaming.NopCloser(bytes.NewReader(text)), nil); err != nil {
		t.Fatal(err)
	}
}
