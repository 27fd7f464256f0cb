package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"logstow/internal/test/await"
	"logstow/internal/test/azurite"
	"logstow/internal/test/effort"
	"logstow/internal/test/faultproxy"
	"logstow/internal/test/programs"
	"logstow/internal/test/testrand"
)

// rig is a place where shippers are killed: log files that are written, a buffer
// directory, a store, and on Azure a proxy before it. What it holds on disk is
// kept when its test fails.
type rig struct {
	target
	t      *testing.T
	proxy  *faultproxy.Proxy // nil on the local store
	root   string            // holds all of it
	logs   string
	buffer string
	seed   uint64
	rnd    *rand.Rand // the test's own goroutine only
	daemon []string   // the environment of shippers
	// hits and missed count by named point the kills there, and the lives that
	// ended before they came there.
	hits, missed map[string]int
	kills        int
	// cut are lines that may have been read as two, with those.
	cut map[string][2]string
}

// newRig makes a rig on the local store or, with azure, on a new container of Azurite.
func newRig(t *testing.T, azure bool) *rig {
	t.Helper()
	effort.Need(t, effort.Test, "takes long")
	seed := testrand.Seed(t)
	root, err := os.MkdirTemp("", "logstow-crash-")
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{
		t: t, root: root, logs: filepath.Join(root, "logs"), buffer: filepath.Join(root, "buffer"),
		seed: seed, rnd: rand.New(rand.NewPCG(seed, 1)), hits: map[string]int{}, missed: map[string]int{}, cut: map[string][2]string{},
	}
	t.Logf("in %s", root)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("kept: %s", root)
		} else if err := os.RemoveAll(root); err != nil {
			t.Error(err)
		}
	})
	if azure {
		r.onAzurite()
	} else {
		r.target = target{name: "local", store: filepath.Join(root, "store"), dir: filepath.Join(root, "store")}
	}
	r.daemon = append(cleanEnv(t), r.env...)
	return r
}

// onAzurite puts a proxy before Azurite, which passes everything on until it is configured otherwise.
func (r *rig) onAzurite() {
	a := azurite.Start(r.t)
	p, err := faultproxy.Start(faultproxy.Options{Blob: a.BlobEndpoint, Table: a.TableEndpoint, Seed: r.seed, AsAzure: true})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		if err := p.Close(); err != nil {
			r.t.Error(err)
		}
	})
	through := azurite.Azurite{BlobEndpoint: p.BlobEndpoint, TableEndpoint: p.TableEndpoint}
	r.proxy = p
	r.target = target{
		name:  "azurite",
		store: "azblob://" + a.Container(),
		env:   []string{"AZURE_STORAGE_CONNECTION_STRING=" + through.ConnectionString()},
	}
}

// faults lets a share of all requests fail; none on the local store.
func (r *rig) faults(chance float64) {
	if r.proxy == nil {
		return
	}
	if err := r.proxy.Up(); err != nil {
		r.t.Fatal(err)
	}
	r.proxy.SetRules(faultproxy.Rule{Chance: chance})
}

// outage makes storage unreachable until faults is called.
func (r *rig) outage() {
	if r.proxy == nil {
		return
	}
	if err := r.proxy.Down(); err != nil {
		r.t.Fatal(err)
	}
}

// args are the arguments of a shipper with the rig's buffer, and more, which replace
// defaults of the same flag.
func (r *rig) args(more ...string) []string {
	args := []string{"run", "--from-start", "--buffer-dir", r.buffer}
	for _, flag := range [][]string{
		{"--store", r.store},
		{"--service", "crash"},
		{"--instance", "pod-1"},
		{"--flush-interval", "200ms"},
		{"--flush-size", "16KiB"},
		{"--bucket", "5m"},
	} {
		if !slices.Contains(more, flag[0]) {
			args = append(args, flag...)
		}
	}
	return append(args, more...)
}

// glob is every log file of the rig.
func (r *rig) glob() string { return filepath.Join(r.logs, "**", "*.log*") }

// settle ends the faults and ships what is left; the shipper itself must find all stored and indexed.
func (r *rig) settle(args ...string) {
	r.t.Helper()
	r.faults(0)
	p := r.start(plain(), nil, r.args(append([]string{"--once", "--retry-for", "60s"}, args...)...)...)
	select {
	case <-p.ended:
	case <-time.After(3 * time.Minute):
		r.t.Fatalf("the last run does not end; output:\n%s", p.tail())
	}
	if status := p.status(); status != 0 {
		r.t.Fatalf("the last run ended with status %d, output:\n%s", status, p.tail())
	}
	if aside := r.quarantined(); len(aside) > 0 {
		r.t.Errorf("in quarantine: %s", aside)
	}
}

// eachRecord calls do with the message and the attributes of each record that readers find.
func (r *rig) eachRecord(do func(message, attributes string)) {
	r.t.Helper()
	for l := range strings.Lines(string(r.must(r.t, "logq", "query", "-s", "crash", "--from", "2000-01-01", "--to", "2100-01-01", "-o", "json", "--no-cache"))) {
		var found struct {
			Message    string          `json:"message"`
			Attributes json.RawMessage `json:"attributes"`
		}
		if err := json.Unmarshal([]byte(l), &found); err != nil {
			r.t.Fatalf("%q: %v", l, err)
		}
		do(found.Message, string(found.Attributes))
	}
}

// quarantined are the files that were set aside.
func (r *rig) quarantined() []string {
	names, err := filepath.Glob(filepath.Join(r.buffer, "quarantine", "*"))
	if err != nil {
		r.t.Fatal(err)
	}
	return names
}

// plain is the shipper as people get it.
func plain() string { return programPath("shipper") }

