package buffer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"logstow/blobnaming"
	"logstow/buffer/spool"
	"logstow/buffer/unindexed"
	"logstow/internal/hint"
	"logstow/internal/test/await"
	"logstow/internal/test/disktest"
	"logstow/internal/test/effort"
	"logstow/record"
)

// TestLastingFaultAtEveryStep makes all steps from each one on fail, until the buffer fails or
// waits; then the fault ends, and each record must be delivered once: by the same process if
// it has not failed, else by the next.
func TestLastingFaultAtEveryStep(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "fails at many steps")
	for name, fault := range map[string]disktest.Fault{"fail": disktest.Fail, "full": disktest.Full} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyStep(t, func(t *testing.T, n int) (reached bool) {
				synctest.Test(t, func(t *testing.T) { reached = lastingFault(t, n, fault) })
				return reached
			})
		})
	}
}

// lastingFault makes all steps from the nth on fail, and reports whether any did. It runs in a synctest bubble.
func lastingFault(t *testing.T, n int, fault disktest.Fault) (reached bool) {
	t.Helper()
	s := newScenario(t, SyncNever)
	s.fs.ArmFrom(n, fault)
	if b, err := s.open(); err == nil {
		lift := s.liftWhenWaiting(b)
		err := s.work(b, records)
		if err == nil {
			err = s.drain(b)
		}
		lifted := lift()
		reached = lifted || s.fs.Steps() >= n
		if st := b.Stats(); errors.Is(err, io.EOF) && st.Unsealed+uint64(st.Waiting+st.Open) > 0 {
			t.Errorf("drained, and not all is delivered: %+v", st)
		}
		s.fs.Arm(0, fault)
		_ = b.Close()
	} else {
		reached = true
	}
	s.fs.Arm(0, fault)
	s.settle(records + 10)
	s.check(records + 10)
	return reached
}

// liftWhenWaiting ends the fault when the buffer waits for space. stop ends the watch and
// reports whether the fault was ended.
func (s *scenario) liftWhenWaiting(b *Buffer) (stop func() bool) {
	ctx, cancel := context.WithCancel(s.t.Context())
	lifted := make(chan bool, 1)
	go func() {
		for ctx.Err() == nil {
			if b.spool.Waiting() {
				s.fs.Arm(0, disktest.Full)
				lifted <- true
				return
			}
			time.Sleep(100 * time.Microsecond)
		}
		lifted <- false
	}()
	return func() bool { cancel(); return <-lifted }
}

// drain seals and delivers everything and returns io.EOF, or the first error.
func (s *scenario) drain(b *Buffer) (err error) {
	ctx, cancel := context.WithCancel(s.t.Context())
	drained := make(chan struct{})
	go func() { defer close(drained); b.Drain(ctx) }()
	for err == nil {
		err = s.deliverOne(ctx, b)
	}
	cancel()
	<-drained
	return err
}

// A buffer on a full disk is delivered when storage is back, by the same process or by the
// next. Without a reserve, as old versions had none, other files use all but four blocks.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "fills disks")
	for _, without := range effort.Some(t, false, true) {
		for _, again := range []bool{false, true} {
			name := map[bool]string{false: "", true: "no reserve, "}[without] + map[bool]string{false: "same process", true: "next process"}[again]
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, MinDisk, 1)
				w.words, w.services, w.flushInterval = 14, 3, -1
				w.away.set(true)
				const lines = 100000
				l := w.start(lines)
				l.standstill(math.MaxInt64)
				if l.allRead.Load() {
					t.Fatal("the disk holds it all")
				}
				if again {
					l.kill()
					if without {
						w.noReserve()
					}
					l = w.start(lines)
				} else if without {
					l.b.spool.ReleaseReserve(math.MaxInt64)
					w.fs.Occupy(4 * disktest.Block)
				}
				w.away.set(false)
				l.end()
				w.check(lines)
			})
		}
	}
}

