package e2e

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"logstow/internal/test/await"
	"logstow/internal/test/effort"
)

// startWithin starts a shipper with a limit of open files, as options of ulimit.
func (r *rig) startWithin(limit string, args ...string) *process {
	r.t.Helper()
	return r.start("/bin/sh", []string{"PATH=" + r.root + ":" + os.Getenv("PATH")}, within(limit, plain(), args...)...)
}

// within are the arguments with which a shell becomes a program with a limit of open files.
func within(limit, bin string, args ...string) []string {
	return append([]string{"-c", "ulimit " + limit + ` && exec "$0" "$@"`, bin}, args...)
}

// listening returns the addresses of n listeners, in the order of their start.
func (p *process) listening(t *testing.T, n int) (addresses []string) {
	t.Helper()
	said := regexp.MustCompile(`"msg":"listening".*"address":"([^"]+)"`)
	await.Until(t, patience, "listeners", func() bool { return len(said.FindAllString(p.output(), -1)) == n })
	for _, found := range said.FindAllStringSubmatch(p.output(), -1) {
		addresses = append(addresses, found[1])
	}
	return addresses
}

// Idle connections on three listeners, more than the process may have descriptors, do not keep it from shipping lines of files
// and of the connections that it has accepted.
func TestIdleConnections(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "opens 2,400 connections")
	for _, limit := range []int{256, 1024} {
		t.Run(strconv.Itoa(limit), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, false)
			appendFile(t, r.logFile(), "")
			p := r.startWithin(fmt.Sprint("-n ", limit), r.args("--syslog", "tcp://127.0.0.1:0", "--forward", "127.0.0.1:0", "--http", "127.0.0.1:0", "--metrics", "127.0.0.1:0", "--flush-interval", "100ms", r.glob())...)
			addresses := p.listening(t, 3)
			metrics := p.address(t, "serving metrics")
			dial := func(address string) net.Conn {
				c, err := net.DialTimeout("tcp", address, patience) //nolint:noctx // it is local
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = c.Close() })
				return c
			}
			sender := dial(addresses[0])
			const idle = 1200
			for i := range idle {
				dial(addresses[i%len(addresses)])
			}
			const lines = 300
			want := map[string]bool{}
			for i := range lines {
				at := base.Add(time.Duration(i) * time.Second).Format(time.RFC3339)
				sent, written := fmt.Sprintf("%s INFO sent %d", at, i), fmt.Sprintf("%s INFO written %d", at, i)
				want[sent], want[written] = true, true
				if _, err := fmt.Fprintf(sender, "%s\n", sent); err != nil {
					t.Fatal(err)
				}
				appendFile(t, r.logFile(), written+"\n")
			}
			await.Until(t, patience, "all lines are stored", func() bool { return r.reads() && r.found() == 2*lines })
			open, most := metric(t, metrics, "process_open_fds"), metric(t, metrics, "process_max_fds")
			if open < float64(limit)/4 || open > float64(limit)*3/4 || most != float64(limit) {
				t.Errorf("%.0f of %.0f descriptors are open, want between a quarter and three quarters of %d", open, most, limit)
			}
			if n := metric(t, metrics, "logstow_buffer_descriptor_waits_total"); n != 0 {
				t.Errorf("the buffer waited %.0f times for a descriptor", n)
			}
			p.signal(t, os.Interrupt)
			p.end(t, patience)
			if p.status() != 0 || !strings.Contains(p.output(), "limit of open files allows an input fewer connections") {
				t.Errorf("status %d: %s", p.status(), p.tail())
			}
			r.check(want)
			t.Logf("%d idle connections, %.0f of %d descriptors are open", idle, open, limit)
		})
	}
}

// More files than descriptors are followed to their ends.
func TestMoreFilesThanDescriptors(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "follows 400 files")
	r := newRig(t, false)
	const files = 400
	want := map[string]bool{}
	write := func(round int) {
		for i := range files {
			line := fmt.Sprintf("%s INFO file %d round %d", base.Format(time.RFC3339), i, round)
			want[line] = true
			appendFile(t, filepath.Join(r.logs, fmt.Sprintf("f%d.log", i)), line+"\n")
		}
	}
	write(0)
	p := r.startWithin("-n 256", r.args("--metrics", "127.0.0.1:0", r.glob())...)
	metrics := p.address(t, "serving metrics")
	for round := range 3 {
		await.Until(t, patience, "all lines are stored", func() bool { return r.reads() && r.found() == files*(round+1) })
		if open := metric(t, metrics, "process_open_fds"); open > 192 {
			t.Errorf("%.0f descriptors are open", open)
		}
		if round < 2 {
			write(round + 1)
		}
	}
	p.signal(t, os.Interrupt)
	p.end(t, patience)
	if p.status() != 0 || strings.Contains(p.output(), "too many open files") {
		t.Errorf("status %d: %s", p.status(), p.tail())
	}
	r.check(want)
}

// A shipper that gets no descriptor any more waits, and continues when it does.
func TestNoDescriptors(t *testing.T) {
	t.Parallel()
	r := newRig(t, false)
	want := r.log(0, 100)
	p := r.start(plain(), nil, r.args(r.glob())...)
	await.Until(t, patience, "lines are stored", func() bool { return r.reads() && r.found() == 100 })
	var before unix.Rlimit
	if err := unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_NOFILE, nil, &before); err != nil {
		t.Fatal(err)
	}
	if err := unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: before.Max}, nil); err != nil {
		t.Fatal(err)
	}
	for line := range r.log(100, 2000) {
		want[line] = true
	}
	await.Until(t, patience, "it waits", func() bool { return strings.Contains(p.output(), "no file descriptor is free") })
	if err := unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_NOFILE, &before, nil); err != nil {
		t.Fatal(err)
	}
	await.Until(t, patience, "all lines are stored", func() bool { return r.found() == 2000 })
	p.signal(t, os.Interrupt)
	p.end(t, patience)
	if p.status() != 0 {
		t.Errorf("status %d: %s", p.status(), p.tail())
	}
	r.stored(len(want))
	r.check(want)
}

// The soft limit of open files is raised to the hard limit; children get the limit that the shipper was started with.
func TestSoftLimit(t *testing.T) {
	t.Parallel()
	r := newRig(t, false)
	said := filepath.Join(r.root, "limit")
	child := fmt.Sprintf("#!/bin/sh\nulimit -n >> %s\nexec sleep 60\n", said)
	if err := os.WriteFile(filepath.Join(r.root, "journalctl"), []byte(child), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	p := r.startWithin("-S -n 128 && ulimit -H -n 512", r.args("--journald", "--metrics", "127.0.0.1:0")...)
	if most := metric(t, p.address(t, "serving metrics"), "process_max_fds"); most < 511 {
		t.Errorf("the limit is %.0f, want 512", most)
	}
	await.Until(t, patience, "the child is started", func() bool { b, _ := os.ReadFile(said); return strings.Contains(string(b), "\n") })
	f, err := os.Open(said)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if b, err := io.ReadAll(f); err != nil || strings.Fields(string(b))[0] != "128" {
		t.Errorf("the limit of the child is %q, want 128, %v", b, err)
	}
	p.signal(t, os.Interrupt)
	p.end(t, patience)
}
