package relay

import (
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"logstow/buffer"
	"logstow/input"
)

func TestSenderState(t *testing.T) {
	t.Parallel()
	s := newSender()
	s.day.Store(20000)
	steps := []struct {
		floor, seq int64
		blocks     int
	}{{5, 7, 2}, {5, 7, complete}, {5, 1 << 40, 3}, {7, 9, complete}, {6, 8, 1}, {1 << 40, 1<<40 + 1, complete}}
	for i, step := range steps {
		value := s.with(step.floor, step.seq, step.blocks)
		s.set(step.floor, step.seq, step.blocks, buffer.LSN(i))
		got, err := decodeSender(value)
		if err != nil || got.floor != s.floor || got.day.Load() != 20000 || !maps.Equal(got.progress, s.progress) {
			t.Fatalf("step %d: %+v, %v; want %+v", i, got, err, s)
		}
	}
	if s.floor != 1<<40 || len(s.progress) != 2 {
		t.Errorf("%+v", s)
	}
}

func FuzzDecodeSender(f *testing.F) {
	s := newSender()
	s.set(5, 7, 2, 0)
	f.Add(s.with(5, 9, complete))
	f.Add([]byte{})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0, 0})
	f.Fuzz(func(t *testing.T, value []byte) {
		s, err := decodeSender(value)
		if err != nil {
			if !errors.Is(err, errSender) {
				t.Error(err)
			}
			return
		}
		for seq, blocks := range s.progress {
			if seq < s.floor || blocks < 0 {
				t.Errorf("segment %d with %d blocks, floor %d", seq, blocks, s.floor)
			}
		}
	})
}

// Of too many senders, the one that was seen longest ago is forgotten, unless that is recent: then new ones are refused.
func TestManySenders(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	all := loadSenders(nil, func() time.Time { return now })
	for i := range maxSenders {
		s, _, err := all.hold(t.Context(), fmt.Sprint(i))
		if err != nil {
			t.Fatal(err)
		}
		s.set(1, 1, complete, 0)
		all.release(fmt.Sprint(i), s)
	}
	if _, _, err := all.hold(t.Context(), "new"); !errors.Is(err, input.ErrBusy) {
		t.Errorf("error %v", err)
	}
	now = now.Add(keepSender + 24*time.Hour)
	kept, _, err := all.hold(t.Context(), "0") // seen again
	if err != nil {
		t.Fatal(err)
	}
	all.release("0", kept)
	s, forget, err := all.hold(t.Context(), "new")
	if err != nil || forget != "1" || len(all.all) != maxSenders {
		t.Errorf("%q, %v, %d senders", forget, err, len(all.all))
	}
	all.release("new", s)
	if len(all.all) != maxSenders-1 {
		t.Errorf("a sender of which nothing was appended takes a place: %d", len(all.all))
	}
}
