package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"logstow/blobnaming"
	"logstow/compaction"
	"logstow/internal/test/await"
	"logstow/internal/test/azurite"
	"logstow/internal/test/effort"
	"logstow/record"
	"logstow/segment"
	"logstow/store"
	"logstow/store/open"
	"logstow/tableindex"
)

// smallSegments stores n segments of a day: every second one has records of its whole hour, the
// others of a minute.
func smallSegments(t testing.TB, s store.Store, day time.Time, n int) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(1, 2))
	compressor := segment.NewCompressor()
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(16)
	var entities []tableindex.Entity
	for i := range n {
		hour := day.AddDate(0, 0, i%24)
		first, span := hour, time.Hour
		if i%2 == 1 {
			first, span = hour.Add(time.Duration(i/24%60)*time.Minute), time.Minute
		}
		salt := [16]byte{}
		binary.BigEndian.PutUint64(salt[:], uint64(i+1))
		var body bytes.Buffer
		w := segment.NewWriter(&body, segment.Options{
			Service: "web", Instance: fmt.Sprintf("pod-%d", i%50), Salt: salt, BucketStart: hour.Unix(), BucketWidth: 3600, Compressor: compressor,
		})
		for range 1 + rnd.IntN(12) {
			message := fmt.Sprintf("request %016x took %d ms", rnd.Uint64(), rnd.IntN(1000))
			if err := w.Append(record.Record{Time: first.UnixNano() + rnd.Int64N(int64(span)), Level: record.Info, Source: "app.log", Message: []byte(message)}); err != nil {
				t.Fatal(err)
			}
		}
		meta, err := w.Close(int64(i + 1))
		if err != nil {
			t.Fatal(err)
		}
		name := blobnaming.Name{Service: "web", Bucket: hour, Number: uint64(i/24 + 1)}
		group.Go(func() error {
			_, err := s.Blobs().Create(ctx, name.String(), body.Bytes(), store.CreateOptions{Metadata: meta.Encode()})
			return err
		})
		entities = append(entities, tableindex.Entity{Name: name, Meta: meta, Size: int64(body.Len())})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := tableindex.Put(t.Context(), s.Tables(), s.Container(), entities); err != nil {
		t.Fatal(err)
	}
}

// compactDay is this program as shipper compact of a whole day.
func compactDay(ctx context.Context, t *testing.T, env []string, spec string, day time.Time, more ...string) (cmd *exec.Cmd, report func() compaction.Report) {
	t.Helper()
	var out bytes.Buffer
	cmd = shipperCommand(ctx, t, env, append([]string{
		"compact", "--store", spec, "--from", day.Format("2006-01-02"), "--max-age", "3650d",
		"--after", "0s", "--grace", "0s", "--temp-dir", t.TempDir(), "-o", "json",
	}, more...)...)
	cmd.Stdout = &out
	return cmd, func() (r compaction.Report) {
		t.Helper()
		if err := json.Unmarshal(out.Bytes(), &r); err != nil {
			t.Fatalf("%v: %s%s", err, &out, cmd.Stderr)
		}
		return r
	}
}

// Many small segments of 24 days, half of which overlap, are merged within 128 MiB of memory and with few requests. Killed in between,
// the next run goes on behind the days that were committed.
func TestLongCompactDays(t *testing.T) {
	t.Parallel()
	t.Run("directory", func(t *testing.T) {
		t.Parallel()
		segments := effort.Cases{Test: 60, Full: 2400, Long: 100_000}.N()
		compactSmallSegments(t, os.Environ(), filepath.Join(t.TempDir(), "store"), segments)
	})
	t.Run("Azurite", func(t *testing.T) {
		t.Parallel()
		segments := effort.Cases{Test: 40, Full: 720, Long: 10_000}.N()
		a := azurite.Start(t)
		env := append(os.Environ(), "AZURE_STORAGE_CONNECTION_STRING="+a.ConnectionString())
		compactSmallSegments(t, env, "azblob://"+a.Container(), segments)
	})
}

