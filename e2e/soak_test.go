package e2e

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"logstow/internal/test/await"
)

// soakTime is how long TestSoak runs.
func soakTime(t *testing.T) time.Duration {
	t.Helper()
	v := os.Getenv("LOGSTOW_SOAK")
	if v == "" {
		t.Skip("make soak runs it: LOGSTOW_SOAK sets how long")
	}
	d, err := time.ParseDuration(v)
	if err != nil || d < 30*time.Second {
		t.Fatalf("LOGSTOW_SOAK=%s: want at least 30s (%v)", v, err)
	}
	return d
}

// soak is what TestSoak runs beside the shipper.
type soak struct {
	*rig
	file string // the configuration
	// keep is how long a rotated file stays before it is removed.
	keep time.Duration
	stop chan struct{}
	all  sync.WaitGroup

	mu    sync.Mutex
	lines map[string]bool
	sent  int // over HTTP
}

// TestSoak runs a shipper for long under mixed load: files that are rotated and removed,
// lines over HTTP, changes of its configuration, storage that fails and goes away.
// Every line is found once, and memory, descriptors and goroutines stay what they are.
func TestSoak(t *testing.T) {
	d := soakTime(t)
	s := &soak{rig: newRig(t, true), keep: min(time.Minute, d/6), stop: make(chan struct{}), lines: map[string]bool{}}
	s.file = filepath.Join(s.root, "shipper.yaml")
	s.configure(0)
	s.writeFiles()
	p := s.start(plain(), nil, "run", "--config", s.file, "--metrics", "127.0.0.1:0")
	s.daemonEnds(p)
	address := "http://" + p.address(t, "listening") + "/v1/lines"
	metrics := "http://" + p.address(t, "serving metrics") + "/metrics"
	s.all.Go(func() { s.post(address) })
	s.all.Go(s.sweep)

	samples := s.run(p, metrics, d)
	close(s.stop)
	s.all.Wait()
	s.faults(0)
	p.signal(t, syscall.SIGTERM)
	p.end(t, patience)
	if p.status() != 0 {
		t.Fatalf("it ended with status %d, output:\n%s", p.status(), p.tail())
	}
	if aside := s.quarantined(); len(aside) > 0 {
		t.Errorf("in quarantine: %s", aside)
	}
	s.check(s.lines, s.store)
	t.Logf("%d lines over HTTP; faults %v", s.sent, s.proxy.Counts().Faults)
	for _, gauge := range []struct {
		name  string
		slack float64 // beside a tenth
	}{{"process_resident_memory_bytes", 0}, {"process_open_fds", 3}, {"go_goroutines", 5}} {
		steady(t, gauge.name, samples[gauge.name], gauge.slack)
	}
}

// daemonEnds logs the output of the shipper when the test fails.
func (s *soak) daemonEnds(p *process) {
	s.t.Cleanup(func() {
		if s.t.Failed() {
			s.t.Logf("last output of the shipper:\n%s", p.tail())
		}
	})
}

// configure writes the Nth configuration: each reads the same, in another way.
func (s *soak) configure(n int) {
	s.t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "store: %s\nservice: crash\ninstance: pod-1\nflush-interval: 1s\nbucket: 60m\nbuffer: { dir: %s }\ninputs:\n  - http: 127.0.0.1:0\n", s.store, s.buffer)
	for id := range 2 {
		if n%3 == 1+id { // it leaves, and comes back with the next one
			continue
		}
		fmt.Fprintf(&b, "  - files: %q\n    from-start: true\n    name: app-%d\n", filepath.Join(s.logs, fmt.Sprintf("app-%d", id), "*.log*"), id)
	}
	if err := os.WriteFile(s.file, []byte(b.String()), 0o600); err != nil {
		s.t.Error(err)
	}
}

