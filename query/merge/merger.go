package merge

import (
	"logstow/query/fetch"
	"logstow/query/source"

	"logstow/spill"
)

// merger merges the records of blocks into output order. Blocks are added in order of their start.
type merger struct {
	order  Order
	emit   func(Match) error
	budget int64 // bytes of records in memory
	open   *spill.Merger[key]
}

func newMerger(o Order, budget int64, tempDir string, emit func(Match) error) *merger {
	return &merger{order: o, emit: emit, budget: budget, open: spill.NewMerger(&keys{Order: o}, tempDir)}
}

// add adds the matches of the next block, none of which is before start. It emits all records before start.
func (m *merger) add(found *fetch.Matches, start key) error {
	if err := m.open.Each(func(k key) bool { return m.order.before(k, start) }, m.put); err != nil {
		return err
	}
	if len(found.Spans) == 0 {
		return nil
	}
	c := &blockCursor{matches: found, newest: m.order.Newest}
	if err := m.open.Add(c, c.size()); err != nil {
		return err
	}
	if m.open.Size() <= m.budget {
		return nil
	}
	return m.open.Spill()
}

// finish emits the remaining records.
func (m *merger) finish() error { return m.open.Each(nil, m.put) }

// put emits one record.
func (m *merger) put(k key, c spill.Cursor[key]) error {
	line, err := m.open.Payload(c)
	if err != nil {
		return err
	}
	match := Match{Segment: k.origin.Blob(), Store: k.origin.Store, Instance: k.origin.Meta.Instance, Time: k.time, Line: line}
	if b, ok := c.(*blockCursor); ok {
		match.message, match.level = int(b.at.Message), b.at.Level
	}
	return m.emit(match)
}

// keys orders keys, and encodes them for runs: time, number of the origin, block.
type keys struct {
	Order
	origins spill.Numbers[*source.Segment]
}

// Compare implements [spill.Keys].
func (k *keys) Compare(a, b key) int { return k.compare(a, b) }

// Encode implements [spill.Keys].
func (k *keys) Encode(buffer []byte, at key) []byte {
	return spill.EncodeTimed(buffer, at.time, k.origins.Of(at.origin), uint32(at.block))
}

// Decode implements [spill.Keys].
func (k *keys) Decode(encoded []byte) (at key, ok bool) {
	time, number, block, ok := spill.DecodeTimed(encoded)
	origin, known := k.origins.Value(number)
	return key{time: time, origin: origin, block: int(block)}, ok && known
}
