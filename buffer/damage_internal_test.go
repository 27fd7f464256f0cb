package buffer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
)

// moments are the steps of a scripted buffer, after each of which its process may be killed.
func moments() []func(s *scenario, b *Buffer) error {
	deliver := func(s *scenario, b *Buffer, n int) error {
		for range n {
			if err := s.deliverOne(context.Background(), b); err != nil {
				return err
			}
		}
		return nil
	}
	return []func(s *scenario, b *Buffer) error{
		func(s *scenario, b *Buffer) error { // positions alone
			_, err := b.Append(context.Background(), Chunk{Positions: []Position{{Input: "files:*", Value: []byte{1}}, {Input: "input", Value: []byte("0")}}})
			return err
		},
		func(s *scenario, b *Buffer) error { return s.append(b, 6) },
		func(s *scenario, b *Buffer) error { b.Flush(context.Background()); return nil },
		func(s *scenario, b *Buffer) error { return errors.Join(deliver(s, b, 1), s.append(b, 10)) },
		func(s *scenario, b *Buffer) error { // the create of one batch was sent
			b.Flush(context.Background())
			batch, err := b.Next(context.Background())
			if err != nil {
				return err
			}
			if err := batch.Load(context.Background()); err != nil {
				return err
			}
			body, err := batch.Body()
			if err != nil {
				return err
			}
			s.stored[batch.Meta.Batch] = body
			err = errors.Join(batch.SetName("store", "a"), batch.SetName("store", "b"))
			batch.Return()
			return err
		},
		func(s *scenario, b *Buffer) error { // one waits, and its records are trimmed from the log
			err := s.append(b, 14)
			b.Flush(context.Background())
			b.batches.Trim(true)
			return errors.Join(err, s.append(b, 16))
		},
		func(s *scenario, b *Buffer) error { // all is stored, and still in the log
			b.Flush(context.Background())
			for b.Stats().Waiting > 0 {
				if err := s.deliverOne(context.Background(), b); err != nil {
					return err
				}
			}
			return nil
		},
		func(s *scenario, b *Buffer) error { // only positions are left
			b.batches.Trim(true)
			return nil
		},
	}
}

// append reads the input up to record number end, in entries of two.
func (s *scenario) append(b *Buffer, end int) error {
	at := s.position(b)
	if b.LostPositions() == SkipLost {
		at = s.written
	}
	for ; at < end; at += 2 {
		c := Chunk{Service: "web", Read: noonNanos, Positions: []Position{{Input: "input", Value: fmt.Append(nil, at+2)}}}
		for n := at; n < at+2; n++ {
			r := numbered(n)
			r.Time = noonNanos + int64(n)
			c.Records = append(c.Records, r)
		}
		if _, err := b.Append(context.Background(), c); err != nil {
			return err
		}
	}
	return nil
}

// killed returns what a process leaves that is killed after n moments; with durable set it has
// called WriteDurable.
func killed(t *testing.T, n int, durable bool) *scenario {
	t.Helper()
	s := newScenario(t, SyncAlways)
	b := s.mustOpen()
	for _, step := range moments()[:n] {
		if err := step(s, b); err != nil {
			t.Fatal(err)
		}
	}
	if durable { // as syncLoop does in an idle second
		if err := errors.Join(b.spool.Maintain(0, true), b.spool.Maintain(0, true)); err != nil {
			t.Fatal(err)
		}
	}
	s.written = s.position(b)
	left := s.fs.Crash(nil, false)
	_ = b.Close() // ends the goroutines
	s.fs = left
	return s
}

