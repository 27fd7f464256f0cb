package relay

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"logstow/buffer"
	"logstow/input"
)

const (
	// prefix begins the names of the positions of senders.
	prefix = "relay/"
	// maxSenders is the maximum number of senders. Beyond it, the one that was seen longest ago is forgotten, if that is longer ago than
	// keepSender.
	maxSenders = 20_000
	keepSender = 30 * 24 * time.Hour
	// maxAbove is the maximum number of segments of a sender at or above its floor.
	maxAbove = 4096
	// complete is the progress of a segment whose blocks are all appended.
	complete = 0
)

// sender is what the relay has of one sender. Its lock is a channel, so that waiting for it can end.
type sender struct {
	lock chan struct{}
	// users is the number of requests that hold it or wait for it, kept is set once the buffer has its state. The lock of the senders
	// guards both.
	users int
	kept  bool
	// day is when it was last seen, in days since 1970.
	day atomic.Int64
	// floor is the lowest Seq that it may still send. progress has, for segments from there on, how many of their blocks are appended, or
	// complete.
	floor    int64
	progress map[int64]int
	// lsn is that of the last write.
	lsn buffer.LSN
}

// senders are all senders of a relay. There must be one for a buffer. Safe for concurrent use.
type senders struct {
	now func() time.Time

	mu  sync.Mutex
	all map[string]*sender
}

func newSender() *sender { return &sender{lock: make(chan struct{}, 1), progress: map[int64]int{}} }

// loadSenders reads the senders of a buffer.
func loadSenders(positions []buffer.Position, now func() time.Time) *senders {
	s := &senders{now: now, all: map[string]*sender{}}
	for _, p := range positions {
		if one, err := decodeSender(p.Value); err == nil { // the log has checksums: only another version's is malformed
			one.kept = true
			s.all[p.Input[len(prefix):]] = one
		}
	}
	return s
}

// hold returns a sender and locks it; release must follow. It returns the name of a sender to forget, "" if there is none.
func (s *senders) hold(ctx context.Context, name string) (held *sender, forget string, err error) {
	s.mu.Lock()
	one := s.all[name]
	if one == nil {
		if forget, err = s.space(); err != nil {
			s.mu.Unlock()
			return nil, "", err
		}
		one = newSender()
		s.all[name] = one
	}
	one.day.Store(s.today())
	one.users++
	s.mu.Unlock()
	select {
	case one.lock <- struct{}{}:
		return one, forget, nil
	case <-ctx.Done():
		s.leave(name, one)
		return nil, "", context.Cause(ctx)
	}
}

// release unlocks a sender. One of which nothing was appended takes no place.
func (s *senders) release(name string, one *sender) {
	appended := len(one.progress) > 0 || one.floor > 0
	<-one.lock
	s.mu.Lock()
	one.kept = one.kept || appended
	s.mu.Unlock()
	s.leave(name, one)
}

func (s *senders) leave(name string, one *sender) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one.users--; one.users == 0 && !one.kept && s.all[name] == one {
		delete(s.all, name)
	}
}

func (s *senders) today() int64 { return s.now().Unix() / int64(24*time.Hour/time.Second) }

// space makes space for another sender; mu is held.
func (s *senders) space() (forget string, err error) {
	if len(s.all) < maxSenders {
		return "", nil
	}
	oldest := slices.MinFunc(slices.Collect(maps.Keys(s.all)), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.all[a].day.Load(), s.all[b].day.Load()), cmp.Compare(a, b))
	})
	if s.today()-s.all[oldest].day.Load() <= int64(keepSender/(24*time.Hour)) {
		return "", fmt.Errorf("%w: %d senders within %v", input.ErrBusy, maxSenders, keepSender)
	}
	delete(s.all, oldest)
	return oldest, nil
}

// with returns the encoded state with a floor and the progress of a segment. It changes nothing.
func (s *sender) with(floor, seq int64, blocks int) []byte {
	floor = max(floor, s.floor)
	progress := maps.Clone(s.progress)
	progress[seq] = blocks
	maps.DeleteFunc(progress, func(seq int64, _ int) bool { return seq < floor })
	value := binary.AppendUvarint(nil, uint64(s.day.Load()))
	value = binary.AppendUvarint(value, uint64(floor))
	last := floor
	for _, seq := range slices.Sorted(maps.Keys(progress)) {
		value = binary.AppendUvarint(value, uint64(seq-last))
		value = binary.AppendUvarint(value, uint64(progress[seq]))
		last = seq
	}
	return value
}

// set applies what with encoded.
func (s *sender) set(floor, seq int64, blocks int, lsn buffer.LSN) {
	s.floor = max(floor, s.floor)
	s.progress[seq] = blocks
	maps.DeleteFunc(s.progress, func(seq int64, _ int) bool { return seq < s.floor })
	s.lsn = lsn
}

var errSender = errors.New("malformed state of a sender")

func decodeSender(value []byte) (*sender, error) {
	next := func() (v int64) {
		u, n := binary.Uvarint(value)
		if n <= 0 || u > 1<<63-1 {
			value = nil
			return -1
		}
		value = value[n:]
		return int64(u)
	}
	s := newSender()
	day := next()
	if s.floor = next(); day < 0 || s.floor < 0 {
		return nil, errSender
	}
	s.day.Store(day)
	for seq := s.floor; len(value) > 0; {
		delta, blocks := next(), next()
		if delta < 0 || blocks < 0 || seq+delta < seq {
			return nil, errSender
		}
		seq += delta
		s.progress[seq] = int(blocks)
	}
	return s, nil
}
