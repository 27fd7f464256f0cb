package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"logstow/internal/test/effort"
	"logstow/internal/test/faultproxy"
)

// onceSlack is how much longer than stated a run with --once may take: to start, to read, and for its last attempt.
const onceSlack = 8 * time.Second

// firstTime is the time of the first line that a shipper logs.
var firstTime = regexp.MustCompile(`^\{"time":"([^"]+)"`)

// once runs a shipper with --once, which has to fail after a time from the first line that it logs on.
func (r *rig) once(after time.Duration, args ...string) {
	r.t.Helper()
	began := time.Now()
	p := r.start(plain(), nil, args...)
	p.end(r.t, patience)
	ended := time.Now()
	if logged := firstTime.FindStringSubmatch(p.tail()); logged != nil { // beside compilers, a process may take seconds to start
		if first, err := time.Parse(time.RFC3339Nano, logged[1]); err == nil && first.After(began) {
			began = first
		}
	}
	took := ended.Sub(began)
	r.t.Logf("ended after %v, %v stated", took, after)
	if p.status() != 3 || took < after-onceSlack/8 || took > after+onceSlack {
		r.t.Errorf("status %d after %v, %v stated, output of the shipper:\n%s", p.status(), took, after, p.tail())
	}
}

// A store that does not respond is given up after --retry-for.
func TestOnceGivesUp(t *testing.T) {
	t.Parallel()
	for _, limit := range []string{"2s", "30s"} {
		t.Run(limit, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, true)
			r.log(0, 100)
			r.outage()
			args := r.args("--once", "--retry-for", limit, r.glob())
			after, err := time.ParseDuration(limit)
			if err != nil {
				t.Fatal(err)
			}
			if after > 10*time.Second { // the default
				effort.Need(t, effort.Full, "30 seconds")
				args = r.args("--once", r.glob())
			}
			r.once(after, args...)
		})
	}
}

// A store that only an earlier configuration names delays the present one for a second.
func TestOnceEarlierStore(t *testing.T) {
	t.Parallel()
	r := newRig(t, true)
	r.log(0, 100)
	r.proxy.SetRules(faultproxy.Rule{Match: faultproxy.Of(faultproxy.CreateBlob), Chance: 1, Faults: []faultproxy.Fault{faultproxy.LoseResponse}})
	r.once(time.Second, r.args("--once", "--retry-for", "1s", r.glob())...)
	r.outage()
	r.log(100, 200)
	now := target{name: "local", store: filepath.Join(r.root, "now"), dir: filepath.Join(r.root, "now")}
	r.once(time.Second, r.args("--store", now.store, "--once", "--retry-for", "60s", r.glob())...)
	if n := strings.Count(now.all(t, "crash"), "\n"); n != 100 {
		t.Errorf("%d lines in the present store, want 100", n)
	}
}

// A run whose buffer is full of records of a store that was given up ends when no other store has got anything for --retry-for.
func TestOnceEndsAfterGivingUp(t *testing.T) {
	t.Parallel()
	const limit = 2 * time.Second
	r := newRig(t, true)
	r.logRandom(100_000)
	r.outage()
	alive := target{name: "local", store: filepath.Join(r.root, "alive"), dir: filepath.Join(r.root, "alive")}
	other := filepath.Join(r.root, "other.log")
	appendFile(t, other, "2026-11-20T15:04:05Z INFO alive\n")
	config := filepath.Join(r.root, "shipper.yaml")
	text := fmt.Sprintf("store: %s\nbuffer: {dir: %q, size: 1MiB}\nflush-size: 64KiB\ninputs:\n- {files: %q, service: crash}\n- {files: %q, service: other, store: %q}\n",
		r.store, r.buffer, r.glob(), other, alive.store)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r.once(2*limit, "run", "--config", config, "--once", "--retry-for", limit.String())
	if got := alive.all(t, "other"); !strings.Contains(got, "alive") {
		t.Errorf("the other store has %q", got)
	}
}
