package e2e

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"logstow/internal/test/await"
	"logstow/internal/test/effort"
)

// TestCrashTakeover kills a pod, whose files go with it, and then again and again the
// pod that ships what the first one's buffer held.
func TestCrashTakeover(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "kills while another shipper takes over")
	for i, name := range storeKinds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, name == "Azurite")
			old := filepath.Join(r.root, "buffers", "old")
			r.buffer = old
			file := filepath.Join(r.logs, "app.log")
			want := map[string]bool{}
			write := func(id, from, to int) {
				t.Helper()
				var b strings.Builder
				for n := from; n < to; n++ {
					b.WriteString(text(id, n) + "\n")
					want[text(id, n)] = true
				}
				appendFile(t, file, b.String())
			}
			// Some of it sealed while storage could not be reached, some only in the log.
			r.outage()
			write(1, 0, 2000)
			p := r.start(plain(), nil, r.args("--drain-timeout", "2s", r.glob())...)
			r.read(p, file)
			p.signal(t, os.Interrupt)
			p.end(t, patience)
			write(1, 2000, 2500)
			p = r.start(plain(), nil, r.args("--flush-interval", "1h", "--flush-size", "8MiB", "--sync", "always", r.glob())...)
			r.logged(text(1, 2499))
			p.kill(t)
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}

			r.buffer = filepath.Join(r.root, "buffers", "new")
			bin, points := armedShipper(t), pointNames(t)
			next := i * len(points) / 2
			for life := range max(3, crashKills(t)/8) {
				r.lossy(0.2)
				write(2, life*100, life*100+100)
				args := r.args(append(r.draw(), "--instance", "pod-2", r.glob())...)
				if life%3 == 2 {
					r.killAt(bin, r.instant(), args)
				} else {
					r.killPoint(bin, points[next%len(points)], args)
					next++
				}
			}
			r.faults(0)
			p = r.start(plain(), nil, r.args("--instance", "pod-2", r.glob())...)
			// It looks for buffers every minute, and not while a request fails.
			await.Until(t, 3*time.Minute, "the old buffer is empty", func() bool {
				note, _ := os.ReadFile(filepath.Join(old, "shipper.json")) // it is replaced while we look
				return bytes.Contains(note, []byte(`"drained":true`))
			})
			p.signal(t, os.Interrupt)
			p.end(t, patience)
			r.settle("--instance", "pod-2", r.glob())
			r.check(maps.Clone(want))
			t.Logf("%d kills, at named points: %v", r.kills, hitList(r.hits))
		})
	}
}
