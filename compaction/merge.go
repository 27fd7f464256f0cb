package compaction

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"logstow/catalog"
	"logstow/internal/retry"
	"logstow/record"
	"logstow/segment"
	"logstow/spill"
	"logstow/store"
)

// openBytes is the default memory limit of a merge: texts of open blocks, and stored blocks that wait. If it is exceeded, open
// blocks are written to the temporary file as a sorted run.
const openBytes = 48 << 20

// merge yields the records of inputs in output order.
type merge struct {
	blobs  store.BlobReader
	inputs []catalog.Segment // in order of Start
	// next returns the next input, stop ends reading ahead.
	next    func() (blobInput, bool)
	stop    func()
	decoder *segment.Decoder
	budget  int64
	// index has for each of inputs its index in origins.
	index []int
	// origins are the inputs in the order of segment.CompareOrigins, tallies count the records read of each.
	origins []segment.Origin
	tallies []segment.OriginTally
	// parts are the parts of origins, partOf has the index of the part of an input and the instance of its records.
	parts  []segment.Part
	partOf map[inputPart]uint32

	opened int // number of inputs opened
	// waiting are the blocks of opened inputs that are not open yet, the last in the order of positions first.
	waiting []waitingBlock
	open    *spill.Merger[position]
	// held is the memory of waiting blocks in bytes.
	held int64
	free [][]byte // texts for reuse
}

// inputPart identifies a part by an index into inputs and its instance.
type inputPart struct {
	at       int
	instance string
}

// waitingBlock is a block that is not decoded yet.
type waitingBlock struct {
	at     int    // index into inputs
	part   uint32 // of its records
	block  segment.Block
	stored []byte // nil if it has to be read
}

// newMerge starts a merge. It reads the footers of inputs that a relay wrote, for their instances. If one cannot be read because it is
// damaged, the error is an [*inputError].
func newMerge(ctx context.Context, b store.BlobReader, inputs []catalog.Segment, tempDir string, budget int64) (*merge, error) {
	relayed, err := instancesOf(ctx, b, inputs)
	if err != nil {
		return nil, err
	}
	m := &merge{
		blobs: b, inputs: inputs, decoder: segment.NewDecoder(), budget: budget,
		index: make([]int, len(inputs)), tallies: make([]segment.OriginTally, len(inputs)), open: spill.NewMerger(positions{}, tempDir),
		partOf: make(map[inputPart]uint32),
	}
	m.next, m.stop = iter.Pull(fetch(ctx, b, inputs))
	order := make([]int, len(inputs))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return segment.CompareOrigins(inputs[a].Origin(), inputs[b].Origin()) })
	instances := make(map[int][]string)
	for rank, at := range order {
		m.index[at] = rank
		m.origins = append(m.origins, inputs[at].Origin())
		if relayed[at] != nil {
			instances[rank] = relayed[at]
		}
	}
	m.parts = segment.PartsOf(m.origins, instances)
	for i, p := range m.parts {
		m.partOf[inputPart{order[p.Input], p.Instance}] = uint32(i)
	}
	return m, nil
}

// close ends the merge and releases its resources.
func (m *merge) close() error {
	m.stop()
	return m.open.Close()
}

// each appends every record in output order to w, with the index of its part. A block whose records all follow each other
// is appended as it is stored. At the end it compares the records with the inputs' metadata, and sets the sums of origins.
func (m *merge) each(ctx context.Context, w *segment.Writer) error {
	for {
		if err := m.openNext(ctx, w); err != nil {
			return err
		}
		start, _, more := m.nextStart()
		if err := m.open.Each(func(p position) bool { return !more || p.compare(start) < 0 }, func(p position, c spill.Cursor[position]) error {
			line, err := m.line(c)
			if err != nil {
				return err
			}
			return w.AppendLine(line, int(p.part))
		}); err != nil {
			return err
		}
		if !more {
			break
		}
	}
	for at, s := range m.inputs {
		i := m.index[at]
		m.origins[i].Sum = m.tallies[i].Sum
		if !m.tallies[i].Matches(m.origins[i]) {
			return &inputError{s, errors.New("its records differ from its metadata")}
		}
	}
	return nil
}

// line returns the current record of a cursor.
func (m *merge) line(c spill.Cursor[position]) (record.Line, error) {
	if block, ok := c.(*cursor); ok {
		return block.line, nil
	}
	text, err := m.open.Payload(c)
	if err != nil {
		return record.Line{}, err
	}
	line, _, err := record.Next(text)
	return line, err
}

// openNext opens all blocks that may contain the next record, or appends them to out.
func (m *merge) openNext(ctx context.Context, out *segment.Writer) error {
	for {
		start, fromWaiting, ok := m.nextStart()
		first, _, some := m.open.First()
		if !ok || some && start.compare(first) > 0 {
			return nil
		}
		if fromWaiting {
			w := m.waiting[len(m.waiting)-1]
			m.waiting = m.waiting[:len(m.waiting)-1]
			if err := m.openBlock(ctx, w, out); err != nil {
				return err
			}
			continue
		}
		if err := m.openInput(ctx); err != nil {
			return err
		}
	}
}

