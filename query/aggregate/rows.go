package aggregate

import (
	"bytes"
	"encoding/binary"
	"strings"

	"logstow/internal/wire"
)

// rowBuilder makes rows from groups that arrive in the order of their keys.
type rowBuilder struct {
	*Result
	// row is the current row if there is a pivot key: the merged group of all its cells.
	row     *single
	cells   []byte // encoded cells of the current row
	columns int    // their number

	pivots map[string]*pivot
	// next is the next step that needs a row, if steps without records get one; filled is set if next is.
	next   int64
	filled bool
	rows   int
	out    []byte
}

// pivot is a value of the pivot key.
type pivot struct {
	number   int
	text     []byte // nil if it is missing
	isString bool
}

func (p *pivot) header(f Function, functions int) string {
	text := strings.ToValidUTF8(string(p.text), "\ufffd")
	switch {
	case p.text == nil:
		text = "-"
	case text == "-":
		text = `"-"`
	}
	if functions > 1 {
		text += " " + f.Header
	}
	return text
}

func newRowBuilder(r *Result) *rowBuilder {
	return &rowBuilder{Result: r, row: newSingle(r.Plan), pivots: map[string]*pivot{}}
}

// add adds a group, whose decoded key is b.key.
func (b *rowBuilder) add(t *table, group ref) error {
	if b.Pivot < 0 {
		functions := b.printed(t, group)
		b.cells, b.columns = appendCell(b.cells[:0], -1, functions), 1
		return b.put(&b.key, functions)
	}
	if !b.row.has(b.key.row) {
		if err := b.endRow(); err != nil {
			return err
		}
		b.row.start(b.key.row)
	}
	p, err := b.pivot()
	if err != nil {
		return err
	}
	b.cells = appendCell(b.cells, p.number, b.printed(t, group))
	b.columns++
	return b.mergeInto(b.row, t, group)
}

// printed computes the functions of a group with key b.key, and notes which are approximate.
func (b *rowBuilder) printed(t *table, group ref) []Value {
	functions := b.finish(t, group, b.duration(&b.key))
	for i, v := range functions {
		b.Approximate[i] = b.Approximate[i] || v.Approximate
	}
	return functions
}

// pivot returns the value of the pivot key in b.key.
func (b *rowBuilder) pivot() (*pivot, error) {
	p := b.pivots[string(b.key.pivot)]
	if p == nil {
		if len(b.pivots) == MaxColumns {
			return nil, errTooManyColumns(b.By[b.Pivot].Header)
		}
		p = &pivot{number: len(b.pivots), text: bytes.Clone(readKey(&wire.Reader{Rest: b.key.pivot}))}
		b.pivots[string(b.key.pivot)] = p
	}
	p.isString = p.isString || b.key.flags>>b.Pivot&1 != 0
	return p, nil
}

// endRow puts the current row, if there is one.
func (b *rowBuilder) endRow() error {
	return b.row.flush(func(t *table, group ref) error {
		var k rowKey
		if !k.parse(b.Plan, t.key(group), t.flags(group), false) {
			return errCorrupt
		}
		err := b.put(&k, b.finish(t, group, b.duration(&k)))
		b.cells, b.columns = b.cells[:0], 0
		return err
	})
}

// appendCell appends the number of a pivot value, unless it is -1, and the values of the functions.
func appendCell(dst []byte, number int, functions []Value) []byte {
	if number >= 0 {
		dst = binary.AppendUvarint(dst, uint64(number))
	}
	for _, v := range functions {
		dst = appendValue(dst, v)
	}
	return dst
}

// duration returns the length in nanoseconds of the part of the key's step that is in the range.
func (b *rowBuilder) duration(k *rowKey) int64 {
	if !k.stepped {
		return b.To - b.From
	}
	return min(b.To, b.Step.End(k.step, b.Zone)) - max(b.From, k.step)
}

// put puts a row with the current cells, after rows for the steps without records before it.
func (b *rowBuilder) put(k *rowKey, functions []Value) error {
	if b.fills() {
		if !b.filled && b.fillsRange() {
			b.next, b.filled = b.Step.Start(b.From, b.Zone), true
		}
		if b.filled {
			if err := b.fill(k.step); err != nil {
				return err
			}
		}
		b.next, b.filled = b.Step.End(k.step, b.Zone), true
	}
	return b.write(k, functions, b.columns, b.cells)
}

// maxEmpty is the maximum number of steps without records, in a gap or in the range, that get a row.
const maxEmpty = 10_000

// fillsRange reports whether steps without records at the ends of the range get a row.
func (b *rowBuilder) fillsRange() bool {
	return b.Bounded() && b.Step.Count(b.From, b.To) <= maxEmpty
}

// fill puts rows for steps without records, before a step.
func (b *rowBuilder) fill(before int64) error {
	if b.Step.Count(b.next, before) > maxEmpty {
		return nil
	}
	empty := b.empty()
	for b.next < before {
		k := rowKey{step: b.next, stepped: true}
		k.row = binary.BigEndian.AppendUint64(nil, uint64(b.next)^1<<63)
		if err := b.write(&k, empty, 0, nil); err != nil {
			return err
		}
		b.next = b.Step.End(b.next, b.Zone)
	}
	return nil
}

// write puts a row into the sorter: flags (uvarint), length (uvarint) and bytes of the key, number of
// cells (uvarint), cells.
func (b *rowBuilder) write(k *rowKey, functions []Value, columns int, cells []byte) error {
	b.rows++
	b.sortKey = b.appendSortKey(b.sortKey[:0], k, functions)
	b.out = binary.AppendUvarint(b.out[:0], uint64(k.flags))
	b.out = binary.AppendUvarint(b.out, uint64(len(k.row)))
	b.out = append(b.out, k.row...)
	b.out = binary.AppendUvarint(b.out, uint64(columns))
	b.out = append(b.out, cells...)
	return b.sorter.Put(b.sortKey, b.out)
}

// end puts the remaining rows. Without keys there is a row even if there are no records.
func (b *rowBuilder) end() error {
	if err := b.endRow(); err != nil {
		return err
	}
	switch {
	case b.fills() && b.fillsRange():
		if !b.filled {
			b.next = b.Step.Start(b.From, b.Zone)
		}
		return b.fill(b.To)
	case len(b.By) == 0 && b.rows == 0:
		return b.write(&rowKey{}, b.empty(), 1, appendCell(nil, -1, b.empty()))
	}
	return nil
}
