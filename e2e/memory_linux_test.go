package e2e

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"logstow/blobnaming"
	"logstow/internal/test/await"
	"logstow/internal/test/effort"
	"logstow/internal/test/loggen"
	"logstow/record"
	"logstow/segment"
	"logstow/store"
	"logstow/store/local"
)

// The memory that docs/limits.md states, in addition to that of receive_memory_test.go and querymemory_linux_test.go.
const (
	// groupMemory is that of sorting and grouping usual records, in addition to --memory.
	groupMemory = 96 << 20
	// metadataMemory is that of a server that answers from the metadata of many segments, metadataMemoryFour that of four such answers
	// at a time.
	metadataMemory, metadataMemoryFour = 256 << 20, 384 << 20
	// planMemory is that of a query with as many segments in its range.
	planMemory = 192 << 20
	// metadataMemoryLess is how much less a quarter of these segments take, at least.
	metadataMemoryLess = 32 << 20
)

// Sorting, distinct values and groups of usual records stay within --memory and the memory that is stated.
func TestGroupMemory(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "ships and sorts 250 MB")
	s := target{name: "local", store: filepath.Join(t.TempDir(), "store")}
	var text bytes.Buffer
	start := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	if err := loggen.Write(&text, loggen.Options{Kind: "json", Size: 250 << 20, Start: start, Span: 6 * time.Hour}); err != nil {
		t.Fatal(err)
	}
	lines := bytes.Count(text.Bytes(), []byte("\n"))
	if r := s.command(t, &text, "shipper", "run", "--once", "--service", "api", "--buffer-dir", t.TempDir(), "-"); r.status != 0 {
		t.Fatal(r.errs)
	}
	in := []string{"-s", "api", "--from", "2026-11-20", "--to", "2026-11-21"}
	for _, memory := range []int64{64 << 20, 128 << 20} {
		for _, q := range [][]string{{"query", "-o", "raw", "--sort", "duration_ms"}, {"query", "-o", "raw", "--distinct", "trace_id"}, {"stats", "-n", "5", "--by", "trace_id"}} {
			r := s.command(t, nil, slices.Concat([]string{"logq"}, q, in, []string{"--memory", strconv.FormatInt(memory>>20, 10) + "MiB"})...)
			if n := bytes.Count(r.out, []byte("\n")); r.status != 0 || q[0] == "query" && n < lines*9/10 {
				t.Fatalf("%q: status %d, %d lines of %d: %s", q, r.status, n, lines, r.errs)
			}
			checkPeak(t, fmt.Sprintf("%q with %d MiB", q, memory>>20), r.maxRSS, memory+groupMemory)
		}
	}
}

// A shipper that reads many files with a backlog stays within the memory that is stated.
func TestCatchUpMemory(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "ships 300 MB of 200 services, to two stores")
	onBothStores(t, func(t *testing.T, s target) {
		const services, size = 200, 3 << 19
		dir := t.TempDir()
		config := strings.Builder{}
		config.WriteString("inputs:\n")
		for i := range services {
			name := filepath.Join(dir, fmt.Sprintf("s%d.log", i))
			appendFile(t, name, "")
			generate(t, name, size)
			fmt.Fprintf(&config, "- files: [%s]\n  from-start: true\n  service: s%d\n", name, i)
		}
		file := filepath.Join(dir, "shipper.yaml")
		if err := os.WriteFile(file, []byte(config.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		p := startProcess(t, programPath("shipper"), nil, append(cleanEnv(t), s.env...),
			"run", "--config", file, "--store", s.store, "--buffer-dir", filepath.Join(dir, "buffer"), "--drain-timeout", patience.String())
		await.Until(t, patience, "all files are read", func() bool { return p.bytesRead() > services*size })
		p.signal(t, syscall.SIGTERM)
		p.end(t, patience)
		if p.status() != 0 {
			t.Fatalf("status %d: %s", p.status(), p.tail())
		}
		checkPeak(t, "shipper run", p.peak(), promised)
	})
}

// While storage is unreachable the buffer does not exceed --buffer-size, except by its reserve while a batch is sealed, and a shipper ends within --drain-timeout.
func TestBufferSize(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "fills a buffer with 150 MB of logs")
	const limit, timeout = 16 << 20, time.Second
	r := newRig(t, true)
	r.outage()
	path := filepath.Join(r.logs, "app.log")
	appendFile(t, path, "")
	want := generate(t, path, 150<<20)
	p := r.start(plain(), nil, r.args("--buffer-size", "16MiB", "--drain-timeout", timeout.String(), "--from-start", r.glob())...)
	most, last, since := int64(0), int64(0), time.Now()
	await.Until(t, patience, "the buffer is full", func() bool {
		now := size(t, r.buffer)
		if most = max(most, now); now != last {
			last, since = now, time.Now()
		}
		return now > limit*3/4 && time.Since(since) > 2*time.Second
	})
	reserve, err := os.Stat(filepath.Join(r.buffer, "reserve"))
	if err != nil {
		t.Fatal(err)
	}
	stated := limit + reserve.Size() + 64<<10 // the files of positions and locks
	began := time.Now()
	p.signal(t, syscall.SIGTERM)
	p.end(t, patience)
	took := time.Since(began)
	most = max(most, size(t, r.buffer))
	t.Logf("%d MiB on disk, ended after %v", most>>20, took)
	if most > stated || reserve.Size() > limit/4 {
		t.Errorf("the buffer took %d bytes on disk, at most %d stated; its reserve has %d", most, stated, reserve.Size())
	}
	if took > timeout+3*time.Second {
		t.Errorf("the shipper ended after %v, --drain-timeout is %v", took, timeout)
	}
	if err := r.proxy.Up(); err != nil {
		t.Fatal(err)
	}
	r.settle("--buffer-size", "16MiB", r.glob())
	if got := r.digest(); got != want {
		t.Errorf("%d lines came back, want %d", got.lines, want.lines)
	}
}

