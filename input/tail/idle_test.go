//go:build unix

package tail_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"logstow/internal/test/heap"

	"logstow/buffer"
	"logstow/input"
	"logstow/input/tail"
	"logstow/internal/test/await"
)

// cpuTime is the CPU time of this process.
func cpuTime(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// The cost of 10,000 idle files: LOGSTOW_IDLE=30s measures for that long and compares
// it with limits that a busy machine would exceed.
func TestIdleFiles(t *testing.T) {
	t.Parallel()
	span, err := time.ParseDuration(os.Getenv("LOGSTOW_IDLE"))
	if err != nil {
		t.Skip("slow: set LOGSTOW_IDLE to the duration of the measurement, such as 30s")
	}
	for _, polling := range []bool{false, true} {
		dir := t.TempDir()
		const files = 10_000
		for i := range files {
			put(t, dir, fmt.Sprintf("%02d/%04d.log", i%50, i), strings.Repeat(line(i)+"\n", 40))
		}
		before := heap.Live()
		s := newSink()
		stop := startTail(t, tail.Options{
			Options: input.Options{Service: "x", Sink: s}, Paths: []string{filepath.Join(dir, "**", "*.log")},
			Polling: polling, Resume: true, FromStart: true,
		})
		read := 0
		await.Until(t, 5*time.Minute, "all is read", func() bool { read += len(s.take()); return read >= 40*files })
		time.Sleep(12 * time.Second) // until no file is active
		open := openBelow(t, dir)
		began := cpuTime(t)
		time.Sleep(span) // the time that is measured
		percent := 100 * float64(cpuTime(t)-began) / float64(span)
		each := (heap.Live() - before) / files
		t.Logf("polling %v: %d idle files cost %.2f%% of a core, %d bytes each, %d open", polling, files, percent, each, open)
		if percent > 3 || each > 8<<10 || open > 1024 {
			t.Error("above the limit")
		}
		stop()
	}
}

// BenchmarkFollow reads a file that is being written, BenchmarkOnce a complete one.
func BenchmarkFollow(b *testing.B) { benchmark(b, false) }

func BenchmarkOnce(b *testing.B) { benchmark(b, true) }

func benchmark(b *testing.B, once bool) {
	const size = 64 << 20
	text := strings.Repeat(`{"time":"2026-11-20T15:04:05.123Z","level":"info","service":"checkout","msg":"order accepted","status":200}`+"\n", 1024)
	dir := b.TempDir()
	path := filepath.Join(dir, "a.log")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	var total, cpu time.Duration
	for b.Loop() {
		if err := f.Truncate(0); err != nil {
			b.Fatal(err)
		}
		_, _ = f.Seek(0, 0)
		var stats input.Stats
		opts := tail.Options{Options: input.Options{Service: "x", Sink: nowhere{}, Stats: &stats}, Paths: []string{path}, FromStart: true, Once: once}
		write := func(piece int, pause time.Duration) int64 {
			n := 0
			for n < size {
				for range piece {
					w, err := f.WriteString(text)
					if err != nil {
						b.Fatal(err)
					}
					n += w
				}
				time.Sleep(pause) // the pace of the program
			}
			return int64(n)
		}
		if once {
			n := write(16, 0)
			b.SetBytes(n)
			began := cpuTime(b)
			tailer, err := tail.New(opts)
			if err != nil {
				b.Fatal(err)
			}
			if err := tailer.Run(b.Context()); err != nil {
				b.Fatal(err)
			}
			cpu += cpuTime(b) - began
		} else {
			began := cpuTime(b)
			stop := startTail(b, opts)
			n := write(1, 2*time.Millisecond) // some 50 MB a second
			await.Until(b, longest, "all is read", func() bool { return stats.Bytes.Load() >= n })
			stop()
			b.SetBytes(n)
			cpu += cpuTime(b) - began
		}
		total += cpu
	}
	b.ReportMetric(float64(cpu)/float64(b.N)/float64(size)*1e3, "cpu-ns/KB")
}

type nowhere struct{}

func (nowhere) Append(context.Context, buffer.Chunk) (buffer.LSN, error) { return 0, nil }
func (nowhere) Position(string) ([]byte, bool)                           { return nil, false }
func (nowhere) Positions(string) []buffer.Position                       { return nil }
func (nowhere) Synced(context.Context, buffer.LSN) error                 { return nil }
