package e2e

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"logstow/internal/test/effort"
	"logstow/internal/test/faultproxy"
)

// attack is everything at once on one store: shippers, compaction, retention, repairs and queries, which are killed at random
// instants.
type attack struct {
	*rig
	stop    chan struct{}
	workers sync.WaitGroup

	mu    sync.Mutex
	lines map[string]bool // of the service crash
	// ended and killed count by command the processes that ended and those that were killed.
	ended, killed map[string]int
}

const (
	// attackers is how many shippers there are. The segments of the last one are of a class whose retention is over.
	attackers = 5
	// descriptors limits the open files of each process.
	descriptors = "-n 256"
)

// TestLongAttack lets four shippers, two compactors, retention, reindex, verify and queries work on one store, each in a process with
// 256 descriptors that is killed at random instants, while half of the requests to tables and some of the others fail. No query returns
// a line twice, or misses one that an earlier query returned; in the end each line is found once, and what retention deletes is gone.
func TestLongAttack(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "takes long")
	duration := time.Duration(effort.Cases{Full: 12, Long: 15 * 60}.N()) * time.Second
	for _, name := range []string{"local", "Azurite"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &attack{rig: newRig(t, name == "Azurite"), stop: make(chan struct{}), lines: map[string]bool{}, ended: map[string]int{}, killed: map[string]int{}}
			if a.proxy != nil {
				a.proxy.SetRules(faultproxy.Rule{Match: tableRequests, Chance: 0.5}, faultproxy.Rule{Chance: 0.02})
			}
			for id := range attackers {
				a.write(id)
				a.repeat("run", 5*time.Second, nil, a.ship(id)...)
			}
			a.maintain()
			a.query()
			time.AfterFunc(duration, func() { close(a.stop) })
			a.workers.Wait()
			t.Logf("ended: %v; killed: %v", a.ended, a.killed)
			a.faults(0)
			a.finish()
		})
	}
}

// stopped reports whether the attack is over, or has found a fault.
func (a *attack) stopped() bool {
	select {
	case <-a.stop:
		return true
	default:
		return a.t.Failed()
	}
}

