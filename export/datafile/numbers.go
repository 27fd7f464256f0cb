package datafile

import (
	"cmp"
	"encoding/binary"

	"github.com/parquet-go/parquet-go/format"

	"logstow/export/delta"
)

// numbers is a column of numbers.
type numbers[T int64 | float64] struct {
	chunk
	// bits returns the 64 bits of a number.
	bits        func(T) uint64
	group, file numberBounds[T]
	fileNulls   int64
}

// numberBounds are the least and the greatest of numbers.
type numberBounds[T int64 | float64] struct {
	least, greatest T
	any             bool
}

func (b *numberBounds[T]) add(v T) {
	if !b.any {
		b.least, b.greatest, b.any = v, v, true
		return
	}
	if cmp.Less(v, b.least) {
		b.least = v
	}
	if cmp.Less(b.greatest, v) {
		b.greatest = v
	}
}

func (c *numbers[T]) add(v T) error {
	if len(c.data) >= pageBytes {
		if err := c.endPage(format.Plain); err != nil {
			return err
		}
	}
	c.value(c.definition, 0)
	c.data = binary.LittleEndian.AppendUint64(c.data, c.bits(v))
	c.group.add(v)
	return nil
}

func (c *numbers[T]) endGroup(f *file) error {
	if err := c.endPage(format.Plain); err != nil {
		return err
	}
	s := format.Statistics{NullCount: c.nulls}
	if c.group.any {
		s.MinValue = binary.LittleEndian.AppendUint64(nil, c.bits(c.group.least))
		s.MaxValue = binary.LittleEndian.AppendUint64(nil, c.bits(c.group.greatest))
		c.file.add(c.group.least)
		c.file.add(c.group.greatest)
	}
	c.fileNulls += c.nulls
	c.group.any = false
	return f.add(&c.chunk, s)
}

func (c *numbers[T]) addStats(s *delta.Stats) {
	name := c.path[0]
	s.Nulls[name] = c.fileNulls
	if c.file.any {
		s.Min[name], s.Max[name] = c.file.least, c.file.greatest
	}
}
