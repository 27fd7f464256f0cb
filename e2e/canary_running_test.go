package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"logstow/internal/test/await"
	"logstow/internal/test/azurite"
	"logstow/internal/test/effort"
)

// TestCanaryRunning lets a shipper that is at work meet faults, an outage and a wrong
// configuration, with a credential that storage takes: the account's key, and the
// signatures of a grant. Neither is in its log, metrics, status or files.
func TestCanaryRunning(t *testing.T) {
	effort.Need(t, effort.Full, "two outages")
	t.Parallel()
	r := newRig(t, true)
	r.must(t, "shipper", "run", "--once", "--service", "crash", "--buffer", "memory", r.line("first.log")) // makes the container
	grant := filepath.Join(r.root, "crash.grant")
	r.must(t, "shipper", "grant", "--service", "crash", "--create-only", "--expires", "1h", "--hierarchical", "no",
		"--from", "2026-11-20", "--to", "2026-11-21", "--out", grant)
	text, err := os.ReadFile(grant)
	if err != nil {
		t.Fatal(err)
	}
	secrets := append(signatures(t, text), azurite.Key, azurite.Key[:20])
	if len(secrets) < 4 {
		t.Fatalf("%d secrets in\n%s", len(secrets), text)
	}
	for name, store := range map[string]string{"key": r.store, "grant": "grant://" + grant} {
		out := r.shipThroughFaults(name, store)
		for _, secret := range secrets {
			if strings.Contains(out, secret) {
				t.Errorf("with a %s the shipper logs a secret:\n%s", name, out)
			}
		}
		noSecret(t, filepath.Join(r.root, name), secrets...)
	}
}

// line makes a file with a line.
func (r *rig) line(name string) string {
	r.t.Helper()
	path := filepath.Join(r.root, name)
	if err := os.WriteFile(path, []byte("2026-11-20T15:04:05Z INFO hello from "+name+"\n"), 0o600); err != nil {
		r.t.Fatal(err)
	}
	return path
}

// shipThroughFaults runs a shipper through faults, and returns all that it shows.
func (r *rig) shipThroughFaults(name, store string) string {
	t := r.t
	t.Helper()
	dir := filepath.Join(r.root, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "shipper.yaml")
	configure := func(more string) {
		t.Helper()
		config := "store: " + store + "\nservice: crash\nflush-interval: 200ms\nbuffer: { dir: " + filepath.Join(dir, "buffer") + " }\n" +
			"inputs:\n  - files: " + filepath.Join(dir, "*.log") + "\n    from-start: true\n" + more
		if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	configure("")
	p := r.start(plain(), nil, "run", "--config", file, "--metrics", "127.0.0.1:0")
	metrics := "http://" + p.address(t, "serving metrics")
	stored := func(n string) func() bool {
		return func() bool {
			_, text := get(t, metrics+"/metrics")
			return strings.Contains(text, `logstow_output_records_total{service="crash"} `+n+"\n")
		}
	}
	var shown strings.Builder
	look := func() {
		t.Helper()
		for _, path := range []string{"/metrics", "/healthz", "/readyz"} {
			_, text := get(t, metrics+path)
			shown.WriteString(text)
		}
		status := r.command(t, nil, "shipper", "status", "--buffer-dir", filepath.Join(dir, "buffer"), "-o", "json")
		shown.Write(status.out)
		shown.WriteString(status.errs)
	}
	r.line(filepath.Join(name, "a.log"))
	await.Until(t, patience, "a record is stored", stored("1"))
	r.outage()
	r.line(filepath.Join(name, "b.log"))
	await.Until(t, patience, "the outage is logged", func() bool { return p.count("failed, retrying") > 0 })
	look()
	configure("  - unknown: x\n")
	p.signal(t, syscall.SIGHUP)
	await.Until(t, patience, "the configuration is rejected", func() bool { return p.count("reload rejected") > 0 })
	r.faults(0.4)
	r.line(filepath.Join(name, "c.log"))
	await.Until(t, patience, "all is stored", stored("3"))
	look()
	r.faults(0)
	p.signal(t, syscall.SIGTERM)
	p.end(t, patience)
	p.mu.Lock()
	defer p.mu.Unlock()
	return shown.String() + p.out.String()
}

// signatures are those of a grant, as they are written and as they are decoded.
func signatures(t *testing.T, grant []byte) (all []string) {
	t.Helper()
	var found func(any)
	found = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, one := range v {
				found(one)
			}
		case []any:
			for _, one := range v {
				found(one)
			}
		case string:
			if _, sig, ok := strings.Cut(v, "sig="); ok {
				sig, _, _ = strings.Cut(sig, "&")
				all = append(all, sig)
			}
		}
	}
	var content any
	if err := json.Unmarshal(grant, &content); err != nil {
		t.Fatal(err)
	}
	found(content)
	return all
}