// write lets an application log to the files of a shipper until the attack is over.
func (a *attack) write(id int) {
	a.t.Helper()
	w := &writer{id: id, dir: a.logsOf(id), rotate: rotations[id%len(rotations)], rnd: rand.New(rand.NewPCG(a.seed, uint64(id)+100))}
	if err := os.MkdirAll(w.dir, 0o700); err != nil {
		a.t.Fatal(err)
	}
	if err := w.open(); err != nil {
		a.t.Fatal(err)
	}
	a.workers.Go(func() {
		w.run(a.t, a.stop)
		if id == attackers-1 {
			return
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		w.all(a.lines)
		maps.Copy(a.cut, w.cut)
	})
}

func (a *attack) logsOf(id int) string { return filepath.Join(a.logs, fmt.Sprint("app-", id)) }

func (a *attack) bufferOf(id int) string { return filepath.Join(a.buffer, fmt.Sprint(id)) }

// ship are the arguments of a shipper.
func (a *attack) ship(id int, more ...string) []string {
	args := append([]string{
		"run", "--store", a.store, "--from-start", "--buffer-dir", a.bufferOf(id), "--instance", fmt.Sprint("pod-", id),
		"--flush-interval", "300ms", "--flush-size", "32KiB", "--bucket", "5m",
	}, more...)
	if id == attackers-1 {
		return append(args, "--service", "short", "--class", "debug", filepath.Join(a.logsOf(id), "*.log*"))
	}
	return append(args, "--service", "crash", filepath.Join(a.logsOf(id), "*.log*"))
}

// repeat runs a command of the shipper again and again. Half of the runs are killed, after life at most; the others are to end with
// one of the given statuses: none is for commands that do not end.
func (a *attack) repeat(name string, life time.Duration, statuses []int, args ...string) {
	a.workers.Go(func() {
		h := fnv.New64a()
		_, _ = io.WriteString(h, strings.Join(args, " ")+name)
		rnd := rand.New(rand.NewPCG(a.seed, h.Sum64()))
		for !a.stopped() {
			p := a.startWithin(descriptors, args...)
			a.wait(p, name, a.lifetime(rnd, life, statuses == nil), statuses)
		}
	})
}

// lifetime returns when a process is killed: never in half of the cases, unless always is set. It is often much less than life.
func (a *attack) lifetime(rnd *rand.Rand, life time.Duration, always bool) <-chan time.Time {
	if !always && rnd.IntN(2) == 0 {
		return nil
	}
	return time.After(time.Duration(rnd.Int64N(int64(life >> rnd.IntN(8)))))
}

// wait waits for the end of a process, kills it at a time, and checks how it ended.
func (a *attack) wait(p *process, name string, death <-chan time.Time, statuses []int) {
	select {
	case <-p.ended:
	case <-death:
		p.kill(a.t)
	case <-time.After(3 * patience):
		p.kill(a.t)
		a.t.Errorf("%s does not end; output:\n%s", name, p.tail())
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case p.killed():
		a.killed[name]++
	case slices.Contains(statuses, p.status()):
		a.ended[name]++
	default:
		a.t.Errorf("%s ended with status %d, want one of %v; output:\n%s", name, p.status(), statuses, p.tail())
	}
	p.out = bytes.Buffer{} // there are thousands of processes
}

// maintain starts the commands that maintain the store. They may end with 3 because of requests that fail.
func (a *attack) maintain() {
	may := []int{0, 3}
	for _, name := range []string{"compact", "compact 2"} {
		a.repeat(name, 2*time.Second, may, a.compact()...)
	}
	a.repeat("retain", time.Second, may, a.retain()...)
	a.repeat("reindex", 2*time.Second, may, "reindex", "--store", a.store)
	a.repeat("verify", 2*time.Second, may, "verify", "--store", a.store)
}

func (a *attack) compact() []string { return []string{"compact", "--store", a.store, "--grace", "0s"} }

func (a *attack) retain() []string {
	return []string{"retain", "--store", a.store, "--class", "debug=1d"}
}

// query searches ranges at random and compares the lines with those that were found before.
func (a *attack) query() {
	a.workers.Go(func() {
		rnd := rand.New(rand.NewPCG(a.seed, 1000))
		found := map[int]map[string]bool{} // by minute
		for !a.stopped() {
			from := rnd.IntN(len(found) + 2)
			to := from + 1 + rnd.IntN(60)
			answer, complete := a.answer(rnd, from, to)
			a.compare(found, answer, from, to, complete)
		}
	})
}

// answer is that of a query for some minutes. It is not complete if the query was killed or says so.
func (a *attack) answer(rnd *rand.Rand, from, to int) (lines string, complete bool) {
	out, err := os.CreateTemp(a.root, "answer-")
	if err != nil {
		a.t.Error(err)
		return "", false
	}
	defer os.Remove(out.Name())
	defer out.Close()
	at := func(minute int) string { return base.Add(time.Duration(minute) * time.Minute).Format(time.RFC3339) }
	logq := within(descriptors, programPath("logq"), "query", "--store", a.store, "-s", "crash", "--from", at(from), "--to", at(to), "-o", "raw")
	p := startProcess(a.t, "/bin/sh", out, a.daemon, logq...)
	a.wait(p, "query", a.lifetime(rnd, 2*time.Second, false), []int{0, 1, 3})
	all, err := os.ReadFile(out.Name())
	if err != nil {
		a.t.Error(err)
	}
	return string(all), !p.killed() && p.status() < 3
}

// compare checks that lines are unique and those of some minutes that were found before are among them, and adds them.
func (a *attack) compare(found map[int]map[string]bool, lines string, from, to int, complete bool) {
	now := map[string]bool{}
	for line := range strings.Lines(lines) {
		if now[line] && strings.HasSuffix(line, "\n") {
			a.t.Errorf("a query from minute %d to %d returns a line twice: %s", from, to, line)
			return
		}
		now[line] = true
	}
	if !complete {
		return
	}
	for minute := from; minute < to; minute++ {
		for line := range found[minute] {
			if !now[line] {
				a.t.Errorf("a query from minute %d to %d misses a line that an earlier one found: %s", from, to, line)
				return
			}
		}
	}
	for line := range now {
		at, err := time.Parse("2006-01-02 15:04:05", line[:len("2006-01-02 15:04:05")])
		if err != nil {
			continue // a piece of a line
		}
		minute := int(at.Sub(base) / time.Minute)
		if found[minute] == nil {
			found[minute] = map[string]bool{}
		}
		found[minute][line] = true
	}
}

// finish ships what is left, completes maintenance, and checks the store.
func (a *attack) finish() {
	for id := range attackers {
		a.must(a.t, append([]string{"shipper"}, a.ship(id, "--once", "--retry-for", "60s")...)...)
		if names, err := filepath.Glob(filepath.Join(a.bufferOf(id), "quarantine", "*")); err != nil || len(names) > 0 {
			a.t.Errorf("in quarantine: %v, error %v", names, err)
		}
	}
	for _, args := range [][]string{a.compact(), a.retain(), {"reindex", "--store", a.store}, {"verify", "--store", a.store, "--full"}} {
		a.must(a.t, append([]string{"shipper"}, args...)...)
	}
	a.check(a.lines)
	if out := a.command(a.t, nil, "logq", "query", "--store", a.store, "-s", "short", "--from", "2000-01-01", "--to", "2100-01-01", "--count"); out.status != 1 {
		a.t.Errorf("after retention: status %d, %s", out.status, out.out)
	}
}
