package e2e

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"logstow/blobnaming"
	"logstow/internal/test/await"
	"logstow/internal/test/effort"
	"logstow/internal/test/loggen"
	"logstow/store"
)

// The limits of queries and maintenance that docs/limits.md states.
const (
	patternsMemory, patternsMemoryLong = 64 << 20, 400 << 20
	decodedRatio, decodedLeast         = 200, 256 << 20
	sortFiles                          = 49        // of each processor: runs, and the one that they are merged into
	temporaryShare                     = 3         // times the text of the records that are sorted
	maintenanceMemory                  = 160 << 20 // of 96,000 segments a day
	maintenanceMemoryQuarter           = 140 << 20 // of a quarter as many
	retainRate                         = 5000      // segments a minute, at least
)

// Templates of ordinary logs, and of messages that have nothing in common, take the memory that is stated.
func TestPatternsMemory(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "groups 300 MB")
	s := target{name: "local", store: filepath.Join(t.TempDir(), "store")}
	var text bytes.Buffer
	if err := loggen.Write(&text, loggen.Options{Kind: "json", Size: 150 << 20, Start: base, Span: time.Hour}); err != nil {
		t.Fatal(err)
	}
	s.ship(t, "usual", text.String(), "--buffer-dir", t.TempDir())
	text.Reset()
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range 150_000 {
		fmt.Fprintf(&text, "%s INFO", base.Add(time.Duration(i)*10*time.Millisecond).Format(time.RFC3339Nano))
		for range 100 {
			text.WriteByte(' ')
			for range 9 {
				text.WriteByte(byte('a' + rnd.IntN(26)))
			}
		}
		text.WriteByte('\n')
	}
	s.ship(t, "differing", text.String(), "--buffer-dir", t.TempDir())
	for service, stated := range map[string]int64{"usual": patternsMemory, "differing": patternsMemoryLong} {
		r := s.command(t, nil, "logq", "patterns", "-s", service, "--from", "2000-01-01", "--to", "2100-01-01", "-n", "5")
		if r.status != 0 || len(r.out) == 0 {
			t.Fatalf("%s: status %d: %s", service, r.status, r.errs)
		}
		checkPeak(t, "logq patterns of messages that are "+service, r.maxRSS, stated)
	}
}

// The text of a blob of another program is read up to its limit, and the rest is reported.
func TestDecodedText(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "decodes 600 MB")
	s := target{name: "local", store: filepath.Join(t.TempDir(), "store")}
	s.ship(t, "api", "2026-11-20T15:04:05Z INFO ours\n")
	blob := filepath.Join(s.store, "foreign", "2026", "11", "20", "1500", "000001.log")
	if err := os.MkdirAll(filepath.Dir(blob), 0o700); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(blob)
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(file)
	line := "2026-11-20T15:04:05Z INFO " + strings.Repeat("x", 1<<16) + "\n"
	const lines = 2 * decodedLeast >> 16
	for range lines {
		if _, err := io.WriteString(z, line); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(z.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(blob)
	if err != nil {
		t.Fatal(err)
	}
	limit := max(decodedLeast, decodedRatio*info.Size())
	r := s.command(t, nil, "logq", "query", "-s", "foreign", "--from", "2026-11-20", "--to", "2026-11-21", "-o", "raw", "--no-cache")
	read := int64(len(r.out))
	t.Logf("%d MiB of %d MiB, from %d KiB stored", read>>20, int64(lines)*int64(len(line))>>20, info.Size()>>10)
	if r.status != 3 || !strings.Contains(r.errs, "of text") || read > limit || read < limit-2<<20 {
		t.Errorf("status %d, %d bytes of text, %d stated: %.500s", r.status, read, limit, r.errs)
	}
	checkPeak(t, "logq query", r.maxRSS, promised)
}

// A sort has at most so many temporary files at a time, without names: nothing is left of them after a kill, and a disk that is full
// ends the query with an error.
func TestTemporaryFiles(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "ships and sorts 200 MB")
	s := target{name: "local", store: filepath.Join(t.TempDir(), "store")}
	var text bytes.Buffer
	const raw = 200 << 20
	if err := loggen.Write(&text, loggen.Options{Kind: "json", Size: raw, Start: base, Span: 6 * time.Hour}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "app.log")
	if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := s.command(t, &text, "shipper", "run", "--once", "--service", "api", "--flush-size", "1MiB", "--bucket", "60m", "--buffer-dir", t.TempDir(), "-"); r.status != 0 {
		t.Fatal(r.errs)
	}
	in := []string{"-s", "api", "--from", "2000-01-01", "--to", "2100-01-01", "--memory", "16MiB"}
	perProcessor := runtime.GOMAXPROCS(0) * sortFiles
	for _, c := range []struct {
		name  string
		files int // the most at a time
		args  []string
	}{
		{"sort", perProcessor, slices.Concat([]string{"logq", "query", "-o", "raw", "--sort", "trace_id"}, in)},
		{"distinct", perProcessor + sortFiles, slices.Concat([]string{"logq", "query", "-o", "raw", "--distinct", "trace_id"}, in)},
		{"stats", perProcessor + sortFiles, slices.Concat([]string{"logq", "stats", "--by", "trace_id"}, in)},
		{"file", 2, []string{"logq", "query", "--file", file, "--count"}},
		{"compact", 2, []string{"shipper", "compact", "--after", "0s", "--grace", "0s", "--max-age", "3650d"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			start := func(dir string) *process {
				return startProcess(t, programPath(c.args[0]), out, append(cleanEnv(t), "LOGSTOW_STORE="+s.store, "TMPDIR="+dir), c.args[1:]...)
			}
			dir := t.TempDir()
			p := start(dir)
			await.Until(t, patience, "there is a temporary file", func() bool {
				select {
				case <-p.ended:
					t.Fatalf("status %d: %s", p.status(), p.tail())
				default:
				}
				n, _ := p.temporary(dir)
				return n > 0
			})
			p.kill(t)
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("left after a kill: %v, %v", left, err)
			}
			if os.Getuid() == 0 { // only root may mount a small file system
				p = start(filepath.Dir(smallDisk(t, 1)))
				p.end(t, patience)
				if p.status() != 3 || !strings.Contains(p.output(), "no space left on device") {
					t.Errorf("on a full disk: status %d: %s", p.status(), p.tail())
				}
			}
			p = start(dir)
			files, most := 0, int64(0)
			await.Until(t, patience, "the program ends", func() bool {
				n, bytes := p.temporary(dir)
				files, most = max(files, n), max(most, bytes)
				select {
				case <-p.ended:
					return true
				default:
					return false
				}
			})
			t.Logf("%d temporary files at a time, %d MiB; the text has %d MiB", files, most>>20, raw>>20)
			if p.status() != 0 || files == 0 || files > c.files || most > temporaryShare*raw {
				t.Errorf("%d temporary files at a time, %d MiB; status %d: %s", files, most>>20, p.status(), p.tail())
			}
		})
	}
}