// armedShipper is the shipper that can be killed at named points.
func armedShipper(t *testing.T) string {
	t.Helper()
	return armed(t, "logstow/cmd/shipper")
}

// armed builds a program that can be killed at named points.
func armed(t *testing.T, pkg string) string {
	t.Helper()
	dir, err := programs.Build(programs.Crashpoints, pkg)
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, path.Base(pkg))
}

// patience is how long tests wait for what takes moments, unless the machine is busy with other things.
const patience = 2 * time.Minute

// process is a running program. It ends with the test at the latest.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{}
	peak  func() int64

	mu  sync.Mutex
	out bytes.Buffer
}

// start starts a program of the rig.
func (r *rig) start(bin string, env []string, args ...string) *process {
	r.t.Helper()
	return startProcess(r.t, bin, nil, append(slices.Clone(r.daemon), env...), args...)
}

// startProcess starts a program that writes to out, which may be nil.
func startProcess(t *testing.T, bin string, out *os.File, env []string, args ...string) *process {
	t.Helper()
	return startProcessOn(t, bin, nil, out, env, args...)
}

// startProcessOn is startProcess with standard input, which may be nil.
func startProcessOn(t *testing.T, bin string, in, out *os.File, env []string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.CommandContext(t.Context(), bin, args...), ended: make(chan struct{})}
	p.cmd.Env = env
	p.cmd.Stderr = p
	if in != nil {
		p.cmd.Stdin = in
	}
	if out != nil {
		p.cmd.Stdout = out
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.peak = watchMemory(p.cmd.Process.Pid)
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // how it ended is in ProcessState
	}()
	t.Cleanup(func() { <-p.ended }) // the context's end killed it
	return p
}

// Write takes the program's standard error.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}

// output is all that the program wrote.
func (p *process) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// tail is the end of what the program wrote.
func (p *process) tail() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.out.Bytes()
	return string(b[max(0, len(b)-4000):])
}

// signal sends one, unless the program has ended.
func (p *process) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
}

// kill is kill -9.
func (p *process) kill(t *testing.T) {
	t.Helper()
	p.signal(t, syscall.SIGKILL)
	<-p.ended
}

// status is how an ended program ended: -1 is by a signal.
func (p *process) status() int { return p.cmd.ProcessState.ExitCode() }

// killed reports whether SIGKILL ended the program.
func (p *process) killed() bool {
	s, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && s.Signaled() && s.Signal() == syscall.SIGKILL
}

// end waits for a program's end.
func (p *process) end(t *testing.T, within time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	select {
	case <-p.ended:
	case <-ctx.Done():
		t.Fatalf("still running after %v; output:\n%s", within, p.tail())
	}
}

// unique checks that got has every line that want describes exactly once.
func unique(t *testing.T, want map[string]bool, got []byte) {
	t.Helper()
	counts := make(map[string]int, len(want))
	var foreign []string
	for l := range strings.Lines(string(got)) {
		l = strings.TrimSuffix(l, "\n")
		counts[l]++
		if !want[l] {
			foreign = append(foreign, l)
		}
	}
	var lost, doubled []string
	for l := range want {
		switch counts[l] {
		case 0:
			lost = append(lost, l)
		case 1:
		default:
			doubled = append(doubled, fmt.Sprintf("%s (%d times)", l, counts[l]))
		}
	}
	for _, offenders := range []struct {
		what  string
		lines []string
	}{{"lost", lost}, {"doubled", doubled}, {"never written", foreign}} {
		if len(offenders.lines) > 0 {
			slices.Sort(offenders.lines)
			t.Errorf("%d of %d lines %s, the first: %q", len(offenders.lines), len(want), offenders.what, offenders.lines[:min(5, len(offenders.lines))])
		}
	}
}

// read waits until a program has read about as much as a file holds, and nothing
// more for a while. What it reads of others counts, so it may have a little left.
func (r *rig) read(p *process, path string) {
	r.t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		r.t.Fatal(err)
	}
	last, since := int64(-1), time.Now()
	await.Until(r.t, 5*time.Minute, "read to its end: "+path, func() bool {
		select {
		case <-p.ended:
			r.t.Fatalf("the shipper ended before it had read %s, with status %d, output:\n%s", path, p.status(), p.tail())
		default:
		}
		if now := p.bytesRead(); now != last {
			last, since = now, time.Now()
		}
		return last >= info.Size() && time.Since(since) > 300*time.Millisecond
	})
}

// logged waits until the write-ahead log holds a text.
func (r *rig) logged(text string) {
	r.t.Helper()
	await.Until(r.t, patience, "in the log: "+text, func() bool {
		files, err := filepath.Glob(filepath.Join(r.buffer, "wal", "*.log"))
		if err != nil {
			r.t.Fatal(err)
		}
		return slices.ContainsFunc(files, func(file string) bool {
			content, _ := os.ReadFile(file) // files come and go while we look
			return bytes.Contains(content, []byte(text))
		})
	})
}

// bytesRead is what a program has read so far, of all files.
func (p *process) bytesRead() int64 {
	counts, _ := os.ReadFile(fmt.Sprintf("/proc/%d/io", p.cmd.Process.Pid)) // none once the program has ended
	for l := range strings.Lines(string(counts)) {
		if v, found := strings.CutPrefix(l, "rchar: "); found {
			n, _ := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
			return n
		}
	}
	return -1
}

// size is the bytes of all files below a directory; a missing one has none.
func size(t *testing.T, dir string) int64 {
	t.Helper()
	var sum int64
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil //nolint:nilerr // files come and go while we look
		}
		if info, err := d.Info(); err == nil {
			sum += info.Size()
		}
		return nil
	})
	return sum
}
