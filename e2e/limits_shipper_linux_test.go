package e2e

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"logstow/internal/test/await"
	"logstow/internal/test/effort"
)

// The limits of a shipper that docs/limits.md states.
const (
	multilineLines = 1000
	tapClients     = 4
	tapMessage     = 64 << 10
	inotifyInputs  = 3
)

// One shipper of files keeps to the limits of multi-line records, of series, of taps and of inotify instances.
func TestShipperLimits(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "opens all inputs and taps that it may")
	const maxSeries = 3
	r := newRig(t, false)
	path := func(i int) string { return filepath.Join(r.logs, fmt.Sprintf("%d.log", i)) }
	var inputs strings.Builder
	for i := range inotifyInputs {
		appendFile(t, path(i), "")
		fmt.Fprintf(&inputs, "- {files: %q, service: crash, from-start: true}\n", path(i))
	}
	config := filepath.Join(r.root, "shipper.yaml")
	text := fmt.Sprintf("store: %s\nbuffer: {dir: %q}\nflush-interval: 200ms\nmetrics: 127.0.0.1:0\nlog-metrics:\n- {name: users_total, type: counter, where: has(user), labels: [user], max-series: %d}\ninputs:\n%s",
		r.store, r.buffer, maxSeries, inputs.String())
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := r.start(plain(), nil, "run", "--config", config)
	metrics := p.address(t, "serving metrics")
	await.Until(t, patience, "it starts", p.started)
	if n := p.descriptors(t, "anon_inode:inotify"); n != inotifyInputs {
		t.Errorf("%d inotify instances of %d inputs of files", n, inotifyInputs)
	}

	var taps []*process
	for range tapClients {
		out, err := os.Create(filepath.Join(r.root, fmt.Sprintf("tap-%d", len(taps))))
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		tap := startProcess(t, plain(), out, r.daemon, "tap", "--buffer-dir", r.buffer, "-o", "json")
		await.Until(t, patience, "the tap is connected", func() bool { return strings.Contains(tap.output(), "connected") })
		taps = append(taps, tap)
	}
	if res := r.command(t, nil, "shipper", "tap", "--buffer-dir", r.buffer); res.status != 3 || !strings.Contains(res.errs, fmt.Sprintf("%d taps are connected", tapClients)) {
		t.Errorf("one more tap: status %d, %s", res.status, res.errs)
	}
	shown := func(i int) []byte {
		out, err := os.ReadFile(filepath.Join(r.root, fmt.Sprintf("tap-%d", i)))
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(out) {
			if bytes.HasSuffix(line, []byte("\n")) && bytes.Contains(line, []byte(`"message":`)) {
				return line
			}
		}
		return nil
	}
	await.Until(t, patience, "each tap shows a record", func() bool {
		appendFile(t, path(0), "2026-11-20T15:04:05Z INFO "+strings.Repeat("tapped ", 20_000)+"\n")
		time.Sleep(100 * time.Millisecond) // some may be skipped
		return !slices.ContainsFunc([]int{0, 1, 2, 3}, func(i int) bool { return len(shown(i)) == 0 })
	})
	for i := range tapClients {
		if n := len(decode[struct{ Message string }](t, shown(i)).Message); n != tapMessage {
			t.Errorf("tap %d: a message of %d bytes", i, n)
		}
	}

	frame := "\tat a.b.C.d(C.java:1)\n"
	appendFile(t, path(1), "2026-11-20T15:04:05Z ERROR request failed\njava.lang.RuntimeException: outer\n"+strings.Repeat(frame, 5*multilineLines/2)+"2026-11-20T15:04:06Z INFO last\n")
	long := "\tat " + strings.Repeat("a.b.C.", 10_000) + "d(C.java:1)\n"
	appendFile(t, path(2), "2026-11-20T15:04:05Z ERROR long frames\njava.lang.RuntimeException: outer\n"+strings.Repeat(long, 40)+"2026-11-20T15:04:06Z INFO last\n")
	for i := range 2 * maxSeries {
		appendFile(t, path(0), fmt.Sprintf("2026-11-20T15:04:07Z INFO user=u%d\n", i))
	}
	appendFile(t, path(0), "2026-11-20T15:04:08Z INFO last\n")
	var got []byte
	await.Until(t, patience, "all is stored", func() bool {
		got = r.command(t, nil, "logq", "query", "-s", "crash", "--from", "2026-11-20", "--to", "2026-11-21", "-o", "json").out
		return bytes.Count(got, []byte(`"message":"2026-11-20T15:04:0`)) > 0 && bytes.Count(got, []byte("INFO last")) == 3
	})
	mostLines, mostBytes, frames := 0, 0, 0
	for line := range bytes.Lines(got) {
		message := decode[struct{ Message string }](t, line).Message
		mostLines, mostBytes = max(mostLines, strings.Count(message, "\n")+1), max(mostBytes, len(message))
		frames += strings.Count(message, "\tat ")
	}
	t.Logf("records of at most %d lines and %d bytes", mostLines, mostBytes)
	if mostLines != multilineLines || mostBytes > 1<<20 || mostBytes < 1<<19 || frames != 5*multilineLines/2+40 {
		t.Errorf("records of at most %d lines and %d bytes, with %d frames", mostLines, mostBytes, frames)
	}
	if n := metric(t, metrics, `logstow_log_metric_series{metric="users_total"}`); n != maxSeries {
		t.Errorf("%.0f series", n)
	}
	if n := metric(t, metrics, `logstow_log_metric_skipped_records_total{metric="users_total",reason="max-series"}`); n != maxSeries {
		t.Errorf("%.0f records are not counted", n)
	}

	p.signal(t, syscall.SIGTERM)
	p.end(t, patience)
	for _, tap := range taps {
		tap.end(t, patience)
	}
}