// TestLongSingleDamage flips bits in, truncates and removes each file of a buffer after each
// moment. No record may be stored twice. A record may only be lost if it is in the damaged
// file alone, and then the log names the file and counts the records. Without make long
// one bit of some bytes is flipped.
func TestLongSingleDamage(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "damages many buffers")
	seed := testrand.Seed(t)
	for n := range moments() {
		for _, durable := range []bool{false, true} {
			t.Run(fmt.Sprintf("moment %d durable %v", n+1, durable), func(t *testing.T) {
				t.Parallel()
				rnd := rand.New(rand.NewPCG(seed, uint64(n)))
				base := killed(t, n+1, durable)
				for _, path := range base.fs.Paths("") {
					var size int
					base.fs.Change(path, func(b []byte) []byte { size = len(b); return b })
					stride, bits := effort.Cases{Test: 128, Full: 16, Long: 1}.N(), []int{rnd.IntN(8)}
					if effort.Of() == effort.Long {
						bits = []int{0, 1, 2, 3, 4, 5, 6, 7}
					}
					if filepath.Base(path) == reserveFile { // large, and all its bytes are alike
						stride, bits = size/2+1, bits[:1]
					}
					for at := rnd.IntN(stride); at < size; at += stride {
						for _, bit := range bits {
							damaged(t, base, path, fmt.Sprintf("bit %d of byte %d flipped", bit, at), func(b []byte) []byte { b[at] ^= 1 << bit; return b })
						}
						damaged(t, base, path, fmt.Sprintf("cut to %d of %d", at, size), func(b []byte) []byte { return b[:at] })
						if t.Failed() {
							return
						}
					}
					damaged(t, base, path, "removed", nil)
					if t.Failed() {
						return
					}
				}
			})
		}
	}
}

// damaged damages a file of a killed buffer and checks what is stored, lost and logged.
func damaged(t *testing.T, base *scenario, path, what string, change func([]byte) []byte) {
	t.Helper()
	s := base.clone()
	if change == nil {
		if err := s.fs.Remove(path); err != nil {
			t.Fatal(err)
		}
	} else {
		s.fs.Change(path, change)
	}
	const end = 20
	b, err := s.open()
	if err != nil {
		t.Errorf("%s %s: %v", path, what, err)
		return
	}
	s.finish(b, end)
	lost := 0
	seen := s.messages()
	for n := range end {
		switch times := seen[string(numbered(n).Message)]; {
		case times > 1:
			t.Errorf("%s %s: record %d is stored %d times", path, what, n, times)
		case times == 0:
			lost++
		}
	}
	held := b.Stats()
	logged := s.log.String()
	if lost > 0 && (!strings.Contains(logged, filepath.Base(path)) || !strings.Contains(logged, "level=ERROR")) {
		t.Errorf("%s %s: %d records are lost, and the log does not name it", path, what, lost)
	}
	if isLog := filepath.Ext(path) == ".log"; isLog && uint64(lost) != held.LostRecords {
		t.Errorf("%s %s: %d records are lost, and %d reported", path, what, lost, held.LostRecords)
	}
	if logs := base.fs.Paths(".log"); lost > 0 && path == logs[len(logs)-1] && !strings.Contains(what, "bit") {
		t.Errorf("%s %s: %d records are lost, which the input has", path, what, lost)
	}
	if ext := filepath.Ext(path); lost > 0 && ext != ".log" && ext != ".seg" {
		t.Errorf("%s %s: %d records are lost", path, what, lost)
	}
	if held.LostPositions || strings.Contains(logged, "positions of the inputs are lost") {
		t.Errorf("%s %s: positions are lost", path, what)
	}
	// The same damage is not reported again.
	s.log.Reset()
	b, err = s.open()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if strings.Contains(s.log.String(), "level=ERROR") {
		t.Errorf("%s %s: reported again", path, what)
		logged += "AGAIN\n" + s.log.String()
	}
	if t.Failed() {
		t.Logf("log:\n%s", logged)
	}
}

