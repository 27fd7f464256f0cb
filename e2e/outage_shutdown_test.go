package e2e

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"logstow/internal/test/effort"
	"logstow/internal/test/faultproxy"
)

// log writes some lines to the rig's only file.
func (r *rig) log(from, to int) map[string]bool {
	r.t.Helper()
	lines := map[string]bool{}
	var b strings.Builder
	for n := from; n < to; n++ {
		lines[text(9, n)] = true
		b.WriteString(text(9, n) + "\n")
	}
	appendFile(r.t, r.logFile(), b.String())
	return lines
}

func (r *rig) logFile() string { return filepath.Join(r.logs, "app.log") }

// TestTerminate ends a shipper that has everything still in its open batches.
func TestTerminate(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"local", "Azurite"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, name == "Azurite")
			want := r.log(0, 2000)
			p := r.start(plain(), nil, r.args("--flush-interval", "1h", "--flush-size", "8MiB", "--bucket", "60m", r.glob())...)
			r.read(p, r.logFile())
			p.signal(t, syscall.SIGTERM)
			p.end(t, patience)
			if p.status() != 0 {
				t.Fatalf("status %d, output of the shipper:\n%s", p.status(), p.tail())
			}
			r.check(want)
		})
	}
}

// TestTerminateInOutage ends a shipper that cannot store; the next one does.
func TestTerminateInOutage(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "TestTerminate has the common case")
	r := newRig(t, true)
	want := r.log(0, 2000)
	r.outage()
	p := r.start(plain(), nil, r.args("--drain-timeout", "500ms", r.glob())...)
	r.read(p, r.logFile())
	began := time.Now()
	p.signal(t, syscall.SIGTERM)
	p.end(t, patience)
	if p.status() != 3 {
		t.Errorf("status %d, want 3; output of the shipper:\n%s", p.status(), p.tail())
	}
	if took := time.Since(began); took < 400*time.Millisecond || took > 20*time.Second { // the default is 25 s
		t.Errorf("ended %v after the signal, want about --drain-timeout 500ms", took)
	}
	r.settle(r.glob())
	r.check(want)
}

// TestSecondSignal ends a shipper that is waiting for storage.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	r := newRig(t, true)
	want := r.log(0, 2000)
	r.outage()
	p := r.start(plain(), nil, r.args("--drain-timeout", "10m", r.glob())...)
	r.read(p, r.logFile())
	// The first alone does not end it. Two at once may be one to a program that was not running: more follow.
	late := time.After(patience)
	for signals := 0; ; signals++ {
		p.signal(t, syscall.SIGTERM)
		select {
		case <-p.ended:
			if signals == 0 {
				t.Fatalf("status %d after one signal, output of the shipper:\n%s", p.status(), p.tail())
			}
		case <-late:
			t.Fatalf("still running after %d signals; output:\n%s", signals+1, p.tail())
		case <-time.After(500 * time.Millisecond):
			continue
		}
		break
	}
	if p.status() == 0 {
		t.Errorf("status 0 with records that are not stored; output of the shipper:\n%s", p.tail())
	}
	r.settle(r.glob())
	r.check(want)
}

// TestTerminateWaitsForResponses ends a shipper whose storage is slow but works.
func TestTerminateWaitsForResponses(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "TestTerminate has the common case")
	r := newRig(t, true)
	want := r.log(0, 2000)
	r.proxy.SetRules(faultproxy.Rule{Chance: 0.5, Faults: []faultproxy.Fault{faultproxy.Slow, faultproxy.Busy}})
	p := r.start(plain(), nil, r.args("--drain-timeout", "1m", r.glob())...)
	r.read(p, r.logFile())
	p.signal(t, syscall.SIGTERM)
	p.end(t, patience)
	if p.status() != 0 {
		t.Fatalf("status %d, output of the shipper:\n%s", p.status(), p.tail())
	}
	r.proxy.SetRules()
	r.check(want)
}