// descriptors counts a process's open descriptors of a kind.
func (p *process) descriptors(t *testing.T, kind string) (n int) {
	t.Helper()
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		if to, _ := os.Readlink(link); strings.HasPrefix(to, kind) {
			n++
		}
	}
	return n
}

// A service that is followed is flushed early as often as --max-watch-flushes.
func TestWatchFlushLimit(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "writes until the limit is reached twice")
	const limit = 2
	r := newRig(t, false)
	appendFile(t, r.logFile(), "first\n")
	p := r.start(plain(), nil, r.args("--flush-interval", "1h", "--flush-size", "8MiB", "--bucket", "60m", "--watch-interval", "1s", "--max-watch-flushes", fmt.Sprint(limit), "--metrics", "127.0.0.1:0", r.glob())...)
	metrics := p.address(t, "serving metrics")
	r.must(t, "shipper", "run", "--once", "--store", r.store, "--service", "other", "--buffer-dir", r.buffer+"-other", r.logFile()) // the store exists
	follower := startProcess(t, programPath("logq"), nil, r.daemon, "query", "-f", "-s", "crash", "--store", r.store)
	written := 0
	await.Until(t, patience, "the limit is reached", func() bool {
		written++
		appendFile(t, r.logFile(), fmt.Sprintf("line %d\n", written))
		time.Sleep(50 * time.Millisecond) // the pace of the program
		return metric(t, metrics, "logstow_watch_limited_flushes_total") >= 2
	})
	if n := metric(t, metrics, "logstow_watch_flushes_total"); n != limit {
		t.Errorf("%.0f early flushes", n)
	}
	if n := strings.Count(p.output(), "limit of early flushes reached"); n != 1 {
		t.Errorf("logged %d times", n)
	}
	follower.signal(t, os.Interrupt)
	follower.end(t, patience)
}

// An entry of the journal is not held as a whole.
func TestJournalMemory(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "an entry of 512 MiB")
	r := newRig(t, false)
	const size = 512 << 20
	entry := filepath.Join(r.root, "entry")
	// In the export format a field with a length: its bytes are those of an unnamed field of the entry, and of a message.
	script := fmt.Sprintf(`#!/bin/sh
head=%q
printf '__CURSOR=a\n__REALTIME_TIMESTAMP=1795000000000000\nOTHER\n\0\0\0\040\0\0\0\0'
head -c %d /dev/zero
printf '\nMESSAGE\n\0\0\0\040\0\0\0\0'
head -c %d /dev/zero | tr '\0' x
printf '\n_SYSTEMD_UNIT=a.service\n\n'
exec sleep 600
`, entry, size, size)
	if err := os.WriteFile(filepath.Join(r.root, "journalctl"), []byte(script), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	p := r.start(plain(), []string{"PATH=" + r.root + ":" + os.Getenv("PATH")}, r.args("--journald")...)
	await.Until(t, patience, "the entry is stored", func() bool { return r.reads() && r.found() == 1 })
	checkPeak(t, "an entry of two fields of 512 MiB", memoryPeak(p.cmd.Process.Pid), promised)
	p.signal(t, os.Interrupt)
	p.end(t, patience)
}

// Records that wait in open batches of many services take a part of the memory of a shipper.
func TestOpenBatches(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "256 MB that do not compress")
	r := newRig(t, false)
	const services, size = 64, 4 << 20
	var config strings.Builder
	fmt.Fprintf(&config, "store: %s\nbuffer: {dir: %q}\nflush-interval: 1h\nflush-size: 64MiB\ninputs:\n", r.store, r.buffer)
	rnd := rand.New(rand.NewPCG(r.seed, 8))
	for i := range services {
		text := make([]byte, size)
		for j := range text {
			if text[j] = byte(' ' + rnd.IntN(95)); j%500 == 499 {
				text[j] = '\n'
			}
		}
		file := filepath.Join(r.logs, fmt.Sprintf("%d.log", i))
		appendFile(t, file, string(text))
		fmt.Fprintf(&config, "- {files: %q, service: s%d, from-start: true}\n", file, i)
	}
	file := filepath.Join(r.root, "shipper.yaml")
	if err := os.WriteFile(file, []byte(config.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	p := r.start(plain(), nil, "run", "--config", file)
	await.Until(t, patience, "all files are read", func() bool { return p.bytesRead() > services*size })
	p.signal(t, syscall.SIGTERM)
	p.end(t, patience)
	if p.status() != 0 {
		t.Fatalf("status %d: %s", p.status(), p.tail())
	}
	checkPeak(t, "open batches of 256 MB", p.peak(), promised)
}
