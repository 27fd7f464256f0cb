package buffer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"logstow/blobnaming"
	"logstow/buffer/sealed"
	"logstow/internal/test/disktest"
	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
	"logstow/record"
	"logstow/segment"
)

// scenario drives a durable buffer as an input and an uploader do, on a file system with
// faults. The input is a source of numbered records; position i means that the first i of
// them were read.
type scenario struct {
	t      *testing.T
	dir    string
	fs     *disktest.FS
	sync   Sync
	width  time.Duration
	stored map[blobnaming.Batch][]byte
	// acknowledged is how many records Synced has returned for.
	acknowledged int
	// written is how many records the input had when the process ended.
	written int
	policy  LostPositions
	// damaged: batches may be damaged; they are quarantined as by an uploader.
	damaged bool
	log     *bytes.Buffer
}

func newScenario(t *testing.T, sync Sync) *scenario {
	return &scenario{t: t, dir: t.TempDir(), fs: disktest.New(), sync: sync, width: time.Hour, stored: map[blobnaming.Batch][]byte{}, log: new(bytes.Buffer)}
}

func (s *scenario) open() (*Buffer, error) {
	return Open(s.t.Context(), Options{
		Instance: "i", Dir: s.dir, fs: s.fs, Sync: s.sync, Width: s.width, FlushInterval: -1, FlushSize: 300, fullRetryInterval: time.Millisecond, OnLostPositions: s.policy,
		Log: slog.New(slog.NewTextHandler(s.log, nil)),
	})
}

func (s *scenario) mustOpen() *Buffer {
	s.t.Helper()
	b, err := s.open()
	if err != nil {
		s.t.Fatal(err)
	}
	return b
}

// sealOne opens the buffer and seals the first record.
func (s *scenario) sealOne() *Buffer {
	s.t.Helper()
	b := s.mustOpen()
	if err := s.work(b, 1); err != nil {
		s.t.Fatal(err)
	}
	b.Flush(s.t.Context())
	return b
}

// next takes a batch from the queue.
func (s *scenario) next(b *Buffer) *Batch {
	s.t.Helper()
	batch, err := b.Next(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return batch
}

// numbered returns the record of a number; its bucket is one of three in turn.
func numbered(n int) record.Record {
	return record.Record{
		Time:  noonNanos + int64(n%3)*int64(2*time.Hour) + int64(n),
		Level: record.Info, Source: "s", Message: []byte(fmt.Sprintf("record %d %x", n, uint64(n)*0x9e3779b97f4a7c15)),
	}
}

var noonNanos = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).UnixNano()

func (s *scenario) position(b *Buffer) int {
	v, _ := b.Position("input")
	n, _ := strconv.Atoi(string(v))
	return n
}

// work reads the input from the buffer's position up to record number end, and delivers
// some sealed batches. It returns early if the buffer fails.
func (s *scenario) work(b *Buffer, end int) error {
	ctx := context.Background()
	for at := s.position(b); at < end; {
		n := min(1+at%7, end-at)
		c := Chunk{Service: "web", Read: noonNanos, Positions: []Position{{Input: "input", Value: []byte(strconv.Itoa(at + n))}}}
		if at%2 == 1 {
			c.Service = "api"
		}
		for i := range n {
			c.Records = append(c.Records, numbered(at+i))
		}
		lsn, err := b.Append(ctx, c)
		if err != nil {
			return err
		}
		at += n
		if s.sync == SyncAlways {
			if err := b.Synced(ctx, lsn); err != nil {
				return err
			}
			s.acknowledged = at
		}
		if at%5 == 0 {
			b.Flush(ctx)
		}
		for b.Stats().Waiting > 0 && at%3 != 0 {
			if err := s.deliverOne(ctx, b); err != nil {
				return err
			}
		}
	}
	return nil
}

// deliverOne delivers one batch with the same steps as an uploader.
func (s *scenario) deliverOne(ctx context.Context, b *Buffer) error {
	batch, err := b.Next(ctx)
	if err != nil {
		return err
	}
	if err := batch.Load(ctx); err != nil && s.damaged && !errors.As(err, new(syscall.Errno)) {
		return batch.Quarantine(err.Error())
	} else if err != nil {
		batch.Return()
		return err
	}
	body, err := batch.Body()
	if err != nil {
		batch.Return()
		return err
	}
	if err := verified(ctx, batch, body); err != nil {
		return batch.Quarantine(err.Error())
	}
	if batch.Name() == "" {
		if err := batch.SetName("store", "name"); err != nil {
			return err
		}
	}
	if old, ok := s.stored[batch.Meta.Batch]; ok && !bytes.Equal(old, body) {
		s.t.Errorf("batch %s has other bytes than before", batch.Meta.Batch)
	}
	s.stored[batch.Meta.Batch] = body
	return batch.DoneWithEntity("etag")
}

