package wal

import (
	"fmt"
	"maps"
	"slices"
)

// state is the state of a log without its records.
type state struct {
	next      uint64         // number of the next record
	seq       int64          // highest Seq passed to Cover
	batches   map[int64]bool // Seqs of the waiting batches
	positions Positions
	coverage  map[Key]uint64
}

func newState() state {
	return state{next: 1, batches: map[int64]bool{}, positions: Positions{}, coverage: map[Key]uint64{}}
}

// encodeSnapshot appends the first entry of every log file, the state after all older files:
//
//	[1, version, next, [seq, batch…], [input, position…], [[service, class, start, width, through, parse]…]]
func (w *encoder) encodeSnapshot(s *state) error {
	w.begin(6, kindSnapshot)
	w.uint(Version)
	w.uint(s.next)
	w.array(1 + len(s.batches))
	w.int(s.seq)
	for _, seq := range slices.Sorted(maps.Keys(s.batches)) {
		w.int(seq)
	}
	w.positions(s.positions.WithPrefix(""))
	w.array(len(s.coverage))
	for key, through := range s.coverage {
		w.coverage(key, through)
	}
	return w.err
}

func decodeSnapshot(r *decoder) (*state, error) {
	v := r.uint()
	if r.err == nil && v != Version {
		return nil, fmt.Errorf("%w: the log has version %d, this program reads %d: deliver it with the program that wrote it",
			ErrEntry, v, Version)
	}
	s := newState()
	s.next = r.uint()
	batches := r.array() - 1
	s.seq = r.int()
	for range batches {
		s.batches[r.int()] = true
	}
	for _, p := range r.positions() {
		s.positions[p.Input] = p.Value
	}
	for range r.array() {
		key, through := r.coverage()
		if r.err != nil {
			break
		}
		s.coverage[key] = through
	}
	return &s, r.err
}