// noReserve leaves the disk as a version without a reserve would: full but for four blocks.
func (w *world) noReserve() {
	w.t.Helper()
	for _, path := range w.fs.Paths("/" + reserveFile) {
		if err := w.fs.Remove(path); err != nil {
			w.t.Fatal(err)
		}
	}
	w.fs.Occupy(4 * disktest.Block)
}

// On a full disk without storage, Open, Append and Drain end with their contexts. The
// buffered records are delivered by the next process.
func TestFullDiskEnds(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "fills a disk")
	w := newWorld(t, MinDisk, 1)
	w.words, w.services, w.flushInterval = 14, 3, -1
	w.away.set(true)
	l := w.start(100000)
	l.standstill(math.MaxInt64)
	l.kill()
	w.noReserve()

	opts := w.options()
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("stop requested"))
	if _, err := Open(ended, opts); !errors.Is(err, context.Cause(ended)) {
		t.Errorf("open: %v", err)
	}
	b, err := Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	short, cancelShort := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancelShort()
	if _, err := b.Append(short, Chunk{Service: "web", Read: noonNanos, Records: []record.Record{w.record(0)}}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("append: %v", err)
	}
	b.Drain(short)
	if n := b.Stats().Unsealed; n == 0 {
		t.Error("drained, and nothing is left")
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	w.away.set(false)
	w.fs.Occupy(w.size)
	l = w.start(100000)
	l.end()
	w.check(100000)
}

// A disk that is too small is an error with a hint, and so is a chunk too large for the disk.
func TestSmallDisk(t *testing.T) {
	t.Parallel()
	w := newWorld(t, MinDisk-1, 1)
	_, err := Open(t.Context(), w.options())
	if !errors.Is(err, ErrSmallDisk) || !strings.Contains(hint.Of(err), "larger disk") {
		t.Errorf("open: %v, hint %q", err, hint.Of(err))
	}
	w = newWorld(t, MinDisk, 1)
	b, err := Open(t.Context(), w.options())
	if err != nil {
		t.Fatal(err)
	}
	c := Chunk{Service: "web", Read: noonNanos, Records: []record.Record{{Time: noonNanos, Message: make([]byte, 5<<20)}}}
	if _, err := b.Append(t.Context(), c); !errors.Is(err, ErrTooLarge) {
		t.Errorf("append: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// A record larger than a batch's usual size is delivered.
func TestLargeRecordOnSmallDisk(t *testing.T) {
	t.Parallel()
	w := newWorld(t, MinDisk, 1)
	w.words, w.large = 14, 2_500_000
	l := w.start(20)
	await.Until(t, time.Minute, "a record is appended", func() bool { return l.moves.Load() > 0 })
	if held, _ := l.b.spool.Reserve(); held < int64(w.large) {
		t.Errorf("%d bytes are reserved for it", held)
	}
	l.end()
	w.check(20)
}

// A log of unsealed records that leaves four blocks of the disk is delivered in small batches.
func TestLogAloneFillsDisk(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "fills two disks")
	for name, kept := range map[string]bool{"no entities": false, "an index entity in the space that batches need": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testLogAloneFillsDisk(t, kept)
		})
	}
}

