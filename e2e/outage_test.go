package e2e

import (
	"bufio"
	"context"
	"fmt"
	"hash/maphash"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"logstow/internal/test/await"
	"logstow/internal/test/effort"
	"logstow/internal/test/faultproxy"
	"logstow/internal/test/loggen"
)

// maxMemory is what a shipper may use at most, whatever waits.
const maxMemory = 128 << 20

// outageBytes is how much is logged while storage is away: LOGSTOW_OUTAGE_MB.
func outageBytes(t *testing.T) int64 {
	t.Helper()
	v := os.Getenv("LOGSTOW_OUTAGE_MB")
	if v == "" {
		return int64(effort.Cases{Test: 60e6, Full: 200e6}.N())
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < 1 {
		t.Fatalf("LOGSTOW_OUTAGE_MB=%s: want a number from 1", v)
	}
	return n * 1e6
}

// TestOutage logs while storage refuses connections. All of it waits on disk,
// compressed, and arrives when storage is back: oldest first but for some of the newest, and in parallel.
func TestOutage(t *testing.T) {
	t.Parallel()
	r := newRig(t, true)
	path := filepath.Join(r.logs, "app.log")
	raw := outageBytes(t)
	r.outage()
	appendFile(t, path, "")
	p := r.start(plain(), nil, r.args("--flush-interval", "1m", "--flush-size", "512KiB", "--bucket", "60m",
		"--buffer-size", "2GiB", "--drain-timeout", "5m", r.glob())...)
	want := generate(t, path, raw)
	r.read(p, path)
	// What is left uncompressed is what open batches hold, which does not grow with the outage.
	backlog := size(t, r.buffer)
	if limit := raw/3 + 64<<20; backlog > limit {
		t.Errorf("%d MB wait on disk for %d MB logged, want at most %d", backlog>>20, raw>>20, limit>>20)
	}
	if sealed := size(t, filepath.Join(r.buffer, "sealed")); sealed > raw/3 || sealed == 0 {
		t.Errorf("%d MB are sealed of %d MB logged, want at most a third", sealed>>20, raw>>20)
	}
	var order []string
	r.proxy.SetRules(faultproxy.Rule{Match: func(k faultproxy.Kind, req *http.Request) bool {
		if k == faultproxy.CreateBlob {
			order = append(order, req.Header.Get("X-Ms-Meta-Seq"))
		}
		return k == faultproxy.CreateBlob
	}, Chance: 1, Faults: []faultproxy.Fault{faultproxy.Slow}})
	if err := r.proxy.Up(); err != nil {
		t.Fatal(err)
	}
	p.signal(t, os.Interrupt)
	p.end(t, 6*time.Minute)
	if p.status() != 0 {
		t.Fatalf("status %d, output of the shipper:\n%s", p.status(), p.tail())
	}
	checkMemory(t, p)
	if got := r.proxy.Counts().Peak[faultproxy.CreateBlob]; got < 2 {
		t.Errorf("at most %d creates were under way at one time: a backlog drains in parallel", got)
	}
	r.proxy.SetRules() // also: no more is added to order
	checkOrder(t, order)
	if got := r.digest(); got != want {
		t.Errorf("%d lines with sum %x came back, want %d with %x", got.lines, got.sum, want.lines, want.sum)
	}
	t.Logf("%d MB logged, %d MB waited on disk, %d creates, at most %d at one time",
		raw/1e6, backlog/1e6, len(order), r.proxy.Counts().Peak[faultproxy.CreateBlob])
}

// checkOrder wants creates in the order of sealing, but for those that are under
// way at one time, and some that are the newest.
func checkOrder(t *testing.T, seqs []string) {
	t.Helper()
	const together = 64 // the most that a shipper sends at the same time
	newest := 0
	for i, seq := range seqs {
		if seq == "" {
			t.Fatalf("create %d has no Seq in its metadata", i)
		}
		if i+together >= len(seqs) || seq < slices.Min(seqs[i+together:]) {
			continue
		}
		newest++
		if later := slices.Max(seqs[i+together:]); seq < later {
			t.Fatalf("create %d was of Seq %s, older and newer ones (%s) came later", i, seq, later)
		}
	}
	if len(seqs) > 10*together && newest == 0 || newest > len(seqs)/3 {
		t.Errorf("%d of %d creates went before older ones", newest, len(seqs))
	}
}

// digest is equal for equal sets of lines, whatever their order.
type digest struct {
	lines int
	sum   uint64
}

func (d *digest) add(line []byte) {
	d.lines++
	d.sum += maphash.Bytes(digestSeed, line)
}

var digestSeed = maphash.MakeSeed()

// generate appends JSON lines of some hours to a file.
func generate(t *testing.T, path string, raw int64) digest {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	pr, pw := io.Pipe()
	sum := make(chan digest, 1)
	go func() { sum <- digestOf(pr) }()
	err = loggen.Write(io.MultiWriter(f, pw), loggen.Options{Kind: "json", Size: raw, Start: base, Span: 6 * time.Hour, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	_ = pw.Close()
	return <-sum
}

func digestOf(r io.Reader) digest {
	var d digest
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		d.add(s.Bytes())
	}
	return d
}

// digest reads back everything that the rig's service logged.
func (r *rig) digest() digest {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, programPath("logq"), "query", "-s", "crash", "--from", "2000-01-01", "--to", "2100-01-01", "-o", "raw", "--no-cache")
	cmd.Env = append(slices.Clone(r.daemon), "LOGSTOW_STORE="+r.store)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	d := digestOf(out)
	if err := cmd.Wait(); err != nil {
		r.t.Fatalf("logq: %v\n%s", err, errs.String())
	}
	return d
}

// TestManyWaitingBatches starts with thousands of batches waiting: soon, and in little memory.
func TestManyWaitingBatches(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "seals thousands of batches")
	const batches = 10_000
	r := newRig(t, true)
	path := filepath.Join(r.logs, "app.log")
	var b strings.Builder
	want := map[string]bool{}
	for i := range batches { // each in a bucket of its own
		l := fmt.Sprintf("%s INFO batch %d", base.Add(time.Duration(i)*5*time.Minute).Format(time.RFC3339), i)
		want[l] = true
		b.WriteString(l + "\n")
	}
	appendFile(t, path, b.String())
	r.outage()
	quiet := []string{"--flush-interval", "1h", "--sync", "never", "--drain-timeout", "20s"}
	p := r.start(plain(), nil, append(r.args(quiet...), r.glob())...)
	waiting := func() int {
		sealed, err := filepath.Glob(filepath.Join(r.buffer, "sealed", "*.seg"))
		if err != nil {
			t.Fatal(err)
		}
		return len(sealed)
	}
	await.Until(t, 5*time.Minute, "all but the open buckets are sealed", func() bool { return waiting() >= batches-64 })
	p.signal(t, os.Interrupt)
	p.end(t, patience)
	if got := waiting(); got < batches {
		t.Fatalf("%d batches wait, want %d\n%s", got, batches, p.tail())
	}

	// Storage answers, but takes nothing yet.
	asked := make(chan time.Duration, 1) // the CPU time of the shipper by then
	var pid int
	started := make(chan struct{}) // closed once pid is set
	r.proxy.SetRules(faultproxy.Rule{Match: func(k faultproxy.Kind, _ *http.Request) bool {
		if k == faultproxy.CreateBlob {
			<-started
			select {
			case asked <- cpuTime(pid):
			default:
			}
		}
		return true
	}, Chance: 1, Faults: []faultproxy.Fault{faultproxy.InternalError}})
	if err := r.proxy.Up(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	p = r.start(plain(), nil, append(r.args("--drain-timeout", "5m"), r.glob())...)
	pid = p.cmd.Process.Pid
	close(started)
	var used time.Duration
	select {
	case used = <-asked:
	case <-p.ended:
		t.Fatalf("ended with status %d, output:\n%s", p.status(), p.tail())
	case <-time.After(patience):
		t.Fatal("no batch is sent")
	}
	took := time.Since(began)
	if used == 0 || used > 2*time.Second { // the time that passes depends on what else the machine does
		t.Errorf("the first batch was sent after %v of CPU time and %v, want 2 s", used, took)
	}
	r.proxy.SetRules()
	creates := func() int { return r.proxy.Counts().Requests[faultproxy.CreateBlob] }
	await.Until(t, patience, "many batches are sent", func() bool { return creates() > 500 })
	if os.Getenv("LOGSTOW_CRASH_KILLS") == "" { // all of them take half a minute
		p.kill(t)
		checkMemory(t, p)
		t.Logf("%d batches: the first was sent after %v, %v of CPU time", batches, took, used)
		return
	}
	p.signal(t, os.Interrupt)
	p.end(t, 5*time.Minute)
	if p.status() != 0 {
		t.Fatalf("status %d, output of the shipper:\n%s", p.status(), p.tail())
	}
	checkMemory(t, p)
	t.Logf("%d batches: the first was sent after %v, all %v after the start", batches, took, time.Since(began))
	r.check(want)
}

// cpuTime is the CPU time that a program has used, 0 if that is unknown.
func cpuTime(pid int) time.Duration {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)) // none once it has ended
	_, after, _ := strings.Cut(string(text), ") ")            // the name has no such characters
	var user, system int64
	if fields := strings.Fields(after); len(fields) > 12 {
		user, _ = strconv.ParseInt(fields[11], 10, 64)
		system, _ = strconv.ParseInt(fields[12], 10, 64)
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}

// checkMemory looks at the peak of a program that has ended.
func checkMemory(t *testing.T, p *process) {
	t.Helper()
	peak := p.peak()
	if peak > maxMemory {
		t.Errorf("peak memory %d MiB, want at most %d", peak>>20, maxMemory>>20)
	}
	t.Logf("peak memory %d MiB", peak>>20)
}
