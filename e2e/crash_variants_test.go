package e2e

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"logstow/internal/test/azurite"
	"logstow/internal/test/effort"
)

// TestCrashCreateOnly ships with a credential that cannot look at what it
// wrote, so that after a lost answer a batch may be stored twice under two names.
func TestCrashCreateOnly(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "kills with a signature that only creates")
	r := newRig(t, true)
	r.daemon = append(cleanEnv(t),
		"AZURE_STORAGE_ACCOUNT="+azurite.Account,
		"AZURE_STORAGE_SAS_TOKEN="+sasToken(t, "cau"),
		"AZURE_STORAGE_BLOB_ENDPOINT="+r.proxy.BlobEndpoint,
		"AZURE_STORAGE_TABLE_ENDPOINT="+r.proxy.TableEndpoint,
	)
	stop := r.write()
	bin := armedShipper(t)
	points := pointNames(t)
	for i := range max(2, crashKills(t)/10) {
		r.lossy(0.3)
		args := append(r.args(r.draw()...), r.glob())
		if i%2 == 0 {
			r.killAt(bin, 300*time.Millisecond+r.instant(), args)
		} else {
			r.killPoint(bin, points[r.rnd.IntN(len(points))], args)
		}
	}
	want := stop()
	r.settle(r.glob())
	r.check(want)
	t.Logf("faults: %v", r.proxy.Counts().Faults)
}

// sasToken signs an account SAS for blobs and tables.
// https://learn.microsoft.com/rest/api/storageservices/create-account-sas
func sasToken(t *testing.T, permissions string) string {
	t.Helper()
	const version = "2021-12-02"
	key, err := base64.StdEncoding.DecodeString(azurite.Key)
	if err != nil {
		t.Fatal(err)
	}
	start, end := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339), time.Now().Add(24*time.Hour).UTC().Format(time.RFC3339)
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(strings.Join([]string{azurite.Account, permissions, "bt", "sco", start, end, "", "http,https", version, "", ""}, "\n")))
	return url.Values{
		"sv": {version}, "ss": {"bt"}, "srt": {"sco"}, "sp": {permissions}, "st": {start}, "se": {end}, "spr": {"http,https"},
		"sig": {base64.StdEncoding.EncodeToString(mac.Sum(nil))},
	}.Encode()
}

// TestCrashConfigurationChanges starts each shipper with another bucket width,
// time zone and store: what is buffered already keeps its own.
func TestCrashConfigurationChanges(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "kills with changed settings")
	for i, name := range storeKinds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, name == "Azurite")
			stores := []string{r.store, r.store + "-b"}
			stop := r.write()
			change := func() []string {
				choose := func(values ...string) string { return values[r.rnd.IntN(len(values))] }
				return []string{
					"--bucket", choose("5m", "10m", "15m", "20m", "30m", "60m"),
					"--time-zone", choose("UTC", "Europe/Berlin", "America/St_Johns", "Asia/Kathmandu"),
					"--store", choose(stores...),
				}
			}
			r.crash(max(3, crashKills(t)/8), pointNames(t), i, change)
			want := stop()
			r.settle(append(change(), r.glob())...)
			for i, s := range stores { // neither is missing
				maps.Copy(want, r.log(i*10, i*10+10))
				r.settle("--store", s, r.glob())
			}
			r.check(want, stores...)
		})
	}
}

// TestCrashCopiedBuffer runs a buffer directory and its copy, as after a snapshot
// was restored. Nothing is lost; what was sealed is not doubled, and what was
// not is shipped by both.
func TestCrashCopiedBuffer(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "kills with a copied buffer")
	r := newRig(t, true)
	// Sealed, while storage cannot be reached.
	sealed := map[string]bool{}
	r.outage()
	logs := func(from, to int, lines map[string]bool) {
		t.Helper()
		var b strings.Builder
		for n := from; n < to; n++ {
			b.WriteString(text(7, n) + "\n")
			lines[text(7, n)] = true
		}
		appendFile(t, filepath.Join(r.logs, "app.log"), b.String())
	}
	logs(0, 3000, sealed)
	p := r.start(plain(), nil, r.args("--drain-timeout", "2s", r.glob())...)
	r.read(p, filepath.Join(r.logs, "app.log"))
	p.signal(t, os.Interrupt) // which seals everything, also what it has still to read
	p.end(t, patience)
	// Not sealed: nothing is flushed for an hour, and then killed.
	open := map[string]bool{}
	logs(3000, 3500, open)
	p = r.start(plain(), nil, r.args("--flush-interval", "1h", "--flush-size", "8MiB", "--sync", "always", "--bucket", "60m", r.glob())...)
	r.logged(text(7, 3499))
	p.kill(t)

	original := r.buffer
	copied := filepath.Join(r.root, "copy")
	if out, err := exec.Command("cp", "-a", original, copied).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v\n%s", err, out)
	}
	r.settle(r.glob())
	r.buffer = copied
	r.settle(r.glob())

	got := string(r.must(t, "logq", "query", "-s", "crash", "--from", "2000-01-01", "--to", "2100-01-01", "-o", "raw", "--no-cache"))
	counts := map[string]int{}
	for l := range strings.Lines(got) {
		counts[strings.TrimSuffix(l, "\n")]++
	}
	for _, kind := range []struct {
		lines map[string]bool
		times int
	}{{sealed, 1}, {open, 2}} {
		wrong := 0
		for l := range kind.lines {
			if counts[l] != kind.times {
				if wrong++; wrong <= 3 {
					t.Errorf("%d times, want %d: %s", counts[l], kind.times, l)
				}
			}
			delete(counts, l)
		}
	}
	for l := range maps.Keys(counts) {
		t.Errorf("never written: %q", l)
	}
}

// appendFile adds text to a file and makes it where it is missing.
func appendFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
