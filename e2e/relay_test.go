package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"logstow/internal/test/await"
	"logstow/internal/test/effort"
)

// relaying is a rig of senders and relays.
type relaying struct {
	*rig
	wires   []*wire
	store   string
	senders []*process
	relays  []*process
	// ports are the addresses of the relays, home has for each of them its wire.
	ports []string
}

func (r *relaying) hosts() string {
	var all []string
	for _, w := range r.wires {
		all = append(all, w.address())
	}
	return "relay://" + strings.Join(all, ",")
}

func (r *relaying) startRelay(i int) {
	r.t.Helper()
	r.relays[i] = r.start(plain(), nil, "run", "--relay", r.ports[i], "--store", r.store, "--instance", fmt.Sprintf("relay-%d", i),
		"--buffer-dir", filepath.Join(r.root, fmt.Sprintf("relay-%d", i)), "--flush-interval", "500ms", "--flush-size", "64KiB", "--drain-timeout", "20s")
}

func (r *relaying) senderArgs(i int, more ...string) []string {
	name, size, interval := fmt.Sprintf("node-%d", i), "8KiB", "200ms"
	if len(r.senders) > 50 {
		interval = "10s"
	}
	if i%4 == 0 {
		size = "8MiB"
	}
	return append([]string{
		"run", "--from-start", "--store", r.hosts(), "--service", fmt.Sprintf("svc-%d", i%4), "--instance", name, "--bucket", "5m",
		"--buffer-dir", filepath.Join(r.root, name), "--flush-interval", interval, "--flush-size", size, filepath.Join(r.logs, name+".log"),
	}, more...)
}

// TestRelayCrash kills senders and relays at random, moves relays to other addresses, cuts connections and loses answers. In the end each
// line is stored once, with its time, level and instance, before and after compaction.
func TestRelayCrash(t *testing.T) {
	t.Parallel()
	kills := effort.Cases{Test: 4, Full: 60}.N()
	relayCrash(t, 8, func(done int) bool { return done < kills })
}

// TestLongRelay is TestRelayCrash with 200 senders, for half an hour or until LOGSTOW_CRASH_KILLS.
func TestLongRelay(t *testing.T) {
	effort.Need(t, effort.Long, "takes half an hour")
	more := func(int) bool { return true }
	if os.Getenv("LOGSTOW_CRASH_KILLS") != "" {
		kills := crashKills(t)
		more = func(done int) bool { return done < kills }
	}
	end := time.Now().Add(30 * time.Minute)
	relayCrash(t, 200, func(done int) bool { return time.Now().Before(end) && more(done) })
}

// relayCrash goes on while more, which gets the number of faults until then, says so.
func relayCrash(t *testing.T, senders int, more func(done int) bool) {
	t.Helper()
	r := &relaying{rig: newRig(t, false), relays: make([]*process, 3), senders: make([]*process, senders), ports: freeAddresses(t, 3)}
	r.store = r.target.store
	if err := os.MkdirAll(r.logs, 0o700); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		r.wires = append(r.wires, newWire(t))
	}
	for i := range r.relays {
		r.startRelay(i)
		r.wires[i].set(r.ports[i], false)
	}
	var mu sync.Mutex
	want := map[string]string{} // the instance of each message
	var writing sync.WaitGroup
	stop := make(chan struct{})
	for i := range senders {
		file, err := os.OpenFile(filepath.Join(r.logs, fmt.Sprintf("node-%d.log", i)), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		rnd := rand.New(rand.NewPCG(r.seed, uint64(i)+100))
		writing.Go(func() {
			defer file.Close()
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				case <-time.After(pause(rnd, senders)):
				}
				length := rnd.IntN(300)
				if i == 0 {
					length = rnd.IntN(100_000) // segments of up to 8 MiB
				}
				line := fmt.Sprintf("%s %s node-%d line=%d %s", time.Now().UTC().Add(-24*time.Hour).Format("2006-01-02T15:04:05.000000Z"), []string{"INFO", "ERROR", "WARN"}[n%3], i, n,
					noise(rnd, length))
				if _, err := file.WriteString(line + "\n"); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				want[line] = fmt.Sprintf("node-%d", i)
				mu.Unlock()
			}
		})
		r.senders[i] = r.start(plain(), nil, r.senderArgs(i)...)
	}
	faults := 0
	for ; more(faults); faults++ {
		switch pick := r.rnd.IntN(10); {
		case pick < 4:
			i := r.rnd.IntN(senders)
			r.senders[i].kill(t)
			r.senders[i] = r.start(plain(), nil, r.senderArgs(i)...)
		case pick < 7:
			i := r.rnd.IntN(len(r.relays))
			if r.rnd.IntN(4) == 0 {
				r.relays[i].signal(t, syscall.SIGTERM)
				r.relays[i].end(t, patience)
			} else {
				r.relays[i].kill(t)
			}
			r.checkMemory(i)
			if r.rnd.IntN(2) == 0 { // it stays away for a while
				time.Sleep(time.Duration(r.rnd.IntN(600)) * time.Millisecond)
			}
			r.startRelay(i)
		case pick < 9: // relays at other addresses, and connections whose answers are lost
			to := r.rnd.Perm(len(r.wires))
			for i, w := range r.wires {
				if to[i] < len(r.ports) {
					w.set(r.ports[to[i]], r.rnd.IntN(4) == 0)
				} else {
					w.set("", false)
				}
			}
		default:
			r.wires[r.rnd.IntN(len(r.wires))].set("", false)
		}
		time.Sleep(time.Duration(r.rnd.IntN(150)) * time.Millisecond)
	}
	close(stop)
	writing.Wait()
	t.Logf("%d faults", faults)
	for i := range r.relays {
		r.wires[i].set(r.ports[i], false)
	}
	r.wires[3].set("", false)
	for i, p := range r.senders {
		p.kill(t)
		last := r.start(plain(), nil, r.senderArgs(i, "--once", "--retry-for", "2m")...)
		last.end(t, 3*time.Minute)
		if last.status() != 0 {
			t.Fatalf("sender %d ended with status %d:\n%s", i, last.status(), last.tail())
		}
	}
	for i, p := range r.relays {
		p.signal(t, syscall.SIGTERM)
		p.end(t, patience)
		if p.status() != 0 {
			t.Fatalf("a relay ended with status %d:\n%s", p.status(), p.tail())
		}
		r.checkMemory(i)
	}
	r.checkRelayed(want)
	if out := string(r.must(t, "logq", "segments", "-o", "json", "--from", "2000-01-01", "--to", "2100-01-01")); !strings.Contains(out, `"instances":`) {
		t.Errorf("no segment of several instances:\n%.1000s", out)
	}
	if out := string(r.must(t, "shipper", "compact", "--store", r.store, "--grace", "0s")); strings.Contains(out, "merged 0 segments") {
		t.Errorf("nothing was compacted:\n%s", out)
	}
	r.must(t, "shipper", "verify", "--store", r.store, "--full")
	r.checkRelayed(want)
}

