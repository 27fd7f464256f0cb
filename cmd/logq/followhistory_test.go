package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"logstow/internal/progress"
	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
	"logstow/query"
	"logstow/query/follow"
	"logstow/query/output"
	"logstow/store"
)

// TestLongFollowHistory follows random histories of some 30 hours: segments that are dated up to 50 minutes ahead and nearly as late as the
// window allows, compaction with inputs that stay for a while or vanish at once, requests that fail, blobs that a listing
// misses, and a clock that jumps. What is printed is compared with the list of what was stored: each record once, at the latest
// five polls after it was stored and storage answers.
func TestLongFollowHistory(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "follows with kills and late segments")
	histories := effort.Cases{Full: 3, Long: 60}.N()
	seed := testrand.Seed(t)
	for i := range histories {
		synctest.Test(t, func(t *testing.T) {
			h := &history{t: t, rnd: rand.New(rand.NewPCG(seed, uint64(i))), faults: rand.New(rand.NewPCG(seed, uint64(i)+1<<32)), shelf: &shelf{bodies: map[string][]byte{}}, left: map[string]time.Time{}, printed: map[string]int{}}
			h.run()
			if t.Failed() {
				t.Logf("history %d of seed %d", i, seed)
			}
		})
	}
}

// history is one history.
type history struct {
	t   *testing.T
	rnd *rand.Rand
	// faults is used under the lock of the shelf.
	faults *rand.Rand
	shelf  *shelf
	errs   bytes.Buffer
	// failing is set while requests fail and listings miss blobs; jump is how far the clock of logq is off.
	failing bool
	jump    time.Duration
	// left are the records that are to be printed, with when they were stored, printed how often any was.
	left    map[string]time.Time
	printed map[string]int
	// removals are inputs that are removed later.
	removals [][]string
}

const historyInterval = time.Minute

// Write takes the output; the lock of the shelf guards the history.
func (h *history) Write(b []byte) (int, error) {
	h.shelf.mu.Lock()
	defer h.shelf.mu.Unlock()
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSuffix(line, "\n")
		h.printed[line]++
		delete(h.left, line)
	}
	return len(b), nil
}

func (h *history) now() time.Time {
	h.shelf.mu.Lock()
	defer h.shelf.mu.Unlock()
	return time.Now().Add(h.jump)
}

// between is a random time between two.
func (h *history) between(from, to time.Duration) time.Duration {
	return from + time.Duration(h.rnd.Int64N(int64(to-from)))
}

// add stores a segment.
func (h *history) add(expected bool) {
	message := fmt.Sprintf("record %d", h.shelf.added)
	age := h.between(-50*time.Minute, 10*time.Minute)
	if h.rnd.IntN(4) == 0 {
		age = h.between(0, follow.DefaultWindow-40*time.Minute)
	}
	h.shelf.add(h.t, time.Now().Add(-age), message)
	if expected {
		h.shelf.mu.Lock()
		defer h.shelf.mu.Unlock()
		h.left[message] = time.Now()
	}
}

// compact merges a day, of which the inputs vanish now or later.
func (h *history) compact() {
	day := time.Now().UTC().Add(time.Duration(-h.rnd.IntN(4)+1) * time.Hour).Truncate(24 * time.Hour)
	if inputs := h.shelf.merge(h.t, day); h.rnd.IntN(2) == 0 {
		h.shelf.remove(inputs)
	} else {
		h.removals = append(h.removals, inputs)
	}
	if len(h.removals) > 3 {
		h.shelf.remove(h.removals[0])
		h.removals = h.removals[1:]
	}
}

// check reports what should have been printed.
func (h *history) check() {
	h.shelf.mu.Lock()
	defer h.shelf.mu.Unlock()
	for message, stored := range h.left {
		h.t.Errorf("%s, stored at %v, is not printed at %v", message, stored, time.Now())
	}
}

func (h *history) run() {
	t := h.t
	time.Sleep(h.between(0, 24*time.Hour))
	for range 5 {
		h.add(false)
	}
	down := &store.Error{Op: "list", Object: "blobs", Class: store.ErrUnavailable}
	h.shelf.fail = func() error {
		if h.failing && h.faults.IntN(3) == 0 {
			return down
		}
		return nil
	}
	// No store leaves out a blob that is there. Polls do without it; what is reported as late may then be wrong.
	omits := h.rnd.IntN(2) == 0
	h.shelf.omit = func(string) bool { return omits && h.failing && h.faults.IntN(4) == 0 }
	out, err := output.New(h, output.Options{Format: output.Raw})
	if err != nil {
		t.Fatal(err)
	}
	r := &request{
		env: environment{stdout: h, stderr: &h.errs, line: progress.New(&h.errs, 0), now: h.now}, window: follow.DefaultWindow, interval: historyInterval,
		sel: query.Selection{Services: []string{"a"}, From: time.Now().Add(-follow.DefaultWindow), To: follow.End(time.Now())}, opts: query.Options{TempDir: t.TempDir()},
	}
	opened := h.shelf.store()
	opened.Free = true
	stores := []query.Store{opened}
	q, err := query.New(stores, r.sel, r.opts)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.followNew(ctx, stores, q, out) }()
	time.Sleep(time.Second) // the first poll
	for range 300 {
		h.step()
	}
	h.settle()
	cancel()
	if err := errors.Join(<-ended, out.Close()); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for line, n := range h.printed {
		if n != 1 {
			t.Errorf("%d times %q", n, line)
		}
	}
	if n := len(h.printed); n < 100 || !omits && strings.Contains(h.errs.String(), "not printed") {
		t.Errorf("%d records, standard error:\n%s", n, h.errs.String())
	}
}

// step is some minutes of a history.
func (h *history) step() {
	h.shelf.mu.Lock()
	h.failing = h.rnd.IntN(3) == 0
	if h.rnd.IntN(10) == 0 {
		h.jump = h.between(-5*time.Minute, 5*time.Minute)
	}
	h.shelf.mu.Unlock()
	for range 1 + h.rnd.IntN(6) {
		switch h.rnd.IntN(5) {
		case 0:
			h.compact()
		case 1:
			time.Sleep(h.between(0, historyInterval))
		default:
			h.add(true)
		}
	}
	time.Sleep(h.between(0, 5*time.Minute))
	if h.failing || h.rnd.IntN(4) == 0 { // what is older than the window by then is not printed
		h.settle()
	}
}

// settle has storage answer, until everything is to be printed.
func (h *history) settle() {
	h.shelf.mu.Lock()
	h.failing = false
	h.shelf.mu.Unlock()
	time.Sleep(5 * historyInterval)
	h.check()
}
