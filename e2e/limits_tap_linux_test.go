package e2e

import (
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"logstow/internal/test/await"
	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
	"logstow/tap"
)

// tapShare is the CPU time of a shipper with taps, at most, of that without any: their budget is 2%, the rest is for the difference
// between two measurements. Ten times the budget makes it 1.16, no budget 1.6.
const tapShare = 1.02 + 0.08

// As many taps as there may be, which all read what is shipped as fast as they can, cost a shipper little CPU time: in the median of
// pairs of runs, since other tests that run disturb both runs of a pair alike. More pairs are run while the median is above the limit. The
// test reads the taps itself: processes that write what they read slow the shipper's cores by several percent. It does not run in
// parallel with the other tests here: what the taps are sent, every 20 ms, costs the same however slow the shipper is.
func TestTapShare(t *testing.T) {
	effort.Need(t, effort.Full, "ships 190 MB six times or more")
	rnd := testrand.New(t)
	var text []byte
	for i := range 200_000 {
		text = fmt.Appendf(text, "2026-11-20T15:04:05Z INFO GET /api/orders/%d took %d ms for 10.1.%d.%d trace %016x\n", i, rnd.IntN(1000), rnd.IntN(256), rnd.IntN(256), rnd.Uint64())
	}
	var ratios []float64
	median := math.Inf(1)
	for len(ratios) < 3 || median > tapShare && len(ratios) < 15 {
		without, with := shipTapped(t, text, false), shipTapped(t, text, true)
		ratios = append(ratios, float64(with)/float64(without))
		median = slices.Sorted(slices.Values(ratios))[len(ratios)/2]
		t.Logf("%v of CPU time with taps, %v without: %.3f", with, without, ratios[len(ratios)-1])
	}
	if median > tapShare {
		t.Errorf("%.3f of the CPU time without taps in the median of %d pairs, at most %.3f", median, len(ratios), tapShare)
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
		for range tapClients {
			connectTap(t, r.buffer)
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

// connectTap connects to the taps of the shipper of a buffer, and reads what they are sent.
func connectTap(t *testing.T, buffer string) {
	t.Helper()
	var conn net.Conn
	await.Until(t, patience, "the shipper listens", func() bool {
		var err error
		conn, err = net.Dial("unix", filepath.Join(buffer, tap.Socket))
		return err == nil
	})
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(io.Discard, conn) // ends with the shipper
	}()
	t.Cleanup(func() { _ = conn.Close(); <-read })
}
