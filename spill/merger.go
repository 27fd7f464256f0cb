package spill

import (
	"errors"
	"io"

	"logstow/internal/heap"
)

// Merger merges the records of cursors, to which more can be added. Records of cursors in memory can be moved to a temporary file. Equal
// keys come in the order in which cursors and runs were added. Not safe for concurrent use.
type Merger[K any] struct {
	keys    Keys[K]
	file    file
	written int64
	heap    heap.Heap[*head[K]]
	added   int
	runs    int
	size    int64
	buffer  []byte // the payload that was read last
}

// MaxRuns is the number of runs from which [Merger.Spill] merges them.
const MaxRuns = 256

// head is a cursor with the key of its current record.
type head[K any] struct {
	Cursor[K]
	key    K
	number int
	run    bool
	size   int64
}

// NewMerger makes a Merger whose temporary file is in dir, or in the system's directory if dir is empty. The caller must call Close.
func NewMerger[K any](keys Keys[K], dir string) *Merger[K] {
	m := &Merger[K]{keys: keys, file: file{dir: dir}}
	m.heap.Before = func(a, b *head[K]) bool {
		if c := keys.Compare(a.key, b.key); c != 0 {
			return c < 0
		}
		return a.number < b.number
	}
	return m
}

// mergerOf makes a Merger of cursors. It needs no Close unless something is spilled.
func mergerOf[K any](keys Keys[K], cursors []Cursor[K]) (*Merger[K], error) {
	m := NewMerger(keys, "")
	for _, c := range cursors {
		if err := m.Add(c, 0); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Add adds a cursor. None of its records may be before one that was taken. Size is the memory that its records take.
func (m *Merger[K]) Add(c Cursor[K], size int64) error {
	m.size += size
	return m.push(&head[K]{Cursor: c, size: size})
}

func (m *Merger[K]) push(h *head[K]) (err error) {
	h.number = m.added
	m.added++
	if h.key, err = h.Next(); err == nil {
		m.heap.Push(h)
		return nil
	}
	return m.end(h, err)
}

// end releases what a cursor holds after it has returned err, which is returned unless it is io.EOF.
func (m *Merger[K]) end(h *head[K], err error) error {
	if !errors.Is(err, io.EOF) {
		return err
	}
	m.size -= h.size
	if !h.run {
		return nil
	}
	if m.runs--; m.runs > 0 {
		return nil
	}
	return m.file.empty()
}

// First returns the first key and its cursor. It is not ok if there is no record.
func (m *Merger[K]) First() (key K, c Cursor[K], ok bool) {
	if len(m.heap.Items) == 0 {
		return key, nil, false
	}
	first := m.heap.Items[0]
	return first.key, first.Cursor, true
}

// Each takes the records in their order while the function of that name is true for the key, or all if it is nil, and calls f with each,
// as the current record of its cursor. A record for which f returns an error is not taken.
func (m *Merger[K]) Each(while func(key K) bool, f func(key K, c Cursor[K]) error) (err error) {
	for len(m.heap.Items) > 0 {
		first := m.heap.Items[0]
		if while != nil && !while(first.key) {
			return nil
		}
		if err := f(first.key, first.Cursor); err != nil {
			return err
		}
		if first.key, err = first.Next(); err == nil {
			m.heap.Fix()
			continue
		}
		m.heap.Pop()
		if err := m.end(first, err); err != nil {
			return err
		}
	}
	return nil
}

// Payload returns the payload of the current record of a cursor. It is valid until the next call.
func (m *Merger[K]) Payload(c Cursor[K]) ([]byte, error) { return c.Payload(&m.buffer) }

// Size is the sum of the sizes of the cursors in memory.
func (m *Merger[K]) Size() int64 { return m.size }

// Runs is the number of runs that have unread records.
func (m *Merger[K]) Runs() int { return m.runs }

// Written is the number of bytes written to the temporary file.
func (m *Merger[K]) Written() int64 { return m.written }

// Spill moves the records in memory to one run, which counts as added last. If there are [MaxRuns], they are merged into the same run.
func (m *Merger[K]) Spill() error {
	all := m.heap.Items
	if m.runs == len(all) {
		return nil
	}
	moved := NewMerger(m.keys, "")
	m.heap.Items = nil
	full := m.runs >= MaxRuns
	for _, h := range all {
		if h.run && !full {
			m.heap.Push(h)
			continue
		}
		h.run = false // of this Merger's file
		m.size -= h.size
		moved.heap.Push(h)
	}
	if full {
		m.runs = 0
	}
	return m.write(moved)
}

// AddRun writes the records of a cursor as a run.
func (m *Merger[K]) AddRun(c Cursor[K]) error {
	from, err := mergerOf(m.keys, []Cursor[K]{c})
	if err != nil {
		return err
	}
	return m.write(from)
}

func (m *Merger[K]) write(from *Merger[K]) error {
	start := m.file.size
	r, err := write(&m.file, from)
	if err != nil {
		return err
	}
	m.written += m.file.size - start
	m.runs++
	return m.push(&head[K]{Cursor: newReader(m.keys, r.open(), mergerReadBuffer), run: true})
}

// Close removes the temporary file.
func (m *Merger[K]) Close() error { return m.file.close() }
