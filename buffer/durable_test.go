package buffer_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/buffer"
	"logstow/buffer/spool"
	"logstow/buffer/unindexed"
	"logstow/internal/test/effort"
)

func durable(t testing.TB, dir string, change func(*buffer.Options)) *buffer.Buffer {
	t.Helper()
	opts := buffer.Options{Dir: dir, FlushInterval: -1}
	if change != nil {
		change(&opts)
	}
	return open(t, opts)
}

func mustClose(t testing.TB, b *buffer.Buffer) {
	t.Helper()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
}

// A directory is open in one process at a time, which the error names.
func TestLocked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := durable(t, dir, nil)
	_, err := buffer.Open(t.Context(), buffer.Options{Instance: "second", Dir: dir})
	if !errors.Is(err, buffer.ErrLocked) || !strings.Contains(err.Error(), fmt.Sprint("process ", os.Getpid())) || !strings.Contains(err.Error(), "test") {
		t.Errorf("%v should name the holder", err)
	}
	if s, err := spool.Inspect(t.Context(), dir); err != nil || s.Holder == "" || s.Instance != "test" {
		t.Errorf("inspect: %+v, %v", s, err)
	}
	mustClose(t, b)
	mustClose(t, durable(t, dir, nil))
	if s, err := spool.Inspect(t.Context(), dir); err != nil || s.Holder != "" {
		t.Errorf("inspect: %+v, %v", s, err)
	}
	if _, err := spool.Inspect(t.Context(), t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("inspect of no buffer: %v", err)
	}
}

// The decision on lost positions is not an input in what Inspect returns.
func TestInspectCountsInputs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := durable(t, dir, nil)
	mustAppend(t, b, buffer.Chunk{Positions: []buffer.Position{{Input: "file:a", Value: []byte("1")}}})
	mustClose(t, b)
	for _, ext := range []string{"*.log", "*.copy"} {
		files, err := filepath.Glob(filepath.Join(dir, "wal", ext))
		if err != nil || len(files) != 1 {
			t.Fatal(files, err)
		}
		data, err := os.ReadFile(files[0])
		if err == nil {
			data[len(data)/3] ^= 1
			err = os.WriteFile(files[0], data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	b = durable(t, dir, func(o *buffer.Options) { o.OnLostPositions = buffer.RereadLost })
	if b.LostPositions() != buffer.RereadLost {
		t.Fatal("no positions are lost")
	}
	mustAppend(t, b, buffer.Chunk{Positions: []buffer.Position{{Input: "file:a", Value: []byte("1")}}})
	mustClose(t, b)
	if s, err := spool.Inspect(t.Context(), dir); err != nil || s.Positions != 1 {
		t.Errorf("%+v, %v; want one input", s, err)
	}
}

// Waiting batches, with names, states and bytes, and positions are recovered after Close.
func TestReopen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := durable(t, dir, nil)
	c := chunk(rec(noon, "sealed"))
	c.Positions = []buffer.Position{{Input: "file:a", Value: []byte("1")}, {Input: "other", Value: []byte("2")}}
	mustAppend(t, b, c)
	b.Flush(t.Context())
	first := next(t, b)
	body, err := first.Body()
	if err != nil {
		t.Fatal(err)
	}
	if err := first.SetName("store", "web/1"); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, b, chunk(rec(noon, "open")))
	mustClose(t, b)

	s, err := spool.Inspect(t.Context(), dir)
	if err != nil || s.Sealed != 1 || s.Positions != 2 || len(s.Services) != 1 || s.Services[0] != "web" || s.LogBytes == 0 {
		t.Errorf("inspect: %+v, %v", s, err)
	}
	b = durable(t, dir, nil)
	if got := b.Positions("file:"); len(got) != 1 || string(got[0].Value) != "1" {
		t.Errorf("positions %v", got)
	}
	again := next(t, b)
	data, err := again.Body()
	if err != nil || !bytes.Equal(data, body) || again.Meta != first.Meta || again.Name() != "web/1" || again.Store() != "store" || len(again.Minutes) != 1 || !slices.Equal(again.Minutes, first.Minutes) {
		t.Errorf("the batch changed: %q %q, %v", again.Store(), again.Name(), err)
	}
	if err := again.DoneWithEntity("etag"); err != nil {
		t.Fatal(err)
	}
	mustClose(t, b)
	if s, err := spool.Inspect(t.Context(), dir); err != nil || s.Sealed != 0 || s.Unindexed != 1 {
		t.Errorf("inspect: %+v, %v, want one entity", s, err)
	}

	b = durable(t, dir, nil)
	group, entities, err := b.Unindexed().Take("store")
	want := unindexed.Entity{Name: "web/1", ETag: "etag", Size: again.Size, Meta: again.Meta, Minutes: again.Minutes}
	if diff := cmp.Diff([]unindexed.Entity{want}, entities); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if err := b.Unindexed().Remove(group); err != nil {
		t.Fatal(err)
	}
	b.Drain(t.Context())
	if got := rest(t, b); len(got) != 1 {
		t.Errorf("%d batches, want the one that was open", len(got))
	}
	mustClose(t, b)
	b = durable(t, dir, nil)
	b.Drain(t.Context())
	if got := rest(t, b); len(got) != 0 {
		t.Errorf("%d batches came twice", len(got))
	}
	if _, ok := b.Position("file:a"); !ok {
		t.Error("the position is gone")
	}
}

