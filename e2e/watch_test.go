package e2e

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"logstow/internal/test/await"
	"logstow/internal/test/effort"
)

// watchedRun is what TestLongWatch does, and for how long.
type watchedRun struct {
	shippers int
	// poll is the interval at which shippers poll for watches.
	poll time.Duration
	// unwatched is the time before a follower starts, lasts how long lines are written while it follows.
	unwatched, lasts time.Duration
	// write, kill and compact are the times between lines, kills and compactions.
	write, kill, compact time.Duration
	// flush is the flush interval.
	flush time.Duration
	// firstWithin is the time until the first line, lineWithin that until a line, of 95 of 100, mostWithin that until any.
	firstWithin, lineWithin, mostWithin time.Duration
}

// TestLongWatch follows services whose shippers have a flush interval of an hour, while shippers are killed, segments compacted
// and the hour changes that lines are dated in: every line is printed once. Nothing is flushed early before a query follows.
// make long has 20 shippers with a flush interval of a minute for half an hour, or for LOGSTOW_WATCH, such as 10m: the first
// line is printed within 15 s, 95% of the others within 5 s of being written. Other tests, which are beside the short form, delay it.
func TestLongWatch(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "four shippers with kills, for ten seconds")
	run := watchedRun{shippers: 4, poll: time.Second, unwatched: 3 * time.Second, lasts: 7 * time.Second, write: 50 * time.Millisecond, kill: 3 * time.Second, compact: 5 * time.Second}
	run.flush, run.firstWithin, run.lineWithin, run.mostWithin = time.Hour, patience, patience, patience
	if effort.Of() == effort.Long {
		run = watchedRun{shippers: 20, poll: 5 * time.Second, unwatched: 20 * time.Second, lasts: 30 * time.Minute, write: 50 * time.Millisecond, kill: 20 * time.Second, compact: 2 * time.Minute}
		run.flush, run.firstWithin, run.lineWithin, run.mostWithin = time.Minute, 15*time.Second, 5*time.Second, 75*time.Second
		if text := os.Getenv("LOGSTOW_WATCH"); text != "" {
			lasts, err := time.ParseDuration(text)
			if err != nil {
				t.Fatal(err)
			}
			run.lasts = lasts
		}
	}
	for _, kind := range storeKinds() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			azure := kind == "Azurite"
			newWatched(t, azure, run).run()
		})
	}
}

// watched is a run of TestLongWatch.
type watched struct {
	*rig
	watchedRun
	processes []*process
	// hour is the hour that begins in the middle of the dates of lines, shift how much earlier than written they are dated.
	hour  time.Time
	shift time.Duration

	mu sync.Mutex
	// lines are all that were written, with when; by is the shipper that each is for.
	lines map[string]time.Time
	by    map[string]int
	// printed are those that were printed, with when they were first, and how often.
	printed map[string]time.Time
	times   map[string]int
	// killed are the times at which each shipper was killed.
	killed map[int][]time.Time
}

func newWatched(t *testing.T, azure bool, run watchedRun) *watched {
	return &watched{
		rig: newRig(t, azure), watchedRun: run, lines: map[string]time.Time{}, by: map[string]int{},
		printed: map[string]time.Time{}, times: map[string]int{}, killed: map[int][]time.Time{},
		// Batches of the hour before are sealed seconds after this, which must be past: nothing is, before there is a watch.
		hour: time.Now().Add(-5 * time.Second).Truncate(time.Hour),
	}
}

// date dates lines from now on so that the hour begins after a while.
func (w *watched) date(in time.Duration) { w.shift = time.Now().Add(in).Sub(w.hour) }

func (w *watched) path(i int) string { return filepath.Join(w.logs, fmt.Sprintf("app-%d.log", i)) }

// file writes a log file of its own.
func (w *watched) file(name, text string) string {
	path := filepath.Join(w.root, name)
	appendFile(w.t, path, text)
	return path
}

// launch starts a shipper. Each has a directory of its own for its buffer, so that no other takes over the buffer of one that was
// killed.
func (w *watched) launch(i int) *process {
	return w.start(plain(), nil, "run", "--from-start", "--store", w.store, "--service", fmt.Sprintf("watched-%d", i%2), "--instance", fmt.Sprintf("pod-%d", i),
		"--flush-interval", w.flush.String(), "--watch-interval", w.poll.String(), "--buffer-dir", filepath.Join(w.root, fmt.Sprintf("shipper-%d", i), "buffer"), w.path(i))
}

// write logs a line for a shipper.
func (w *watched) write(i int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	line := fmt.Sprintf("%s line %d of pod-%d", now.Add(-w.shift).UTC().Format("2006-01-02T15:04:05.000000Z"), len(w.lines), i)
	w.lines[line], w.by[line] = now, i
	appendFile(w.t, w.path(i), line+"\n")
}

// follow starts logq; stop ends it.
func (w *watched) follow() (stop func()) {
	in, out, err := os.Pipe()
	if err != nil {
		w.t.Fatal(err)
	}
	logq := startProcess(w.t, programPath("logq"), out, w.daemon, "query", "-f", "-s", "watched-0", "-s", "watched-1", "--store", w.store, "-o", "raw")
	if err := out.Close(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if w.t.Failed() {
			w.t.Logf("not printed: %q; logq:\n%s", w.missing(), logq.tail())
		}
	})
	var reading sync.WaitGroup
	reading.Go(func() {
		for s := bufio.NewScanner(in); s.Scan(); {
			w.mu.Lock()
			if w.times[s.Text()]++; w.times[s.Text()] == 1 {
				w.printed[s.Text()] = time.Now()
			}
			w.mu.Unlock()
		}
	})
	return func() {
		logq.signal(w.t, os.Interrupt)
		logq.end(w.t, patience)
		reading.Wait()
		_ = in.Close()
		if errs := logq.tail(); logq.status() != 130 || strings.Count(errs, "watching 2 services: ") != 1 {
			w.t.Errorf("logq ended with status %d, output:\n%s", logq.status(), errs)
		}
	}
}

