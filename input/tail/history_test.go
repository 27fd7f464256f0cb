package tail

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
)

// history is a random history of a log, its rotation and its reader.
type history struct {
	*modelReader
	random  *rand.Rand
	gzip    *gzip.Writer
	lines   int
	rotated []string // plain rotated files, oldest first
	turns   int      // rotations so far
	done    []string
	headers bool
}

const logPath = "a.log"

// header is the first line of every file of some histories. It is not counted.
const header = "the same in all files\n"

func (h *history) write(path string, n int) {
	f := h.disk.files[path]
	for range n {
		f.data = append(f.data, h.line(f)...)
	}
	f.touch()
}

// line is the next line of a file.
func (h *history) line(f *diskFile) string {
	line := fmt.Sprintf("%08d %s\n", h.lines, strings.Repeat("x", h.random.IntN(200)))
	if h.lines++; h.headers && len(f.data) == 0 {
		line = header + line
	}
	return line
}

// create creates an empty log, which the watcher may open at once.
func (h *history) create() {
	h.disk.create(logPath, nil)
	if h.random.IntN(2) == 0 {
		h.open(logPath)
	}
}

func (h *history) rotatedName() string {
	h.turns++
	return fmt.Sprintf("%s.20261121-%06d", logPath, h.turns)
}

func (h *history) rename() string {
	name := h.rotatedName()
	h.disk.rename(logPath, name)
	h.rotated = append(h.rotated, name)
	return name
}

func (h *history) compress(path string, complete bool) {
	f := h.disk.files[path]
	var b bytes.Buffer
	h.gzip.Reset(&b)
	_, _ = h.gzip.Write(f.data)
	_ = h.gzip.Close()
	packed := h.disk.create(path+".gz", b.Bytes()[:b.Len()/2])
	if !complete {
		h.poll()
	}
	packed.data = b.Bytes()
	packed.touch()
	packed.modified = f.modified
	h.disk.remove(path)
	h.rotated = slices.DeleteFunc(h.rotated, func(r string) bool { return r == path })
}

// isRead reports whether all lines of a file were read.
func (h *history) isRead(path string) bool {
	for line := range strings.Lines(string(h.disk.files[path].data)) {
		if line != header && h.got[line] == 0 {
			return false
		}
	}
	return true
}

// steps are the names of steps, the more frequent ones more than once.
func steps() []string {
	return []string{
		"write", "write", "write", "half", "truncate", "rename", "rename-late", "shift", "copytruncate", "copytruncate", "gzip", "compress", "delete",
		"poll", "poll", "poll", "restart", "remount", "close", "wait",
	}
}

func (h *history) step(name string) {
	h.done = append(h.done, name)
	switch name {
	case "write":
		h.write(logPath, h.random.IntN(12))
	case "half": // a line in two pieces, of which the first may be read
		f := h.disk.files[logPath]
		before, line := f.data, h.line(f)
		f.data = append(slices.Clip(before), line[:1+h.random.IntN(len(line)-1)]...)
		f.touch()
		h.poll()
		f.data = append(slices.Clip(before), line...)
		f.touch()
	case "truncate":
		if f := h.disk.files[logPath]; h.isRead(logPath) {
			f.data = nil
			f.touch()
		}
	case "rename":
		h.rename()
		h.create()
	case "rename-late":
		name := h.rename()
		h.write(name, 2)
		h.create()
	case "shift":
		for i := 9; i > 0; i-- {
			if from := fmt.Sprintf("%s.%d", logPath, i); h.disk.files[from] != nil {
				to := fmt.Sprintf("%s.%d", logPath, i+1)
				if h.disk.files[to] != nil && !h.isRead(to) {
					return
				}
				h.disk.rename(from, to)
			}
		}
		h.disk.rename(logPath, logPath+".1")
		h.create()
	case "copytruncate":
		f := h.disk.files[logPath]
		name := h.rotatedName()
		h.disk.create(name, slices.Clone(f.data))
		h.rotated = append(h.rotated, name)
		if h.random.IntN(4) == 0 {
			h.poll()
		}
		f.data = nil
		f.touch()
	case "gzip":
		h.compress(h.rename(), h.random.IntN(4) > 0)
		h.create()
	case "compress":
		if len(h.rotated) > 0 {
			h.compress(h.rotated[h.random.IntN(len(h.rotated))], h.random.IntN(4) > 0)
		}
	case "delete":
		if len(h.rotated) > 0 && h.isRead(h.rotated[0]) {
			h.disk.remove(h.rotated[0])
			h.rotated = h.rotated[1:]
		}
	case "poll":
		h.poll()
	case "remount":
		h.restart()
		h.disk.device++
	case "restart":
		h.restart()
	case "close":
		for _, f := range h.files {
			if f.handle != nil && f.p.offset == int64(len(f.handle.f.data)) {
				_ = f.handle.Close()
				f.handle = nil
			}
		}
	case "wait":
		h.disk.clock += 5e9
	}
}