// A server answers from the metadata of 144,000 segments within the memory that is stated: a day of 100 services, each shipped every
// minute; below make long with a quarter of the services in less memory.
func TestLongServeMetadataMemory(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "writes 36,000 segments, with make long 144,000")
	dir := filepath.Join(t.TempDir(), "store")
	s := target{name: "local", store: dir, dir: dir}
	const perService = 24 * 60
	services, less := 100, int64(0)
	if effort.Of() < effort.Long {
		services, less = services/4, metadataMemoryLess
	}
	start := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	fillSegments(t, dir, start, 24*time.Hour, services, perService)
	r := s.command(t, nil, "logq", "query", "--from", "2026-11-20", "--to", "2026-11-21", "--count")
	if want := strconv.Itoa(3 * services * perService); r.status != 0 || strings.TrimSpace(string(r.out)) != want {
		t.Fatalf("status %d, %s records, want %s: %s", r.status, r.out, want, r.errs)
	}
	checkPeak(t, "logq query", r.maxRSS, planMemory-less)
	server := s.serve(t)
	day := []string{"start", start.Format(time.RFC3339), "end", start.AddDate(0, 0, 1).Format(time.RFC3339)}
	requests := [][]string{
		{"labels"},
		{"label/service_name/values"},
		{"label/instance/values"},
		{"series", "match[]", "{}"},
		{"index/stats", "query", `{service_name=~".+"}`},
		{"index/volume", "query", `{service_name=~".+"}`},
		{"index/volume_range", "query", `{service_name=~".+"}`, "step", "3600"},
		{"query_range", "query", `sum by (level) (count_over_time({service_name=~".+"}[1h]))`, "step", "3600"},
		{"query", "query", `sum by (service_name) (count_over_time({service_name=~".+"}[1d]))`, "time", day[3]},
	}
	for _, parallel := range []int{1, 4} {
		stated := int64(metadataMemory)
		if parallel > 1 {
			stated = metadataMemoryFour
		}
		var all sync.WaitGroup
		turns := make(chan struct{}, parallel)
		for _, r := range requests {
			turns <- struct{}{}
			all.Go(func() {
				defer func() { <-turns }()
				params := r[1:]
				if !slices.Contains(params, "time") {
					params = append(slices.Clone(params), day...)
				}
				if status, body, err := server.try(t, r[0], params...); err != nil || status != 200 || !bytes.Contains(body, []byte("info")) && r[0] == "query_range" {
					t.Errorf("%q: %v, status %d: %.300s", r, err, status, body)
				}
			})
		}
		all.Wait()
		checkPeak(t, fmt.Sprintf("logq serve, %d at a time", parallel), memoryPeak(server.cmd.Process.Pid), stated-less)
	}
}

// traceOf is the identifier in a record that fillSegments writes.
func traceOf(service, n, record int) string {
	h := fnv.New64a()
	fmt.Fprintln(h, service, n, record)
	return fmt.Sprintf("%016x", h.Sum64())
}

// fillSegments writes small segments of some services into a directory, and makes the database with their metadata.
func fillSegments(t *testing.T, dir string, start time.Time, span time.Duration, services, perService int) {
	t.Helper()
	var mu sync.Mutex
	metadata := map[string]blobnaming.Metadata{}
	compressor := segment.NewCompressor()
	write := func(i int) error {
		service := fmt.Sprintf("service-%03d", i)
		for n := range perService {
			at := start.Add(time.Duration(n) * span / time.Duration(perService))
			bucket := at.Truncate(time.Hour)
			name := blobnaming.Name{Service: service, Bucket: bucket, Number: uint64(at.Sub(bucket)/time.Second) + 1}
			var salt [16]byte
			_, _ = rand.Read(salt[:])
			var body bytes.Buffer
			w := segment.NewWriter(&body, segment.Options{
				Service: service, Instance: fmt.Sprintf("vm-%d", n%20), Salt: salt, NoFilter: true,
				BucketStart: bucket.Unix(), BucketWidth: 3600, Compressor: compressor,
			})
			for l, level := range []record.Level{record.Info, record.Warn, record.Error} {
				r := record.Record{Time: at.Add(time.Duration(l) * time.Second).UnixNano(), Level: level, Source: "app.log"}
				r.Message = []byte("request served, trace " + traceOf(i, n, l))
				if err := w.Append(r); err != nil {
					return err
				}
			}
			meta, err := w.Close(at.UnixNano())
			if err != nil {
				return err
			}
			path := filepath.Join(dir, filepath.FromSlash(name.String()))
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				return err
			}
			if err := os.WriteFile(path, body.Bytes(), 0o600); err != nil {
				return err
			}
			mu.Lock()
			metadata[name.String()] = meta
			mu.Unlock()
		}
		return nil
	}
	for i := range services {
		if err := write(i); err != nil {
			t.Fatal(err)
		}
	}
	s, err := local.Open(t.Context(), dir, local.Adopt(func(_ context.Context, name string, _ int64, _ func(context.Context, int64, int64) ([]byte, error)) (map[string]string, error) {
		return metadata[name].Encode(), nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Blobs().Create(t.Context(), "other", nil, store.CreateOptions{}); err != nil { // which makes a database
		t.Fatal(err)
	}
	for _, err := range s.Blobs().List(t.Context(), "") { // which writes the metadata
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
