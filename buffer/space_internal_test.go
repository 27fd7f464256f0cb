package buffer

import (
	"context"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"logstow/buffer/internal/disktest"
	"logstow/internal/hint"
	"logstow/record"
)

// TestLastingFaultAtEveryStep makes every call from each one on fail, until the
// buffer has an error or waits; then the fault is gone, and each record must be
// delivered once: by the same process where it has no error, else by the next.
func TestLastingFaultAtEveryStep(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]disktest.Fault{"fail": disktest.Fail, "full": disktest.Full} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyStep(t, func(t *testing.T, n int) bool {
				s := newScenario(t, SyncNever)
				s.fs.ArmFrom(n, fault)
				reached := false
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
			})
		})
	}
}

// liftWhenWaiting ends the fault once the buffer waits for space; the function
// returned ends the watch and reports whether it did.
func (s *scenario) liftWhenWaiting(b *Buffer) (stop func() bool) {
	ctx, cancel := context.WithCancel(s.t.Context())
	lifted := make(chan bool, 1)
	go func() {
		for ctx.Err() == nil {
			if b.spool.waiting.Load() > 0 {
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

// drain seals and delivers what there is until there is nothing more, which is
// io.EOF, or an error.
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

// A buffer that stands still, without storage, is delivered by the next process, by
// the same one when storage is back, and ends when asked to. Without a reserve,
// as programs before had none, other files take all but four blocks.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	for _, without := range []bool{false, true} {
		for _, again := range []bool{false, true} {
			name := map[bool]string{false: "", true: "no reserve, "}[without] + map[bool]string{false: "same process", true: "next process"}[again]
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, MinDisk, 1)
				w.words, w.services, w.flushInterval = 14, 3, -1
				w.away.Store(true)
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
					if _, err := l.b.spool.reserve.give(1 << 40); err != nil {
						t.Fatal(err)
					}
					w.fs.Occupy(4 * disktest.Block)
				}
				w.away.Store(false)
				l.end()
				w.check(lines)
			})
		}
	}
}

// noReserve leaves the disk as a program without a reserve would: full to four blocks.
func (w *world) noReserve() {
	w.t.Helper()
	for _, path := range w.fs.Paths("/" + reserveFile) {
		if err := w.fs.Remove(path); err != nil {
			w.t.Fatal(err)
		}
	}
	w.fs.Occupy(4 * disktest.Block)
}

// Whatever waits on a full disk without storage ends with its context: opening,
// appending, draining. What was buffered is there for the next process.
func TestFullDiskEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, MinDisk, 1)
	w.words, w.services, w.flushInterval = 14, 3, -1
	w.away.Store(true)
	l := w.start(100000)
	l.standstill(math.MaxInt64)
	l.kill()
	w.noReserve()

	opts := w.options()
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("asked to stop"))
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
	w.away.Store(false)
	w.fs.Occupy(w.size)
	l = w.start(100000)
	l.end()
	w.check(100000)
}

// What can never work is refused, and what to do is said.
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

// One record larger than any batch would become is delivered, too.
func TestLargeRecordOnSmallDisk(t *testing.T) {
	t.Parallel()
	w := newWorld(t, MinDisk, 1)
	w.large = 2_500_000
	l := w.start(20)
	l.end()
	w.check(20)
}