// temporary counts a process's open files without a name in a directory, and their bytes on disk.
func (p *process) temporary(dir string) (files int, size int64) {
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.cmd.Process.Pid))
	for _, link := range links {
		if to, _ := os.Readlink(link); !strings.HasPrefix(to, dir) || !strings.HasSuffix(to, "(deleted)") {
			continue
		}
		files++
		if info, err := os.Stat(link); err == nil {
			size += info.Sys().(*syscall.Stat_t).Blocks * 512
		}
	}
	return files, size
}

// A store with 96,000 segments a day is compared, indexed again and deleted within the memory that is stated, and a day is deleted
// at the stated rate.
func TestLongMaintenanceMemory(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "writes 24,000 segments, with make long 96,000")
	const services = 4
	perService, stated := 24*1000, int64(maintenanceMemory)
	if effort.Of() < effort.Long {
		perService, stated = perService/4, maintenanceMemoryQuarter
	}
	dir := filepath.Join(t.TempDir(), "store")
	s := target{name: "local", store: dir, dir: dir}
	fillSegments(t, dir, time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC), 24*time.Hour, services, perService)
	segments := services * perService
	for _, c := range [][]string{
		{"reindex"},
		{"verify"},
		{"retain", "--keep", "1d"},
	} {
		began := time.Now()
		r := s.command(t, nil, slices.Concat([]string{"shipper"}, c)...)
		took := time.Since(began)
		if r.status != 0 {
			t.Fatalf("%q: status %d: %s", c, r.status, r.errs)
		}
		checkPeak(t, fmt.Sprintf("shipper %s of %d segments, after %v", c[0], segments, took), r.maxRSS, stated)
		if rate := float64(segments) / took.Minutes(); c[0] == "retain" && rate < retainRate {
			t.Errorf("%.0f segments a minute are deleted", rate)
		}
	}
	if left := s.command(t, nil, "logq", "segments", "--from", "2000-01-01"); len(left.out) > 200 {
		t.Errorf("left: %.300s", left.out)
	}
}

// A segment whose metadata state more text than one can have is reported and not read.
func TestStatedText(t *testing.T) {
	t.Parallel()
	r := newRig(t, true)
	appendFile(t, r.logFile(), "2026-11-20T15:04:05Z INFO line\n")
	r.must(t, "shipper", "run", "--once", "--service", "crash", "--buffer-dir", r.buffer, r.logFile())
	s := r.openStore()
	defer s.Close()
	var blobs []store.Blob
	for page, err := range s.Blobs().List(t.Context(), "crash/") {
		if err != nil {
			t.Fatal(err)
		}
		blobs = append(blobs, page...)
	}
	if len(blobs) != 1 {
		t.Fatalf("%d segments", len(blobs))
	}
	body, err := s.Blobs().Read(t.Context(), blobs[0].Ref(), 0, blobs[0].Size)
	if err != nil {
		t.Fatal(err)
	}
	meta, err := blobnaming.ParseMetadata(blobs[0].Metadata)
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, 2)
	for extra := range names {
		meta.RawBytes = uint64(blobnaming.MaxRawBytes + extra)
		names[extra] = strings.Replace(blobs[0].Name, "000001.log", fmt.Sprintf("%06d.log", 2+extra), 1)
		if _, err := s.Blobs().Create(t.Context(), names[extra], body, store.CreateOptions{Metadata: meta.Encode()}); err != nil {
			t.Fatal(err)
		}
	}
	res := r.command(t, nil, "shipper", "verify")
	found := regexp.MustCompile(`(?m)^.*bad-metadata.*$`).FindAllString(string(res.out), -1)
	if len(found) != 1 || !strings.Contains(found[0], names[1]) {
		t.Errorf("status %d, want only %s with bad metadata:\n%s%s", res.status, names[1], res.out, res.errs)
	}
}