// verified verifies a batch's bytes as an uploader does before the upload.
func verified(ctx context.Context, batch *Batch, body []byte) error {
	read := func(_ context.Context, off, n int64) ([]byte, error) { return body[off : off+n], nil }
	footer, err := segment.VerifyStored(ctx, read, int64(len(body)))
	if err != nil {
		return err
	}
	return footer.Check(batch.Meta)
}

// settle reads the rest of the input, delivers everything and closes.
func (s *scenario) settle(end int) {
	s.t.Helper()
	b, err := s.open()
	if err != nil {
		s.t.Fatalf("open again: %v", err)
	}
	if p := s.position(b); p < s.acknowledged {
		s.t.Errorf("position %d after the crash, %d records were acknowledged", p, s.acknowledged)
	}
	if err := s.work(b, end); err != nil {
		s.t.Fatalf("work: %v", err)
	}
	b.Drain(s.t.Context())
	for {
		err := s.deliverOne(context.Background(), b)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			s.t.Fatalf("deliver: %v", err)
		}
	}
	if err := b.Close(); err != nil {
		s.t.Fatalf("close: %v", err)
	}
	if left := s.fs.Paths(sealedDir + "/"); len(left) > 0 {
		s.t.Errorf("files are left: %v", left)
	}
}

// messages counts the stored records by their messages.
func (s *scenario) messages() map[string]int {
	s.t.Helper()
	seen := map[string]int{}
	decoder := segment.NewDecoder()
	for id, body := range s.stored {
		read := func(_ context.Context, off, n int64) ([]byte, error) { return body[off : off+n], nil }
		f, err := segment.ReadFooter(context.Background(), read, int64(len(body)), -1)
		if err != nil {
			s.t.Fatalf("batch %s: %v", id, err)
		}
		for _, block := range f.Blocks {
			text, err := decoder.DecodeBlock(nil, body[block.Offset:block.Offset+block.Stored], block)
			if err != nil {
				s.t.Fatalf("batch %s: %v", id, err)
			}
			for line := range strings.Lines(string(text)) {
				seen[strings.TrimSuffix(line[strings.LastIndexByte(line, '\t')+1:], "\n")]++
			}
		}
	}
	return seen
}

// check asserts that each of the records up to end is in exactly one stored batch.
func (s *scenario) check(end int) {
	s.t.Helper()
	for _, report := range []string{"is damaged", "is missing", "are lost"} {
		if strings.Contains(s.log.String(), report) {
			s.t.Errorf("nothing was damaged, but logged: %q", report)
		}
	}
	seen := s.messages()
	for n := range end {
		m := string(numbered(n).Message)
		if seen[m] != 1 {
			s.t.Errorf("record %d is stored %d times", n, seen[m])
		}
		delete(seen, m)
	}
	if len(seen) > 0 {
		s.t.Errorf("stored, but never logged: %v", slices.Sorted(maps.Keys(seen)))
	}
	if s.t.Failed() {
		s.t.Logf("log:\n%s", s.log)
	}
}

// checkHandles asserts that no file is open, after Close or a failed Open.
func (s *scenario) checkHandles() {
	s.t.Helper()
	if n := s.fs.Handles(); n != 0 {
		s.t.Errorf("%d files are still open", n)
	}
}

const records = 60

// attempt does all work and delivers everything, as far as the injected fault allows.
func (s *scenario) attempt() {
	s.t.Helper()
	if b, err := s.open(); err == nil {
		if s.work(b, records) == nil {
			b.Drain(s.t.Context())
			for s.deliverOne(s.t.Context(), b) == nil {
			}
		}
		_ = b.Close()
	}
	s.checkHandles()
}

// TestCrashAtEveryStep crashes the machine, or only the process, at every step that changes
// the disk, and asserts that each record is stored exactly once.
func TestCrashAtEveryStep(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "crashes at many steps")
	seed := testrand.Seed(t)
	for _, sync := range []Sync{SyncAlways, SyncNever} {
		for _, power := range []bool{true, false} {
			t.Run(fmt.Sprintf("sync %d power %v", sync, power), func(t *testing.T) {
				t.Parallel()
				everyStep(t, func(t *testing.T, n int) (reached bool) {
					s := newScenario(t, sync)
					s.fs.Arm(n, disktest.Die)
					s.attempt()
					reached = s.fs.Steps() >= n
					rnd := rand.New(rand.NewPCG(seed, uint64(n)))
					s.fs = s.fs.Crash(rnd, power)
					if n%2 == 1 {
						s.width = 30 * time.Minute // a changed width must not affect buffered records
					}
					// A second crash during recovery.
					s.fs.Arm(1+rnd.IntN(20), disktest.Die)
					if b, err := s.open(); err == nil {
						_ = s.work(b, records)
						_ = b.Close()
					}
					s.fs = s.fs.Crash(rnd, power)
					s.settle(records + 10)
					s.check(records + 10)
					return reached
				})
			})
		}
	}
}