// checkMemory checks what a relay, which has ended, has taken at most.
func (r *relaying) checkMemory(i int) {
	r.t.Helper()
	if peak := r.relays[i].peak(); peak > 128<<20 {
		r.t.Errorf("relay %d took %d MiB", i, peak>>20)
	}
}

// checkRelayed reads everything back.
func (r *relaying) checkRelayed(want map[string]string) {
	r.t.Helper()
	found := map[string]int{}
	for l := range strings.Lines(string(r.must(r.t, "logq", "query", "--from", "2000-01-01", "--to", "2100-01-01", "-o", "json", "--no-cache"))) {
		var got struct{ Time, Level, Instance, Message string }
		if err := json.Unmarshal([]byte(l), &got); err != nil {
			r.t.Fatalf("%q: %v", l, err)
		}
		found[got.Message]++
		text := strings.Fields(got.Message)
		if len(text) < 2 || !strings.HasPrefix(got.Time, strings.TrimSuffix(text[0], "Z")) || got.Level != text[1] || got.Instance != want[got.Message] {
			r.t.Errorf("%+v, want instance %q", got, want[got.Message])
		}
	}
	lost, doubled := 0, 0
	for line := range want {
		switch found[line] {
		case 0:
			lost++
		case 1:
		default:
			doubled++
		}
	}
	if lost+doubled > 0 || len(found) != len(want) {
		r.t.Errorf("of %d lines, %d are lost, %d doubled; %d found", len(want), lost, doubled, len(found))
	}
	r.t.Logf("%d lines", len(want))
}

// noise is text that hardly compresses.
func noise(rnd *rand.Rand, length int) string {
	text := make([]byte, length)
	for i := range text {
		text[i] = byte('a' + rnd.IntN(26))
	}
	return string(text)
}

// While relays are away, a sender whose buffer is full waits as in an outage of storage, and then sends everything once.
func TestRelayOutage(t *testing.T) {
	t.Parallel()
	relayOutage(t, 0)
}

// TestLongRelayOutage is TestRelayOutage with relays that are away for an hour.
func TestLongRelayOutage(t *testing.T) {
	effort.Need(t, effort.Long, "takes an hour")
	t.Parallel()
	relayOutage(t, time.Hour)
}

func relayOutage(t *testing.T, duration time.Duration) {
	t.Helper()
	r := &relaying{rig: newRig(t, false), relays: make([]*process, 1), ports: freeAddresses(t, 1)}
	r.store = r.target.store
	if err := os.MkdirAll(r.logs, 0o700); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	var text strings.Builder
	for n := range 3000 {
		line := fmt.Sprintf("%s INFO node-1 line=%d %s", time.Now().UTC().Add(-24*time.Hour).Format("2006-01-02T15:04:05.000000Z"), n, noise(r.rnd, 2000))
		want[line] = "node-1"
		text.WriteString(line + "\n")
	}
	file := filepath.Join(r.logs, "node-1.log")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	args := func(more ...string) []string {
		return append([]string{
			"run", "--from-start", "--store", "relay://" + r.ports[0], "--service", "svc", "--instance", "node-1", "--buffer-dir", filepath.Join(r.root, "node-1"),
			"--buffer-size", "2MiB", "--flush-interval", "100ms", file,
		}, more...)
	}
	p := r.start(plain(), nil, args()...)
	await.Until(t, patience, "the buffer is full", func() bool { return strings.Contains(p.output(), "buffer is full") })
	select {
	case <-time.After(duration):
	case <-p.ended:
		t.Fatalf("status %d during the outage:\n%s", p.status(), p.tail())
	}
	p.kill(t)
	p = r.start(plain(), nil, args("--once", "--retry-for", "2m")...)
	await.Until(t, patience, "the buffer is full again", func() bool { return strings.Contains(p.output(), "buffer is full") })
	r.startRelay(0)
	p.end(t, patience)
	if p.status() != 0 {
		t.Fatalf("status %d:\n%s", p.status(), p.tail())
	}
	r.relays[0].signal(t, syscall.SIGTERM)
	r.relays[0].end(t, patience)
	r.checkRelayed(want)
}

// pause is the time between two lines of a sender: many of them share the machine.
func pause(rnd *rand.Rand, senders int) time.Duration {
	if senders > 50 {
		senders *= 8
	}
	return time.Duration(rnd.IntN(20*max(1, senders/8))) * time.Millisecond
}