func testLogAloneFillsDisk(t *testing.T, kept bool) {
	w := newWorld(t, 64<<20, 1)
	w.words, w.flushInterval = 14, -1
	const lines = 25000
	b, err := Open(t.Context(), w.options())
	if err != nil {
		t.Fatal(err)
	}
	for n := range lines {
		c := Chunk{
			Service: fmt.Sprint("s", n%4), Read: noonNanos, Records: []record.Record{w.record(n)},
			Positions: []Position{{Input: "input", Value: []byte(strconv.Itoa(n + 1))}},
		}
		if _, err := b.Append(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	if kept {
		stored := blobnaming.Metadata{Records: 1, RawBytes: record.MinText, Levels: record.Counts{1}, Instance: "i"}
		if err := b.Unindexed().Add("store", unindexed.Entity{Name: "s0/2026/11/19/1200/000001.log", ETag: "e", Meta: stored}); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if left := w.fs.Paths("/" + sealedDir + "/"); len(left) > 0 {
		t.Fatalf("sealed already: %v", left)
	}
	w.noReserve()
	if kept {
		w.fs.Occupy(3 * disktest.Block)
	}
	l := w.start(lines)
	l.end()
	w.check(lines)
}

// Many small batches, each with state and coverage, fill the disk, and other programs use
// the rest of it.
func TestManyServicesOnSmallDisk(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "fills disks with 60,000 lines of 300 services")
	for _, interval := range []time.Duration{-1, 20 * time.Millisecond} {
		w := newWorld(t, MinDisk, 1)
		w.words, w.services, w.flushInterval = 14, 300, interval
		w.away.set(true)
		const lines = 60000
		l := w.start(lines)
		l.standstill(math.MaxInt64)
		w.fs.Occupy(0)
		l.standstill(math.MaxInt64)
		w.away.set(false)
		l.end()
		w.check(lines)
	}
}

// No batch becomes larger than the reserve, whose space it needs on a full disk.
func TestBatchesFitReserve(t *testing.T) {
	t.Parallel()
	w := newWorld(t, MinDisk, 1)
	b, err := Open(t.Context(), w.options())
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(1, 1))
	for n := range 40 {
		c := Chunk{Service: "web", Read: noonNanos}
		message := make([]byte, 1+rnd.IntN(300<<10))
		for i := range message {
			message[i] = byte(rnd.Uint32())
		}
		c.Records = append(c.Records, record.Record{Time: noonNanos + int64(n), Message: message})
		for _, err = b.Append(t.Context(), c); b.Stats().Waiting > 0; {
			batch, nextErr := b.Next(t.Context())
			if nextErr != nil {
				t.Fatal(nextErr)
			}
			if _, want := b.spool.Reserve(); batch.Size+spool.SmallWrites > want {
				t.Errorf("a batch of %d bytes, a complete reserve has %d", batch.Size, want)
			}
			if err := errors.Join(batch.Load(t.Context()), batch.Done()); err != nil {
				t.Fatal(err)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if b.Stats().Done < 2 {
		t.Error("no batch was full")
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// Close removes the reserve if nothing is left, and keeps it for records that only the log has.
func TestReserveAfterClose(t *testing.T) {
	t.Parallel()
	for _, drained := range []bool{true, false} {
		w := newWorld(t, MinDisk, 1)
		w.flushInterval = -1
		b, err := Open(t.Context(), w.options())
		if err != nil {
			t.Fatal(err)
		}
		c := Chunk{Service: "web", Read: noonNanos, Records: []record.Record{w.record(0)}}
		if _, err := b.Append(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if drained {
			b.Drain(t.Context())
			batch, err := b.Next(t.Context())
			if err == nil {
				err = errors.Join(batch.Load(t.Context()), batch.Done())
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		if left := len(w.fs.Paths("/" + reserveFile)); (left == 0) != drained {
			t.Errorf("drained %t: %d reserves are left", drained, left)
		}
	}
}

// Options that are not set have their documented defaults.
func TestDefaults(t *testing.T) {
	t.Parallel()
	o, err := Options{Instance: "i"}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	if o.Width != blobnaming.DefaultWidth || o.FlushSize != DefaultFlushSize || o.FlushInterval != DefaultFlushInterval ||
		o.MaxOpen != DefaultMaxOpen || o.Memory != DefaultMemory || o.Sync != DefaultSync || o.MaxSize != DefaultMaxSize {
		t.Errorf("%+v", o)
	}
	for _, set := range []Sync{SyncAlways, SyncNever, Sync(time.Minute)} {
		if o, err := (Options{Instance: "i", Sync: set}).withDefaults(); err != nil || o.Sync != set {
			t.Errorf("sync %d is %d, %v", set, o.Sync, err)
		}
	}
}
