package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"logstow/internal/test/await"
	"logstow/internal/test/effort"
)

// TestLongSmallDisk ships more than its buffer's disk holds, through an outage of
// storage, a signal and kills: every line is stored once, and nothing hangs. That
// needs a file system of its own, which only root may mount; package buffer has the
// same on a disk that is simulated.
func TestLongSmallDisk(t *testing.T) {
	effort.Need(t, effort.Full, "fills small disks")
	if os.Getuid() != 0 {
		t.Skip("only root may mount a small file system")
	}
	t.Parallel()
	sizes := []int{8, 16}
	if effort.Of() == effort.Long {
		sizes = append(sizes, 12, 24, 32, 64)
	}
	for _, size := range sizes {
		t.Run(fmt.Sprintf("%d MiB", size), func(t *testing.T) {
			r := newRig(t, true)
			r.buffer = smallDisk(t, size)
			want := r.writeMuch(size << 20 * 5 / 2)
			run := []string{
				"run", "--store", r.store, "--service", "crash", "--instance", "pod-1", "--from-start",
				"--buffer-dir", r.buffer, "--drain-timeout", "2s",
			}
			follow := append(run, r.glob())

			r.outage()
			for range 2 { // the second finds the disk full
				p := r.start(plain(), nil, follow...)
				await.Until(t, patience, "the disk is full", func() bool { return p.count("the buffer is full") > 0 })
				p.signal(t, syscall.SIGTERM)
				p.end(t, patience)
				if p.status() != 3 {
					t.Fatalf("status %d, want 3; output of the shipper:\n%s", p.status(), p.tail())
				}
			}
			r.faults(0)
			for range 3 {
				p := r.start(plain(), nil, follow...)
				time.Sleep(time.Duration(r.rnd.IntN(800)) * time.Millisecond) // it is killed at any moment
				p.kill(t)
			}
			p := r.start(plain(), nil, append(run, "--once", "--retry-for", "60s", r.glob())...)
			p.end(t, 2*time.Minute)
			if p.status() != 0 {
				t.Fatalf("the last run ended with status %d, output:\n%s", p.status(), p.tail())
			}
			r.check(want)
		})
	}
}

// smallDisk mounts a file system of so many MiB and returns a directory in it.
func smallDisk(t *testing.T, size int) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm", size)); err != nil {
		t.Skipf("cannot mount a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return filepath.Join(dir, "buffer")
}

// writeMuch writes so many bytes of lines, which compress to about a half.
func (r *rig) writeMuch(size int) map[string]bool {
	r.t.Helper()
	lines := map[string]bool{}
	var text strings.Builder
	for n := 0; text.Len() < size; n++ {
		line := fmt.Sprintf("2026-11-20T12:%02d:%02dZ INFO line %d", n/5000%60, n/100%50, n)
		for range 14 {
			line += fmt.Sprintf(" %016x", r.rnd.Uint64())
		}
		lines[line] = true
		text.WriteString(line + "\n")
	}
	appendFile(r.t, r.logFile(), text.String())
	return lines
}

// TestSmallDiskRefused wants run and check to refuse a disk on which no buffer works, for
// the same reason, also while the buffer's directory is not there.
func TestSmallDiskRefused(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root may mount a small file system")
	}
	t.Parallel()
	s := target{store: t.TempDir()}
	dir := smallDisk(t, 7)
	want := fmt.Sprintf("shipper: cannot open buffer %s: the disk is too small for a buffer: %d bytes, the minimum is %d\nhint: move %[1]s to a larger disk, or use --buffer memory\n",
		dir, 7<<20, 8<<20)
	for _, command := range []string{"check", "run", "check"} {
		got := s.command(t, strings.NewReader("a line\n"), "shipper", command, "--once", "--service", "web", "--buffer-dir", dir, "-")
		if got.status != 3 || got.errs != want {
			t.Errorf("%s: status %d, %q; want 3, %q", command, got.status, got.errs, want)
		}
	}
}