// TestFaultAtEveryStep makes every step fail once, completely or torn, and asserts that each
// record is stored exactly once: by the same process if it can continue, else by the next.
func TestFaultAtEveryStep(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "fails at many steps")
	for name, fault := range map[string]disktest.Fault{"fail": disktest.Fail, "tear": disktest.Tear, "full": disktest.Full} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyStep(t, func(t *testing.T, n int) bool {
				s := newScenario(t, SyncAlways)
				s.fs.Arm(n, fault)
				s.attempt()
				reached := s.fs.Steps() >= n
				s.fs.Arm(0, fault)
				s.settle(records + 10)
				s.check(records + 10)
				return reached
			})
		})
	}
}

// everyStep runs f with steps n = 1, 2, 3, …, or a sample of them, until step n is not reached.
func everyStep(t *testing.T, f func(t *testing.T, n int) (reached bool)) {
	t.Helper()
	sample := effort.NewSample(t, 25)
	for n := sample.Next(0); ; n = sample.Next(n) {
		reached := false
		ok := t.Run(strconv.Itoa(n), func(t *testing.T) { reached = f(t, n) })
		if !ok || !reached {
			return
		}
	}
}

// The process that sealed a batch does not read its footer and state to load it.
func TestLoadReadsNothingAgain(t *testing.T) {
	t.Parallel()
	s := newScenario(t, SyncNever)
	b := s.sealOne()
	batch := s.next(b)
	s.fs.FailReads(true)
	if err := batch.Load(t.Context()); err != nil || len(batch.Minutes) != 1 {
		t.Errorf("load: %v, %d minutes", err, len(batch.Minutes))
	}
	s.fs.FailReads(false)
	batch.Return()
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// A failing read is not damage: it does not quarantine the batch.
func TestReadErrorIsNoDamage(t *testing.T) {
	t.Parallel()
	s := newScenario(t, SyncNever)
	if err := s.sealOne().Close(); err != nil {
		t.Fatal(err)
	}
	b := s.mustOpen()
	<-b.replayed
	s.fs.FailReads(true)
	batch := s.next(b)
	for range 3 {
		if err := batch.Load(t.Context()); !errors.As(err, new(syscall.Errno)) || errors.Is(err, sealed.ErrDamaged) {
			t.Errorf("load: %v", err)
		}
	}
	s.fs.FailReads(false)
	if err := batch.Load(t.Context()); err != nil {
		t.Errorf("load again: %v", err)
	}
	s.fs.FailReads(true)
	if _, err := batch.Body(); !errors.As(err, new(syscall.Errno)) || errors.Is(err, sealed.ErrDamaged) {
		t.Errorf("body: %v", err)
	}
	s.fs.FailReads(false)
	batch.Return()
	if err := s.deliverOne(t.Context(), b); err != nil {
		t.Error(err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	s.check(1)
}

// The damaged state of a batch is logged and counted once, however often Load is retried.
func TestStateDamageIsLoggedOnce(t *testing.T) {
	t.Parallel()
	s := newScenario(t, SyncNever)
	b := s.sealOne()
	batch := s.next(b)
	if err := errors.Join(batch.Load(t.Context()), batch.SetName("store", "name")); err != nil {
		t.Fatal(err)
	}
	s.fs.Change(s.fs.Paths(".state")[0], func([]byte) []byte { return []byte("damaged state") })
	s.fs = s.fs.Crash(nil, false)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b = s.mustOpen()
	batch = s.next(b)
	s.fs.FailOpen(".seg", syscall.EIO)
	for range 3 {
		if err := batch.Load(t.Context()); !errors.Is(err, syscall.EIO) {
			t.Errorf("load: %v", err)
		}
	}
	s.fs.FailOpen("", nil)
	if err := batch.Load(t.Context()); err != nil {
		t.Errorf("load: %v", err)
	}
	if n := strings.Count(s.log.String(), "the state of a sealed batch is damaged"); n != 1 || b.Stats().Damaged != 1 {
		t.Errorf("logged %d times, counted %d times, want once", n, b.Stats().Damaged)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// onAfterFunc is a context that calls a function when context.AfterFunc is called with it.
type onAfterFunc struct {
	context.Context
	call func()
}

func (onAfterFunc) Done() <-chan struct{} { return make(chan struct{}) }

func (c onAfterFunc) AfterFunc(func()) (stop func() bool) {
	c.call()
	return func() bool { return true }
}

// Drain lets Append fail before the end of its context can end waiting for space: otherwise an
// append that waits for space would spin.
func TestDrainEndsAppendsFirst(t *testing.T) {
	t.Parallel()
	b, err := Open(t.Context(), Options{Instance: "i"})
	if err != nil {
		t.Fatal(err)
	}
	called := false
	b.Drain(onAfterFunc{context.Background(), func() {
		called = true
		if _, err := b.Append(t.Context(), Chunk{Service: "web", Records: []record.Record{numbered(1)}}); !errors.Is(err, ErrClosed) {
			t.Errorf("append: %v", err)
		}
	}})
	if !called {
		t.Error("Drain does not wait for the end of its context")
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}