func compactSmallSegments(t *testing.T, env []string, spec string, segments int) {
	t.Helper()
	s := openTestStore(t, env, spec)
	day := time.Date(2026, 10, 20, 0, 0, 0, 0, time.UTC)
	smallSegments(t, s, day, segments)

	ctx, kill := context.WithCancel(t.Context())
	// After one batch of removed inputs the next waits for hours of the clock: with more inputs than a batch has, it is not at its end
	// before it is killed.
	cmd, _ := compactDay(ctx, t, env, spec, day, "--rate", "0.01")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	committed := awaitOutput(t, s)
	kill()
	if err := cmd.Wait(); err == nil && segments > store.MaxDelete {
		t.Fatal("it was not killed")
	}
	t.Logf("killed after at least %d outputs", committed)

	outputs, plain := countSegments(t, s)
	cmd, result := compactDay(t.Context(), t, env, spec, day)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	peak := watchMemory(cmd.Process.Pid)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, cmd.Stderr)
	}
	r := result()
	if r.Outputs < 1 && outputs < 24 || int64(outputs)+r.Outputs > 26 || r.Inputs > int64(segments-outputs*(segments/24-1)) || r.Removed < int64(plain)-r.Inputs || r.Removed > int64(plain) {
		t.Errorf("after %d outputs, %d plain segments left: %+v", outputs, plain, r)
	}
	// One read of each input, its outputs' lists and their parts of 4 MiB read back.
	if most := r.Inputs*11/10 + 24*(4+r.BytesOut/(4<<20)); r.Requests.Get > most {
		t.Errorf("%d reads for %d inputs, want at most %d", r.Requests.Get, r.Inputs, most)
	}
	if full := r.Removed/store.MaxDelete + 24; r.Requests.Delete > full {
		t.Errorf("%d deletions of %d blobs, want at most %d", r.Requests.Delete, r.Removed, full)
	}
	most := peak()
	t.Logf("%d inputs, %d outputs, peak %d MiB, %+v", r.Inputs, r.Outputs, most>>20, r.Requests)
	if most > 128<<20 {
		t.Errorf("%d MiB of memory", most>>20)
	}
	if r.Removed < int64(plain) { // of a geo-replicated account, which Azurite is, those of earlier outputs alone
		if cmd, result = compactDay(t.Context(), t, env, spec, day); cmd.Run() != nil || result().Outputs != 0 {
			t.Errorf("the last run: %s", cmd.Stderr)
		}
	}
	if outputs, plain = countSegments(t, s); plain > 0 || outputs < 24 {
		t.Errorf("%d outputs and %d plain segments at the end", outputs, plain)
	}
}

// memoryInterval is the interval at which the memory of a process is read: the system does not say when it grows.
const memoryInterval = 20 * time.Millisecond

// watchMemory follows the memory of a process in bytes until it ends; most is the peak, 0 where the system
// does not report it. (The figure of wait includes the memory of this process, from which it was forked.)
func watchMemory(pid int) (most func() int64) {
	done := make(chan int64, 1)
	go func() {
		peak := int64(0)
		for ; ; <-time.After(memoryInterval) {
			status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
			_, after, found := strings.Cut(string(status), "VmHWM:")
			var kib int64
			if err == nil && found {
				_, err = fmt.Sscanf(after, "%d kB", &kib)
			}
			if err != nil || !found { // it ended
				done <- peak
				return
			}
			peak = kib << 10
		}
	}()
	return func() int64 { return <-done }
}

func openTestStore(t *testing.T, env []string, spec string) store.Store {
	t.Helper()
	s, err := open.Store(t.Context(), spec, open.Options{Getenv: func(name string) (value string) {
		for _, pair := range env {
			if v, ok := strings.CutPrefix(pair, name+"="); ok {
				value = v // the last one counts
			}
		}
		return value
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// countSegments counts outputs and plain segments.
func countSegments(t *testing.T, s store.Store) (outputs, plain int) {
	t.Helper()
	for _, object := range heldIn(t, s) {
		if strings.HasPrefix(object, "entity") {
			continue
		}
		if _, err := blobnaming.Parse(object); err == nil {
			plain++
		} else if _, err := blobnaming.ParseOutput(object); err == nil {
			outputs++
		} else {
			t.Fatal(err)
		}
	}
	return outputs, plain
}

// awaitOutput waits until there is an output, and returns the number of outputs. It lists nothing else, so that it is soon to notice one.
func awaitOutput(t *testing.T, s store.Store) (outputs int) {
	t.Helper()
	await.Until(t, 10*time.Minute, "there is an output", func() bool {
		for page, err := range s.Compacted().List(t.Context(), "") {
			if errors.Is(err, store.ErrNoContainer) {
				return false
			}
			if err != nil {
				t.Fatal(err)
			}
			outputs += len(page)
		}
		return outputs > 0
	})
	return outputs
}

// What is left out is printed with its reason.
func TestCompactNotes(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	report := compaction.Report{Store: "logs", Complete: true, Chains: 3, OtherTier: 3, Held: 2, Damaged: []string{"web/a.log"}}
	if err := printCompaction(&out, &report); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"note: did not merge 3 segments because of the tier", "note: kept 2 inputs because of a policy, a legal hold", "note: did not merge 1 segment because of damage",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in %s", want, out.String())
		}
	}
}
