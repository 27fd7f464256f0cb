package datafile

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// magic begins and ends files.
const magic = "PAR1"

// file writes the row groups and the end of a file.
type file struct {
	out     *counter
	schema  []format.SchemaElement
	groups  []format.RowGroup
	indexes []format.OffsetIndex // of all chunks
	group   format.RowGroup      // the current one
	rows    int64
}

// counter counts what is written.
type counter struct {
	io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.Writer.Write(b)
	c.n += int64(n)
	return n, err
}

// newFile begins a file.
func newFile(w io.Writer, schema []format.SchemaElement) (*file, error) {
	f := &file{out: &counter{Writer: w}, schema: schema}
	_, err := io.WriteString(f.out, magic)
	return f, err
}

// add writes a chunk to the row group.
func (f *file) add(c *chunk, s format.Statistics) error {
	column, index, err := c.finish(f.out, s)
	if err != nil {
		return err
	}
	f.indexes = append(f.indexes, index)
	f.group.Columns = append(f.group.Columns, column)
	f.group.TotalByteSize += column.MetaData.TotalUncompressedSize
	f.group.TotalCompressedSize += column.MetaData.TotalCompressedSize
	return nil
}

// endGroup ends a row group, whose chunks are written.
func (f *file) endGroup(rows int) {
	first := &f.group.Columns[0].MetaData
	f.group.FileOffset = first.DataPageOffset
	if first.DictionaryPageOffset > 0 {
		f.group.FileOffset = first.DictionaryPageOffset
	}
	f.group.NumRows = int64(rows)
	f.group.Ordinal = int16(min(len(f.groups), math.MaxInt16))
	f.rows += int64(rows)
	f.groups = append(f.groups, f.group)
	f.group = format.RowGroup{}
}

// end writes the end of the file.
func (f *file) end() error {
	next := 0
	for _, g := range f.groups {
		for i := range g.Columns {
			at := f.out.n
			if err := encodeThrift(f.out, &f.indexes[next]); err != nil {
				return err
			}
			g.Columns[i].OffsetIndexOffset, g.Columns[i].OffsetIndexLength = at, int32(f.out.n-at)
			next++
		}
	}
	metadata := format.FileMetaData{
		Version:   1,
		Schema:    f.schema,
		NumRows:   f.rows,
		RowGroups: f.groups,
		CreatedBy: "logstow version 1 (build )",
	}
	for _, e := range f.schema {
		if e.Type.Valid {
			metadata.ColumnOrders = append(metadata.ColumnOrders, format.ColumnOrder{Value: new(format.TypeDefinedOrder)})
		}
	}
	begin := f.out.n
	if err := encodeThrift(f.out, &metadata); err != nil {
		return err
	}
	_, err := f.out.Write(append(binary.LittleEndian.AppendUint32(nil, uint32(f.out.n-begin)), magic...))
	return err
}

// encodeThrift writes a structure of the format.
func encodeThrift(w io.Writer, v any) error {
	if err := thrift.NewEncoder(new(thrift.CompactProtocol).NewWriter(w)).Encode(v); err != nil {
		return fmt.Errorf("cannot encode %T: %w", v, err)
	}
	return nil
}