// Records of different parsers are in different batches, each with its parser in the footer: whether it was
// sealed before a restart or is replayed after it.
func TestParserKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := durable(t, dir, nil)
	parsers := []string{"", "none/1", "pattern/1 '<ip> <_>'"}
	for _, message := range []string{"sealed", "replayed"} {
		for i, parse := range parsers {
			c := chunk(rec(noon, fmt.Sprint(message, i)))
			c.Parse = parse
			mustAppend(t, b, c)
		}
		if message == "sealed" {
			b.Flush(t.Context())
		}
	}
	mustClose(t, b)
	b = durable(t, dir, nil)
	b.Drain(t.Context())
	got := map[string]string{}
	for _, s := range rest(t, b) {
		got[s.messages()] = s.parse
	}
	want := map[string]string{}
	for i, parse := range parsers {
		want[fmt.Sprint("sealed", i)], want[fmt.Sprint("replayed", i)] = parse, parse
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	mustClose(t, b)
	c := chunk(rec(noon, "x"))
	c.Parse = "none/1\n"
	if _, err := durable(t, dir, nil).Append(t.Context(), c); err == nil {
		t.Error("a parser of two lines was accepted")
	}
}

// A waiting batch with a flipped bit is quarantined, the others are delivered.
func TestDamagedBatchIsQuarantined(t *testing.T) {
	t.Parallel()
	for name, offset := range map[string]int{"head": 30, "segment": -40} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			var log bytes.Buffer
			logged := func(o *buffer.Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) }
			b := durable(t, dir, logged)
			for _, m := range []string{"one", "two"} {
				mustAppend(t, b, chunk(rec(noon, m)))
				b.Flush(t.Context())
			}
			mustClose(t, b)
			files, err := filepath.Glob(filepath.Join(dir, "sealed", "*.seg"))
			if err != nil || len(files) != 2 {
				t.Fatal(files, err)
			}
			data, err := os.ReadFile(files[0])
			if err != nil {
				t.Fatal(err)
			}
			data[(offset+len(data))%len(data)] ^= 4
			if err := os.WriteFile(files[0], data, 0o600); err != nil {
				t.Fatal(err)
			}
			b = durable(t, dir, logged)
			b.Drain(t.Context())
			if got := rest(t, b); len(got) != 1 {
				t.Errorf("%d batches, want the whole one", len(got))
			}
			if s, err := spool.Inspect(t.Context(), dir); err != nil || s.Quarantined != 1 || !strings.Contains(log.String(), "quarantine") {
				t.Errorf("inspect %+v, %v; log %s", s, err, log.String())
			}
		})
	}
}

