package e2e

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"logstow/internal/test/effort"
)

// The memory that docs/limits.md states for compaction, export, queries and sorting with records of 16 MiB, in addition to --memory for
// sorting and distinct values.
const (
	compactMemory = 224 << 20
	exportMemory  = 256 << 20
	queryMemory   = 192 << 20
	sortMemory    = 192 << 20
	verifyMemory  = 192 << 20
)

// Compaction and queries of records of 16 MiB, all of one time, so that every block is open at once, stay within the memory that is stated.
func TestQueryMemory(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "ships, compacts and queries 230 MB in records of 16 MiB")
	const records, size = 14, 16<<20 - 256
	dir := t.TempDir()
	writeLargeRecords(t, filepath.Join(dir, "large.log"), records, size)
	run := func(limit int64, stdout io.Writer, program string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), programPath(program), args...)
		var stderr bytes.Buffer
		cmd.Env = []string{"LOGSTOW_STORE=" + filepath.Join(dir, "store"), "HOME=" + dir, "TMPDIR=" + dir, "GOMAXPROCS=2"}
		cmd.Stdout, cmd.Stderr = stdout, &stderr
		if err := cmd.Start(); err != nil {
			t.Fatalf("%s %q: %v", program, args, err)
		}
		most := watchMemory(cmd.Process.Pid) // the figure of wait includes the memory of this process
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%s %q: %v: %s", program, args, err, stderr.String())
		}
		peak := most()
		t.Logf("%s %s: %d MiB, %d stated", program, strings.Join(args[:1], " "), peak>>20, limit>>20)
		if limit > 0 && peak > limit {
			t.Errorf("%s %q: %d MiB, at most %d stated", program, args, peak>>20, limit>>20)
		}
	}
	run(0, io.Discard, "shipper", "run", "--once", "--service", "api", "--max-record", "16MiB", "--buffer-dir", filepath.Join(dir, "buffer"), filepath.Join(dir, "large.log"))
	if err := os.Remove(filepath.Join(dir, "large.log")); err != nil {
		t.Fatal(err)
	}
	in := []string{"query", "-s", "api", "--from", "2026-11-20", "--to", "2026-11-21", "-o", "raw"}
	text := &counter{}
	run(queryMemory, text, "logq", in...)
	if text.n < records*size {
		t.Errorf("%d bytes of %d records", text.n, records)
	}
	run(compactMemory, io.Discard, "shipper", "compact", "--after", "1s", "--max-age", "3650d")
	run(queryMemory, io.Discard, "logq", in...)
	run(exportMemory, io.Discard, "shipper", "export", "--to", filepath.Join(dir, "table"), "--columns", "a", "--max-age", "3650d")
	run(verifyMemory, io.Discard, "shipper", "verify", "--full", "--from", "2026-11-20", "--to", "2026-11-21")
	const memory = 128 << 20
	budget := []string{"--memory", strconv.Itoa(memory>>20) + "MiB", "--sort"}
	run(memory+sortMemory, io.Discard, "logq", append(in, append(budget, "level")...)...)
	run(memory+sortMemory, io.Discard, "logq", append(in[:len(in)-2:len(in)-2], append(budget[:2:2], "--distinct", "message")...)...)
}

// counter counts bytes.
type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}

// writeLargeRecords writes records of one time that compress well.
func writeLargeRecords(t *testing.T, name string, records, size int) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(1, 2))
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 0, size+64)
	for i := range records {
		line = fmt.Appendf(line[:0], "2026-11-20T15:04:05Z INFO record %d ", i)
		for len(line) < size {
			line = append(line, `{"a":"`...)
			line = append(line, "0123456789abcdef"[rnd.IntN(16)])
			line = append(line, `"} `...)
		}
		if _, err := file.Write(append(line, '\n')); err != nil {
			t.Fatal(err)
		}
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}