// nextStart returns the earliest position that a record of a block that is not open may have, and whether the block is in waiting.
// It is not ok if all are open.
func (m *merge) nextStart() (start position, fromWaiting, ok bool) {
	if n := len(m.waiting); n > 0 {
		w := &m.waiting[n-1]
		start, fromWaiting, ok = m.position(w, w.block.Start), true, true
	}
	// Inputs of equal start are not in the order of their index.
	if m.opened < len(m.inputs) && (!ok || m.inputs[m.opened].Meta.Start <= start.time) {
		start, fromWaiting, ok = position{time: m.inputs[m.opened].Meta.Start}, false, true
	}
	return start, fromWaiting, ok
}

// openInput takes the next input and adds its blocks to waiting.
func (m *merge) openInput(ctx context.Context) error {
	in, ok := m.next()
	switch {
	case !ok:
		return context.Cause(ctx)
	case in.err != nil:
		return in.err
	}
	at := m.opened
	m.opened++
	for _, b := range in.footer.Blocks {
		part, ok := m.partOf[inputPart{at, in.footer.InstanceOf(b)}]
		if !ok {
			return &inputError{in.Segment, fmt.Errorf("block %d is of an instance that its footer did not have", b.Index)}
		}
		w := waitingBlock{at: at, part: part, block: b}
		// If memory is short, later blocks are read again when they are needed.
		if in.body != nil && (b.Index == 0 || m.held+m.open.Size() < m.budget/2) {
			w.stored = in.body[b.Offset : b.Offset+b.Stored : b.Offset+b.Stored]
			if len(in.footer.Blocks) > 1 {
				w.stored = slices.Clone(w.stored) // does not retain the other blocks
			}
			m.held += b.Stored
		}
		i, _ := slices.BinarySearchFunc(m.waiting, m.position(&w, b.Start), func(w waitingBlock, start position) int {
			return start.compare(m.position(&w, w.block.Start))
		})
		m.waiting = slices.Insert(m.waiting, i, w)
	}
	return nil
}

// alone reports whether the records of a block, which is the first to start, come before those of all other blocks.
func (m *merge) alone(w waitingBlock) bool {
	if _, _, some := m.open.First(); some {
		return false
	}
	next, _, more := m.nextStart()
	return !more || next.compare(m.position(&w, w.block.End)) > 0
}

// position is the position of a record of a block.
func (m *merge) position(w *waitingBlock, time int64) position {
	return position{time, w.part, uint32(w.block.Index)}
}

// openBlock decodes a block and opens a cursor on it, or appends it to out.
func (m *merge) openBlock(ctx context.Context, w waitingBlock, out *segment.Writer) error {
	s := m.inputs[w.at]
	if w.stored != nil {
		m.held -= w.block.Stored
	}
	if m.held+m.open.Size()+w.block.Raw > m.budget {
		if err := m.open.Spill(); err != nil {
			return err
		}
		m.free = nil
	}
	var text, stored []byte
	err := segment.ReadTwice(ctx, func() (err error) {
		stored = w.stored
		if w.stored = nil; stored == nil {
			if stored, err = retry.Range(m.blobs, s.Ref())(ctx, w.block.Offset, w.block.Stored); err != nil {
				return err
			}
		}
		text, err = m.decoder.DecodeBlock(m.buffer(w.block.Raw), stored, w.block)
		return err
	})
	if err != nil {
		return inputFailed(ctx, s, err)
	}
	if err := m.tally(text, m.index[w.at], w.block); err != nil {
		return &inputError{s, err}
	}
	if m.alone(w) {
		ok, err := out.AppendStored(text, stored, int(w.part))
		if ok || err != nil {
			m.reuse(text)
			return err
		}
	}
	c := &cursor{position: position{part: w.part, block: uint32(w.block.Index)}, text: text, whole: text, ended: m.reuse}
	if err := m.open.Add(c, int64(cap(text))); err != nil {
		return &inputError{s, err}
	}
	return nil
}

// tally counts the records of a block, and checks their order and the footer's description of the block.
func (m *merge) tally(text []byte, input int, b segment.Block) error {
	var check segment.BlockCheck
	check.Reset(&b)
	for len(text) > 0 {
		line, rest, err := record.Next(text)
		if err != nil {
			return fmt.Errorf("block %d: %w", b.Index, err)
		}
		check.Add(line.Text, &line.Columns)
		m.tallies[input].Add(line)
		text = rest
	}
	return check.Done(true)
}

// maxFree is the maximum number of texts kept for reuse.
const maxFree = 8

// buffer returns an empty text of an ended cursor with a suitable capacity for n bytes, or nil.
func (m *merge) buffer(n int64) []byte {
	i := slices.IndexFunc(m.free, func(b []byte) bool { return int64(cap(b)) >= n && int64(cap(b)) <= 2*n })
	if i < 0 {
		return nil
	}
	text := m.free[i]
	m.free = slices.Delete(m.free, i, i+1)
	return text[:0]
}

// reuse keeps the text of an ended cursor for reuse.
func (m *merge) reuse(whole []byte) {
	if len(m.free) < maxFree && cap(whole) <= 2*segment.DefaultBlockSize {
		m.free = append(m.free, whole)
	}
}
