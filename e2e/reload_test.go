package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"logstow/internal/test/await"
)

// TestReload changes the configuration of a shipper that is running, again and again
// while files are written and rotated: inputs leave and come back, the store
// changes, a file is wrong, and at times the shipper is killed. Each line is found
// exactly once.
func TestReload(t *testing.T) {
	t.Parallel()
	r := newRig(t, false)
	stores := []string{r.store, filepath.Join(r.root, "other")}
	file := filepath.Join(r.root, "shipper.yaml")
	configure := func(store string, inputs int) {
		t.Helper()
		var b strings.Builder
		fmt.Fprintf(&b, "store: %s\nservice: crash\ninstance: pod-1\nflush-interval: 200ms\nflush-size: 16KiB\nbucket: 5m\nbuffer: { dir: %s }\ninputs:\n", store, r.buffer)
		for id := range rotations {
			if inputs&(1<<id) != 0 {
				fmt.Fprintf(&b, "  - files: %q\n    name: app-%d\n    from-start: true\n", filepath.Join(r.logs, fmt.Sprintf("app-%d", id), "*.log*"), id)
			}
		}
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all := 1<<len(rotations) - 1
	configure(stores[0], all)
	stop := r.write()
	start := func() *process {
		p := r.start(plain(), nil, "run", "--config", file)
		await.Until(t, patience, "it starts", p.started)
		return p
	}
	p := start()
	kills, taken, refused := 0, 0, 0
	for range 20 {
		time.Sleep(r.instant()) // it is reloaded, or killed, at any moment
		var want string
		switch r.rnd.IntN(5) {
		case 0:
			if err := os.WriteFile(file, []byte("store: x\ninputs:\n  - fils: a\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			want = "reload rejected"
			refused++
		case 1:
			p.kill(t)
			kills++
			configure(stores[r.rnd.IntN(2)], all)
			p = start()
			continue
		default:
			configure(stores[r.rnd.IntN(2)], 1+r.rnd.IntN(all))
			want = "configuration reloaded"
			taken++
		}
		had := p.count(want)
		p.signal(t, syscall.SIGHUP)
		await.Until(t, patience, want, func() bool { return p.count(want) > had })
	}
	lines := stop()
	p.signal(t, syscall.SIGTERM)
	p.end(t, patience)
	configure(stores[0], all)
	p = r.start(plain(), nil, "run", "--config", file, "--once", "--retry-for", "60s")
	p.end(t, patience)
	if p.status() != 0 {
		t.Fatalf("the last run ended with status %d, output:\n%s", p.status(), p.tail())
	}
	r.check(lines, stores...)
	t.Logf("%d lines, %d configurations taken, %d refused, %d kills", len(lines), taken, refused, kills)
}