// Append waits at the limit and continues when batches are delivered.
func TestMaxSizeBlocks(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	dir := t.TempDir()
	b := durable(t, dir, func(o *buffer.Options) { o.MaxSize, o.FlushSize = limit, 64<<10 })
	done := make(chan error, 1)
	const chunks = 40
	go func() {
		for i := range chunks {
			if _, err := b.Append(t.Context(), chunk(rec(noon, hex64(i)))); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	records := uint64(0)
	for records < chunks-10 {
		batch := next(t, b)
		if disk := b.Stats().Disk; disk > limit+256<<10 {
			t.Fatalf("%d bytes on disk, the limit is %d", disk, limit)
		}
		records += batch.Meta.Records
		if err := batch.Done(); err != nil {
			t.Fatal(err)
		}
	}
	// Deliver the rest.
	drained := background(func() error {
		err := <-done
		b.Drain(t.Context())
		return err
	})
	for _, s := range rest(t, b) {
		records += uint64(len(s.records))
	}
	if err := <-drained; err != nil || records != chunks {
		t.Errorf("%d records, want %d; %v", records, chunks, err)
	}
}

// hex64 is a message of 64 KiB that hardly compresses.
func hex64(i int) string {
	var s strings.Builder
	x := uint64(i)*0x9e3779b97f4a7c15 + 1
	for s.Len() < 64<<10 {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		fmt.Fprintf(&s, "%016x", x)
	}
	return s.String()
}

// With DropOldest Append does not wait: the oldest batches are dropped, counted and logged.
func TestDropOldest(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	b := durable(t, t.TempDir(), func(o *buffer.Options) {
		o.MaxSize, o.FlushSize, o.OnFull, o.Log = 1<<20, 64<<10, buffer.DropOldest, slog.New(slog.NewTextHandler(&log, nil))
	})
	const chunks = 60
	for i := range chunks {
		mustAppend(t, b, chunk(rec(noon, hex64(i))))
	}
	b.Drain(t.Context())
	dropped, lost := b.Stats().Dropped, b.Stats().DroppedRecords
	kept := 0
	for _, s := range rest(t, b) {
		kept += len(s.records)
	}
	if dropped == 0 || kept == 0 || kept+int(lost) != chunks || !strings.Contains(log.String(), "dropped") {
		t.Errorf("%d batches dropped, %d records of %d kept\n%s", dropped, kept, chunks, log.String())
	}
}

// A buffer with ten thousand waiting batches opens fast.
func TestManyWaiting(t *testing.T) {
	effort.Need(t, effort.Full, "makes 10,000 batches")
	t.Parallel()
	dir := t.TempDir()
	b := durable(t, dir, nil)
	const services, batches = 16, 10000
	var all sync.WaitGroup
	for n := range services { // they share syncs
		all.Go(func() {
			for i := range batches / services {
				c := chunk(rec(noon, fmt.Sprint("record ", i)))
				c.Service = fmt.Sprint("service", n)
				if _, err := b.Append(t.Context(), c); err != nil {
					t.Error(err)
					return
				}
				b.Flush(t.Context())
			}
		})
	}
	all.Wait()
	const limit = 2 * time.Second
	fastest := time.Duration(math.MaxInt64)
	for range 5 { // other tests and programs slow it down
		mustClose(t, b)
		begin := time.Now()
		b = durable(t, dir, nil)
		if fastest = min(fastest, time.Since(begin)); fastest <= limit {
			break
		}
	}
	if fastest > limit {
		t.Errorf("opened in %v, want at most %v", fastest, limit)
	}
	if n := b.Stats().Waiting; n != batches {
		t.Errorf("%d batches wait, want %d", n, batches)
	}
	if batch := next(t, b); batch.Meta.Records != 1 {
		t.Errorf("the first holds %d records", batch.Meta.Records)
	}
}

// Synced does not wait for the sync interval.
func TestSynced(t *testing.T) {
	t.Parallel()
	b := durable(t, t.TempDir(), func(o *buffer.Options) { o.Sync = buffer.Sync(time.Hour) })
	lsn := mustAppend(t, b, chunk(rec(noon, "x")))
	if err := b.Synced(t.Context(), lsn); err != nil {
		t.Error(err)
	}
	mustClose(t, b)
	if err := b.Synced(t.Context(), lsn+1); !errors.Is(err, buffer.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// A buffer that is open or not empty is not removed; a process that opens the buffer while it
// is removed gets a new one.
func TestRemove(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "b")
	b := durable(t, dir, nil)
	if err := spool.Remove(t.Context(), dir); !errors.Is(err, buffer.ErrLocked) {
		t.Errorf("open: %v", err)
	}
	mustAppend(t, b, chunk(rec(noon, "x")))
	mustClose(t, b)
	if err := spool.Remove(t.Context(), dir); !errors.Is(err, spool.ErrNotEmpty) {
		t.Errorf("holding a record: %v", err)
	}
	b = durable(t, dir, nil)
	b.Drain(t.Context())
	if err := next(t, b).Done(); err != nil {
		t.Fatal(err)
	}
	mustClose(t, b)
	for range 50 {
		removed := background(func() error { return spool.Remove(t.Context(), dir) })
		b, err := buffer.Open(t.Context(), buffer.Options{Dir: dir, Instance: "i"})
		if err != nil && !errors.Is(err, buffer.ErrLocked) {
			t.Fatal(err)
		}
		if err := <-removed; err != nil && !errors.Is(err, buffer.ErrLocked) {
			t.Fatal(err)
		}
		if b == nil {
			continue
		}
		mustAppend(t, b, buffer.Chunk{Positions: []buffer.Position{{Input: "p", Value: []byte("v")}}})
		mustClose(t, b)
		if s, err := spool.Inspect(t.Context(), dir); err != nil || s.Positions != 1 {
			t.Fatalf("after it was opened: %+v, %v", s, err)
		}
	}
}

// A directory that a crash left behind while it was removed does not prevent the next removal.
func TestRemoveAfterCrash(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "b")
	if err := os.MkdirAll(filepath.Join(dir+".removed", "log"), 0o700); err != nil {
		t.Fatal(err)
	}
	mustClose(t, durable(t, dir, nil))
	if err := spool.Remove(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(dir + ".removed-*")
	if _, missing := os.Stat(dir); err != nil || len(left) > 0 || !os.IsNotExist(missing) {
		t.Errorf("left: %q, %v, %v", left, err, missing)
	}
}
