package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"logstow/internal/test/await"
)

// TestRelayWatch follows services whose shippers send to two relays, all with a flush interval of an hour: lines are printed soon, and
// --fresh has the lines of all senders that were written before, also after a relay was killed.
func TestRelayWatch(t *testing.T) {
	t.Parallel()
	w := newWatched(t, false, watchedRun{shippers: 4, flush: time.Hour})
	w.date(time.Minute)
	w.must(t, "shipper", "run", "--once", "--service", "other", "--instance", "pod", "--buffer-dir", w.buffer, w.file("other.log", "the store exists\n"))
	ports := freeAddresses(t, 2)
	startRelay := func(i int) *process {
		return w.start(plain(), nil, "run", "--relay", ports[i], "--store", w.store, "--instance", fmt.Sprintf("relay-%d", i), "--flush-interval", w.flush.String(),
			"--watch-interval", "1s", "--buffer-dir", filepath.Join(w.root, fmt.Sprintf("relay-%d", i), "buffer"))
	}
	relays := []*process{startRelay(0), startRelay(1)}
	for i := range w.shippers {
		w.write(i)
		w.processes = append(w.processes, w.start(plain(), nil, "run", "--from-start", "--store", "relay://"+strings.Join(ports, ","), "--service", fmt.Sprintf("watched-%d", i%2),
			"--instance", fmt.Sprintf("pod-%d", i), "--flush-interval", w.flush.String(), "--watch-interval", "1s",
			"--buffer-dir", filepath.Join(w.root, fmt.Sprintf("shipper-%d", i), "buffer"), w.path(i)))
	}
	for _, p := range append(w.processes, relays...) {
		await.Until(t, patience, "a shipper runs", func() bool { return strings.Contains(p.tail(), `"msg":"started"`) })
	}
	stop := w.follow()
	w.awaitAll()
	for range 2 {
		for i := range w.shippers {
			w.write(i)
		}
		w.awaitAll()
	}
	stop()
	relays[0].kill(t)
	relays[0] = startRelay(0)
	await.Until(t, patience, "the relay is back", func() bool { return strings.Contains(relays[0].tail(), `"msg":"started"`) })
	for i := range w.shippers {
		w.write(i)
	}
	time.Sleep(200 * time.Millisecond) // until the senders have read them
	r := w.command(t, nil, "logq", "query", "-s", "watched-*", "--fresh", "--since", "4h", "-o", "raw")
	found := map[string]bool{}
	for line := range strings.Lines(string(r.out)) {
		found[strings.TrimSuffix(line, "\n")] = true
	}
	for line := range w.lines {
		if !found[line] {
			t.Errorf("%q is not in the result of a query with --fresh:\n%s", line, r.errs)
		}
	}
	for _, p := range append(w.processes, relays...) {
		p.signal(t, syscall.SIGTERM)
		p.end(t, patience)
		if p.status() != 0 {
			t.Errorf("status %d, output:\n%s", p.status(), p.tail())
		}
	}
	all := map[string]bool{}
	for line := range w.lines {
		all[line] = true
	}
	unique(t, all, w.must(t, "logq", "query", "-s", "watched-*", "--from", "2000-01-01", "--to", "2100-01-01", "-o", "raw", "--no-cache"))
}