// writeFiles starts applications that log to files.
func (s *soak) writeFiles() {
	s.t.Helper()
	for id, rotate := range rotations[:2] {
		w := &writer{id: id, dir: filepath.Join(s.logs, fmt.Sprintf("app-%d", id)), rotate: rotate, rnd: rand.New(rand.NewPCG(s.seed, uint64(id)))}
		if err := os.MkdirAll(w.dir, 0o700); err != nil {
			s.t.Fatal(err)
		}
		if err := w.open(); err != nil {
			s.t.Fatal(err)
		}
		s.all.Go(func() {
			w.run(s.t, s.stop)
			s.mu.Lock()
			defer s.mu.Unlock()
			w.all(s.lines)
			maps.Copy(s.cut, w.cut)
		})
	}
}

// post sends lines over HTTP until the end; what is refused is sent again.
func (s *soak) post(address string) {
	const writer, batch = 2, 50
	n := 0
	for {
		var body strings.Builder
		sending := map[string]bool{}
		for i := range batch {
			l := text(writer, n+i)
			sending[l] = true
			body.WriteString(l + "\n")
		}
		answer, err := http.Post(address, "text/plain", strings.NewReader(body.String())) //nolint:noctx // it is local
		if err != nil {
			s.t.Error(err)
			return
		}
		_ = answer.Body.Close()
		switch answer.StatusCode {
		case http.StatusNoContent:
			n += batch
			s.mu.Lock()
			maps.Copy(s.lines, sending)
			s.sent = n
			s.mu.Unlock()
		case http.StatusServiceUnavailable:
		default:
			s.t.Errorf("status %d", answer.StatusCode)
			return
		}
		select {
		case <-s.stop:
			return
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// sweep removes files that were rotated a while ago.
func (s *soak) sweep() {
	for {
		select {
		case <-s.stop:
			return
		case <-time.After(5 * time.Second):
		}
		paths, err := filepath.Glob(filepath.Join(s.logs, "*", "*.log*"))
		if err != nil {
			s.t.Error(err)
			return
		}
		for _, path := range paths {
			if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > s.keep {
				if err := os.Remove(path); err != nil {
					s.t.Error(err)
				}
			}
		}
	}
}

// run causes faults for a time, and returns what the gauges showed.
func (s *soak) run(p *process, metrics string, d time.Duration) map[string][]float64 {
	samples := map[string][]float64{}
	began, second, reload := time.Now(), time.NewTicker(time.Second), 0
	defer second.Stop()
	for n := 1; time.Since(began) < d; n++ {
		select {
		case <-second.C:
		case <-p.ended:
			s.t.Fatal("the shipper ended")
		}
		_, text := get(s.t, metrics)
		for line := range strings.Lines(text) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			if v, err := strconv.ParseFloat(value, 64); err == nil && (strings.HasPrefix(name, "process_") || name == "go_goroutines") {
				samples[name] = append(samples[name], v)
			}
		}
		if n%5 == 0 {
			reload++
			s.configure(reload)
			p.signal(s.t, syscall.SIGHUP)
		}
		switch n % 20 {
		case 2:
			s.faults(0.1)
		case 12:
			s.outage()
		case 15:
			s.faults(0)
		}
	}
	s.configure(0) // all inputs, to read to their ends
	before := p.count("configuration reloaded")
	p.signal(s.t, syscall.SIGHUP)
	await.Until(s.t, patience, "the last configuration", func() bool { return p.count("configuration reloaded") > before })
	if before < reload-1 {
		s.t.Errorf("%d of %d configurations were taken up", before, reload)
	}
	return samples
}

// count is how often the program logged something.
func (p *process) count(text string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return bytes.Count(p.out.Bytes(), []byte(text))
}

// steady checks that a gauge's mean in the last third is at most a tenth, and slack,
// over that in the middle.
func steady(t *testing.T, name string, values []float64, slack float64) {
	t.Helper()
	if len(values) < 15 {
		t.Errorf("%s: %d samples", name, len(values))
		return
	}
	third := len(values) / 3
	mean := func(part []float64) (sum float64) {
		for _, v := range part {
			sum += v
		}
		return sum / float64(len(part))
	}
	middle, last := mean(values[third:2*third]), mean(values[2*third:])
	t.Logf("%s: %.0f in the middle third, %.0f in the last, %.0f at most", name, middle, last, slices.Max(values))
	if last > 1.1*middle+slack {
		t.Errorf("%s grew from %.0f to %.0f", name, middle, last)
	}
}
