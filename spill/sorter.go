package spill

import (
	"bytes"
	"errors"
	"io"
	"slices"
)

// Runs is a list of sorted runs, each in a temporary file. When there are too many, it merges them into one.
type Runs struct {
	dir  string
	runs []ownRun
}

// ownRun is the only run of a file.
type ownRun struct {
	*file
	*run
}

// NewRuns makes an empty list of runs in dir, or in the system's directory if dir is empty.
func NewRuns(dir string) *Runs { return &Runs{dir: dir} }

// maxRuns is the maximum number of runs, each with an open file.
const maxRuns = 48

// Len is the number of runs.
func (r *Runs) Len() int { return len(r.runs) }

// Add writes the records of cursors as a run.
func (r *Runs) Add(cursors ...Cursor[[]byte]) error {
	if len(r.runs) >= maxRuns {
		if err := r.merge(len(r.runs)); err != nil {
			return err
		}
	}
	m, err := mergerOf(bytewise{}, cursors)
	if err != nil {
		return err
	}
	f := &file{dir: r.dir, hint: "TMPDIR names the directory; it needs space for all records or groups"}
	run, err := write(f, m)
	if err != nil {
		return errors.Join(err, f.close())
	}
	r.runs = append(r.runs, ownRun{f, run})
	return nil
}

// Fit merges runs until the longest keys of all take at most memory bytes together, or two runs are left: a merge has a key of each in
// memory.
func (r *Runs) Fit(memory int64) error {
	for {
		var all int64
		first := 0 // the number of runs whose keys fit
		for _, run := range r.runs {
			if all += int64(run.maxKey); all <= memory {
				first++
			}
		}
		if all <= memory || len(r.runs) <= 2 {
			return nil
		}
		if err := r.merge(max(first, 2)); err != nil {
			return err
		}
	}
}

// merge merges the first n runs into one, which becomes the last.
func (r *Runs) merge(n int) error {
	some := &Runs{dir: r.dir, runs: r.runs[:n:n]}
	merged := &Runs{dir: r.dir}
	if err := merged.Add(some.Cursors()...); err != nil {
		return err
	}
	r.runs = append(r.runs[n:len(r.runs):len(r.runs)], merged.runs...)
	return some.Close()
}

// Cursors returns a cursor at the start of each run.
func (r *Runs) Cursors() []Cursor[[]byte] {
	var cursors []Cursor[[]byte]
	for _, run := range r.runs {
		cursors = append(cursors, newReader(bytewise{}, run.open(), readBuffer))
	}
	return cursors
}

// Close removes all runs.
func (r *Runs) Close() error {
	var errs []error
	for _, run := range r.runs {
		errs = append(errs, run.close())
	}
	r.runs = nil
	return errors.Join(errs...)
}

// Sorter sorts records with distinct keys bytewise. Not safe for concurrent use.
type Sorter struct {
	runs  *Runs
	limit int // number of records to keep, 0 for all
	// memory is the maximum size of buffer and records in bytes.
	memory  int64
	buffer  []byte
	records []extent
}

// extent has the offsets of a record in the buffer.
type extent struct{ key, payload, end int }

const extentSize = 24

// NewSorter makes a Sorter that uses about memory bytes and spills to temporary files in dir. It keeps only the first limit
// records, or all if limit is 0.
func NewSorter(dir string, memory int64, limit int) *Sorter {
	return &Sorter{runs: NewRuns(dir), limit: limit, memory: memory}
}

// Put adds a record.
func (s *Sorter) Put(key, payload []byte) error {
	need := int64(len(s.buffer)+len(key)+len(payload)) + extentSize*int64(len(s.records)+1)
	if need > s.memory && len(s.records) > 0 {
		if err := s.makeSpace(); err != nil {
			return err
		}
	}
	start := len(s.buffer)
	s.grow(len(key) + len(payload))
	s.buffer = append(append(s.buffer, key...), payload...)
	s.records = append(s.records, extent{start, start + len(key), len(s.buffer)})
	return nil
}

// grow makes space for n bytes in the buffer. Unlike append, it does not exceed the memory limit if it can avoid it.
func (s *Sorter) grow(n int) {
	if len(s.buffer)+n <= cap(s.buffer) {
		return
	}
	size := max(len(s.buffer)+n, min(2*cap(s.buffer), int(s.memory)))
	s.buffer = append(make([]byte, 0, size), s.buffer...)
}

// makeSpace drops the records beyond the limit, or writes a run.
func (s *Sorter) makeSpace() error {
	if s.limit > 0 && len(s.records)/2 > s.limit { // not 2*limit, which may overflow
		s.truncate()
		return nil
	}
	return s.spill()
}

// truncate drops all but the first limit records.
func (s *Sorter) truncate() {
	s.sort()
	s.records = s.records[:min(len(s.records), s.limit)]
	buffer := make([]byte, 0, cap(s.buffer))
	for i, r := range s.records {
		start := len(buffer)
		buffer = append(buffer, s.buffer[r.key:r.end]...)
		s.records[i] = extent{start, start + r.payload - r.key, len(buffer)}
	}
	s.buffer = buffer
}

func (s *Sorter) sort() {
	slices.SortFunc(s.records, func(a, b extent) int {
		return bytes.Compare(s.buffer[a.key:a.payload], s.buffer[b.key:b.payload])
	})
}

func (s *Sorter) spill() error {
	s.sort()
	if s.limit > 0 {
		s.records = s.records[:min(len(s.records), s.limit)]
	}
	err := s.runs.Add(&bufferCursor{s: s})
	s.buffer, s.records = s.buffer[:0], s.records[:0]
	return err
}

// errEnough ends a merge after limit records.
var errEnough = errors.New("limit reached")

// Each calls f with the records in their order. No record may be added afterwards.
func (s *Sorter) Each(f func(key, payload []byte) error) error { return Each([]*Sorter{s}, f) }

// Each calls f with the records of several sorters, which have the same limit, in their order, up to that limit. No record may be added
// afterwards.
func Each(sorters []*Sorter, f func(key, payload []byte) error) error {
	var cursors []Cursor[[]byte]
	left := 0
	for _, s := range sorters {
		s.sort()
		if err := s.runs.Fit(s.memory); err != nil {
			return err
		}
		cursors = append(append(cursors, s.runs.Cursors()...), &bufferCursor{s: s})
		left = s.limit
	}
	err := Merge(cursors, func(key, payload []byte) error {
		if err := f(key, payload); err != nil {
			return err
		}
		if left--; left == 0 {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// Dir returns the argument of NewSorter.
func (s *Sorter) Dir() string { return s.runs.dir }

// Memory returns the argument of NewSorter.
func (s *Sorter) Memory() int64 { return s.memory }

// Close removes the runs.
func (s *Sorter) Close() error {
	s.buffer, s.records = nil, nil
	return s.runs.Close()
}

// bufferCursor reads the sorted records in memory.
type bufferCursor struct {
	s *Sorter
	i int
}

func (c *bufferCursor) Next() (key []byte, err error) {
	if c.i >= len(c.s.records) {
		return nil, io.EOF
	}
	r := c.s.records[c.i]
	c.i++
	return c.s.buffer[r.key:r.payload:r.payload], nil
}

func (c *bufferCursor) Payload(*[]byte) ([]byte, error) {
	r := c.s.records[c.i-1]
	return c.s.buffer[r.payload:r.end:r.end], nil
}