// Every line is read once after random histories of a log, its rotation and restarts.
func TestLongIdentityHistories(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "many histories")
	rounds := uint64(effort.Cases{Test: 100, Full: 500, Long: 20_000}.N())
	first := testrand.Seed(t)
	for i := range rounds {
		seed := first + i
		random := rand.New(rand.NewPCG(seed, 0))
		var history []string
		for range 60 {
			history = append(history, steps()[random.IntN(len(steps()))])
		}
		if !runHistory(t, seed, history) {
			return
		}
	}
}

// Histories in which lines were once lost or doubled: among others because an inode was
// reused by a copy or by a compressed file, and of an empty file only that was known.
func TestIdentityHistories(t *testing.T) {
	effort.Need(t, effort.Test, "one goroutine, which takes seconds under the race detector")
	t.Parallel()
	for _, c := range []struct{ name, steps string }{
		{"rotation between polls", "write poll write rename write rename write poll"},
		{"writes after rotation", "write poll rename-late poll rename-late poll"},
		{"numbers", "write shift write shift poll write shift write poll"},
		{"copies", "write poll write copytruncate write copytruncate poll"},
		{"compressed between runs", "write poll write gzip restart write gzip poll"},
		{"compressed later", "write rename poll write compress poll restart poll"},
		{"deleted while closed", "write rename poll close delete write poll"},
		{"other device numbers after a copy was compressed", "gzip compress compress restart remount copytruncate write delete remount"},
		{"copy with the inode of a compressed file", "write rename-late compress restart wait write copytruncate"},
		{"compressed file with the inode of an empty closed file", "poll wait rename poll gzip close close write write gzip"},
		{"copy with the inode of a deleted copy", "poll write poll copytruncate rename-late close write delete copytruncate"},
		{"copy with the inode of an empty closed file", "restart write wait gzip copytruncate gzip copytruncate copytruncate write close copytruncate"},
		{"unmatched copy with the inode of an empty closed file", "write poll shift restart write gzip poll poll gzip write close write copytruncate"},
		{"partial line and a copy, then a compressed file with the same first bytes", "gzip poll half copytruncate rename write gzip poll"},
		{"copy with the inode of a file with a partial line", "gzip poll half restart rename compress write copytruncate poll"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(100) {
				if !runHistory(t, seed, strings.Fields(c.steps)) {
					return
				}
			}
		})
	}
}

func runHistory(t *testing.T, seed uint64, steps []string) bool {
	t.Helper()
	h := &history{random: rand.New(rand.NewPCG(seed, 0)), gzip: gzip.NewWriter(nil), modelReader: &modelReader{
		t: t, disk: newDisk(), known: newCatalog(), files: make(map[fileID]*modelFile), skipped: make(map[fileID]version),
		deferred: make(map[string]time.Time), got: make(map[string]int), starting: true,
	}}
	h.pattern = []string{"a.log", "a.log*"}[h.random.IntN(2)]
	h.headers = h.random.IntN(2) == 0
	h.disk.create(logPath, nil)
	h.write(logPath, 3)
	h.poll()
	for _, name := range steps {
		h.step(name)
	}
	for range 4 {
		h.poll()
		h.disk.clock += 5e9
	}
	count := make([]int, h.lines)
	for line, n := range h.got {
		if line == header {
			continue
		}
		var i int
		if _, err := fmt.Sscanf(line, "%d", &i); err != nil {
			t.Fatal(err)
		}
		count[i] += n
	}
	var lost, doubled []int
	for i, n := range count {
		switch {
		case n == 0:
			lost = append(lost, i)
		case n > 1:
			doubled = append(doubled, i)
		}
	}
	if len(lost)+len(doubled) > 0 {
		t.Errorf("seed %d, %s: of %d lines lost %v, doubled %v after %s", seed, h.pattern, h.lines, lost, doubled, strings.Join(h.done, " "))
	}
	return !t.Failed()
}