// TestLongDamageWithoutCopy damages the log of a buffer without copies, as version 1 wrote it.
// Records may then be lost or stored twice, but not without a report, and with StopLost not
// at all.
func TestLongDamageWithoutCopy(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "damages many buffers")
	seed := testrand.Seed(t)
	for n := range moments() {
		for _, policy := range []LostPositions{RereadLost, SkipLost} {
			t.Run(fmt.Sprintf("moment %d %v", n+1, policy), func(t *testing.T) {
				t.Parallel()
				rnd := rand.New(rand.NewPCG(seed, uint64(n)))
				base := killed(t, n+1, true)
				for _, path := range base.fs.Paths(".copy") {
					if err := base.fs.Remove(path); err != nil {
						t.Fatal(err)
					}
				}
				stride := effort.Cases{Test: 128, Full: 16, Long: 1}.N()
				for _, path := range base.fs.Paths(".log") {
					var size int
					base.fs.Change(path, func(b []byte) []byte { size = len(b); return b })
					for at := rnd.IntN(stride); at < size && !t.Failed(); at += stride {
						withoutCopy(t, base, policy, path, at, rnd.IntN(8))
					}
				}
			})
		}
	}
}

// withoutCopy flips a bit in a log file that has no copy.
func withoutCopy(t *testing.T, base *scenario, policy LostPositions, path string, at, bit int) {
	t.Helper()
	s := base.clone()
	s.fs.Change(path, func(b []byte) []byte { b[at] ^= 1 << bit; return b })
	s.policy = StopLost
	b, err := s.open()
	stopped := errors.Is(err, ErrLostPositions)
	if err == nil {
		err = b.Close()
	}
	if stopped && !strings.Contains(err.Error(), path) || !stopped && err != nil {
		t.Errorf("stop: %v", err)
	}
	if stopped { // and again, as nothing was changed
		if _, err := s.open(); !errors.Is(err, ErrLostPositions) {
			t.Errorf("byte %d of %s: stopped once only: %v", at, path, err)
		}
	}
	s = base.clone()
	s.fs.Change(path, func(b []byte) []byte { b[at] ^= 1 << bit; return b })
	s.policy = policy
	if b, err = s.open(); err != nil {
		t.Fatal(err)
	}
	if b.Stats().LostPositions != stopped {
		t.Errorf("byte %d of %s: positions lost %v, with stop %v", at, path, !stopped, stopped)
	}
	want := UndecidedLost
	if stopped {
		want = policy
	}
	if b.LostPositions() != want {
		t.Errorf("byte %d of %s: decided %v, want %v", at, path, b.LostPositions(), want)
	}
	if err := b.Close(); err != nil { // the decision is kept
		t.Fatal(err)
	}
	logged, cost := s.log.String(), b.Stats().DamageLoss()
	if b, err = s.open(); err != nil {
		t.Fatal(err)
	}
	if b.LostPositions() != want {
		t.Errorf("byte %d of %s: opened again, decided %v, want %v", at, path, b.LostPositions(), want)
	}
	if b.Stats().LostPositions {
		t.Errorf("byte %d of %s: lost again", at, path)
	}
	s.finish(b, 20)
	seen := s.messages()
	lost, twice := 0, 0
	for n := range 20 {
		switch times := seen[string(numbered(n).Message)]; {
		case times > 1:
			twice++
		case times == 0:
			lost++
		}
	}
	if (lost > 0 || twice > 0) && (cost == "" || !strings.Contains(logged, path)) {
		t.Errorf("byte %d of %s: %d lost, %d twice, without a word", at, path, lost, twice)
	}
	if twice > 0 && !stopped {
		t.Errorf("byte %d of %s: %d stored twice", at, path, twice)
	}
	if t.Failed() {
		t.Logf("log:\n%s", logged)
	}
}

// clone returns the scenario with a copy of its file system.
func (s *scenario) clone() *scenario {
	return &scenario{
		t: s.t, damaged: true, dir: s.dir, fs: s.fs.Crash(nil, false), sync: s.sync, width: s.width, written: s.written,
		stored: maps.Clone(s.stored), log: new(bytes.Buffer),
	}
}

// finish reads the rest of the input, delivers everything and closes.
func (s *scenario) finish(b *Buffer, end int) {
	s.t.Helper()
	if err := s.append(b, end); err != nil {
		s.t.Fatal(err)
	}
	b.Drain(context.Background())
	for {
		err := s.deliverOne(context.Background(), b)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
	if err := b.Close(); err != nil {
		s.t.Fatal(err)
	}
}