// missing are the lines that were written and not printed.
func (w *watched) missing() (lines []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for line := range w.lines {
		if w.times[line] == 0 {
			lines = append(lines, line)
		}
	}
	return lines
}

func (w *watched) run() {
	t := w.t
	w.must(t, "shipper", "run", "--once", "--service", "other", "--instance", "pod", "--buffer-dir", w.buffer, w.file("other.log", "the store exists\n"))
	w.date(w.unwatched + w.lasts)
	for i := range w.shippers {
		w.write(i)
		w.processes = append(w.processes, w.launch(i))
	}
	time.Sleep(w.unwatched) // some polls: nothing is flushed before there is a watch
	if r := w.command(t, nil, "logq", "segments"); strings.Contains(string(r.out), "watched-") {
		t.Errorf("flushed without a watch:\n%s", r.out)
	}
	began := time.Now()
	stop := w.follow()
	await.Until(t, w.firstWithin, "the first line", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.printed) > 0
	})
	t.Logf("the first line after %v", time.Since(began))
	await.Until(t, w.firstWithin, "the first line of each shipper", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.printed) == w.shippers
	})
	time.Sleep(2 * w.poll) // until each knows how many they are
	w.writeAll()
	w.awaitAll()
	for range 2 { // so that logq polls again: it prints no line again
		for i := range w.shippers {
			w.write(i)
		}
		w.awaitAll()
	}
	stop()
	for i, p := range w.processes {
		p.signal(t, syscall.SIGTERM)
		p.end(t, patience)
		if p.status() != 0 {
			t.Errorf("shipper %d ended with status %d, output:\n%s", i, p.status(), p.tail())
		}
	}
	w.check()
}

// awaitAll waits until all lines are printed.
func (w *watched) awaitAll() {
	w.t.Helper()
	await.Until(w.t, patience, "all lines", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.printed) >= len(w.lines)
	})
}

// writeAll writes lines, kills shippers and compacts.
func (w *watched) writeAll() {
	w.date(w.lasts / 2)
	began := time.Now()
	killed, compacted := began, began
	var compacting sync.WaitGroup
	defer compacting.Wait()
	for n := 0; time.Since(began) < w.lasts; n++ {
		w.write(n % w.shippers)
		if time.Since(killed) > w.kill {
			killed = time.Now()
			i := w.rnd.IntN(w.shippers)
			select {
			case <-w.processes[i].ended:
				w.t.Errorf("shipper %d ended with status %d, output:\n%s", i, w.processes[i].status(), w.processes[i].tail())
			default:
			}
			w.processes[i].kill(w.t)
			w.processes[i] = w.launch(i)
			w.killed[i] = append(w.killed[i], killed)
		}
		if time.Since(compacted) > w.compact {
			compacted = time.Now()
			compacting.Go(func() {
				if r := w.command(w.t, nil, "shipper", "compact", "--after", "0s", "--grace", "0s"); r.status != 0 {
					w.t.Errorf("compact ended with status %d: %s", r.status, r.errs)
				}
			})
		}
		time.Sleep(w.watchedRun.write) // the pace of the program
	}
}

// check compares what was printed with what was written.
func (w *watched) check() {
	t := w.t
	var all strings.Builder
	want := map[string]bool{}
	var took []time.Duration
	for line, at := range w.lines {
		want[line] = true
		for range w.times[line] {
			all.WriteString(line + "\n")
		}
		restarting := slices.ContainsFunc(w.killed[w.by[line]], func(killed time.Time) bool {
			return at.After(killed.Add(-w.lineWithin)) && at.Before(killed.Add(2*w.lineWithin))
		})
		if delay := w.printed[line].Sub(at); delay > w.mostWithin {
			t.Errorf("after %v: %q, killed at %v, printed at %v", delay, line, w.killed[w.by[line]], w.printed[line])
		}
		if !restarting || w.lineWithin == patience {
			took = append(took, w.printed[line].Sub(at))
		}
	}
	for line := range w.times {
		if !want[line] {
			t.Errorf("printed but never written: %q", line)
		}
	}
	unique(t, want, []byte(all.String()))
	// The first line of each was written before the follower started.
	slices.Sort(took)
	if took = took[:max(0, len(took)-w.shippers)]; len(took) == 0 {
		t.Fatal("all lines were written around a kill")
	}
	if late := took[len(took)*95/100]; late > w.lineWithin {
		t.Errorf("95%% of %d lines within %v, want %v", len(took), late, w.lineWithin)
	}
	t.Logf("%d lines, half of them within %v, 95%% within %v, all within %v; %d kills", len(want), took[len(took)/2], took[len(took)*95/100], took[len(took)-1], len(w.killed))
	unique(t, want, w.must(t, "logq", "query", "-s", "watched-*", "--from", "2000-01-01", "--to", "2100-01-01", "-o", "raw", "--no-cache"))
}
