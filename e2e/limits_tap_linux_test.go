package e2e

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"logstow/internal/test/await"
	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
)

// tapShare is the CPU time of a shipper with taps, at most, of that without any: the CPU times of two runs differ by some percent.
const tapShare = 1.02 + 0.08

// As many taps as there may be, which all show what is shipped as fast as they can, cost a shipper little CPU time: the least of some runs
// each.
func TestTapShare(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "ships 190 MB six times")
	rnd := testrand.New(t)
	var text []byte
	for i := range 200_000 {
		text = fmt.Appendf(text, "2026-11-20T15:04:05Z INFO GET /api/orders/%d took %d ms for 10.1.%d.%d trace %016x\n", i, rnd.IntN(1000), rnd.IntN(256), rnd.IntN(256), rnd.Uint64())
	}
	least, ratio := map[bool]time.Duration{}, math.Inf(1)
	for round := 0; round < 3 || ratio > tapShare && round < 8; round++ { // few runs are without disturbance if other tests run
		for _, tapped := range []bool{false, true} {
			took := shipTapped(t, text, tapped)
			if least[tapped] == 0 || took < least[tapped] {
				least[tapped] = took
			}
		}
		ratio = float64(least[true]) / float64(least[false])
	}
	t.Logf("%v of CPU time with taps, %v without: %.3f", least[true], least[false], ratio)
	if ratio > tapShare {
		t.Errorf("%.3f of the CPU time without taps, at most %.3f", ratio, tapShare)
	}
}

// shipTapped returns the CPU time of a shipper that ships a text.
func shipTapped(t *testing.T, text []byte, tapped bool) time.Duration {
	t.Helper()
	r := newRig(t, false)
	in, feed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer feed.Close()
	p := startProcessOn(t, plain(), in, nil, r.daemon, "run", "--once", "--service", "crash", "--store", r.store, "--buffer-dir", r.buffer, "-")
	if tapped {
		await.Until(t, patience, "the buffer is there", func() bool { _, err := os.Stat(r.buffer); return err == nil })
		for range tapClients {
			out, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			await.Until(t, patience, "a tap is connected", func() bool {
				tap := startProcess(t, plain(), out, r.daemon, "tap", "--buffer-dir", r.buffer, "-o", "json")
				await.Until(t, patience, "it is connected or not", func() bool {
					return strings.Contains(tap.output(), "connected") || tap.cmd.ProcessState != nil
				})
				return strings.Contains(tap.output(), "connected")
			})
		}
	}
	for range 10 {
		if _, err := feed.Write(text); err != nil {
			t.Fatal(err)
		}
	}
	if err := feed.Close(); err != nil {
		t.Fatal(err)
	}
	<-p.ended
	if p.status() != 0 {
		t.Fatalf("status %d: %s", p.status(), p.tail())
	}
	return p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
}
