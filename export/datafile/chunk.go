package datafile

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"slices"

	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// pageBytes is the size at which a page ends, before it is compressed: small enough to be compressed from the processor's cache.
const pageBytes = 256 << 10

// chunk collects the pages of a column in a row group. The next row group uses its memory again.
type chunk struct {
	path []string
	kind format.Type
	// definition and repetition are the maximum levels of a value.
	definition, repetition uint8
	compressor             *compressor
	// out is where pages are written when they end. If it is nil, they are kept until the end of the row group: the pages of other columns
	// are written meanwhile.
	out *counter

	// data has the values of the page, definitions and repetitions their levels, if the column has any.
	data                     []byte
	definitions, repetitions []byte
	values                   int // of the page, nulls included
	rows                     int64
	// dictionary is the dictionary page, if the column has one.
	dictionary []byte
	entries    int

	// pages has the pages that are kept, with their headers. Their offsets in places count from its start.
	pages       []byte
	places      []format.PageLocation
	stats       []format.PageEncodingStats
	size, plain int64 // of pages and headers, with and without compression
	// before, total and nulls are rows of finished pages, values and nulls of the row group.
	before, total, nulls int64

	levels, body, packed []byte // memory for reuse
	header               bytes.Buffer
}

// value counts a value with its levels; its row is counted by the caller if the column is repeated.
func (c *chunk) value(definition, repetition uint8) {
	c.values++
	if c.definition > 0 {
		c.definitions = append(c.definitions, definition)
	}
	if c.repetition > 0 {
		c.repetitions = append(c.repetitions, repetition)
	} else {
		c.rows++
	}
}

// null adds a null in an optional column.
func (c *chunk) null() {
	c.value(0, 0)
	c.nulls++
}

// appendLevels appends levels as in a page.
func appendLevels(dst, levels, memory []byte, most uint8) (page, used []byte, err error) {
	if most == 0 {
		return dst, memory, nil
	}
	width := 1
	if most > 1 {
		width = 2
	}
	used, err = (&rle.Encoding{BitWidth: width}).EncodeLevels(memory, levels)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(used)))
	return append(dst, used...), used, err
}

// endPage ends the page, whose values are in data in an encoding.
func (c *chunk) endPage(encoding format.Encoding) (err error) {
	if c.values == 0 {
		return nil
	}
	body := c.data
	if c.definition > 0 {
		c.body = c.body[:0]
		if c.body, c.levels, err = appendLevels(c.body, c.repetitions, c.levels, c.repetition); err != nil {
			return err
		}
		if c.body, c.levels, err = appendLevels(c.body, c.definitions, c.levels, c.definition); err != nil {
			return err
		}
		c.body = append(c.body, c.data...)
		body = c.body
	}
	at, size := int64(len(c.pages)), c.size
	if c.out != nil {
		at = c.out.n
	}
	err = c.writePage(c.out, body, &format.PageHeader{Type: format.DataPage, DataPageHeader: thrift.New(format.DataPageHeader{
		NumValues: int32(c.values), Encoding: encoding, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE,
	})})
	if err != nil {
		return err
	}
	c.places = append(c.places, format.PageLocation{Offset: at, CompressedPageSize: int32(c.size - size), FirstRowIndex: c.before})
	c.countPage(format.DataPage, encoding)
	c.before += c.rows
	c.total += int64(c.values)
	c.rows, c.values = 0, 0
	c.data, c.definitions, c.repetitions = c.data[:0], c.definitions[:0], c.repetitions[:0]
	return nil
}

func (c *chunk) countPage(kind format.PageType, encoding format.Encoding) {
	i := slices.IndexFunc(c.stats, func(s format.PageEncodingStats) bool { return s.PageType == kind && s.Encoding == encoding })
	if i < 0 {
		i = len(c.stats)
		c.stats = append(c.stats, format.PageEncodingStats{PageType: kind, Encoding: encoding})
	}
	c.stats[i].Count++
}

// writePage compresses a page, and writes it with its header, or keeps it if there is no writer.
func (c *chunk) writePage(out *counter, body []byte, h *format.PageHeader) error {
	c.packed = c.compressor.encode(c.packed, body)
	h.UncompressedPageSize, h.CompressedPageSize = int32(len(body)), int32(len(c.packed))
	h.CRC = int32(crc32.ChecksumIEEE(c.packed))
	c.header.Reset()
	if err := encodeThrift(&c.header, h); err != nil {
		return err
	}
	c.size += int64(c.header.Len() + len(c.packed))
	c.plain += int64(c.header.Len() + len(body))
	if out == nil {
		c.pages = append(append(c.pages, c.header.Bytes()...), c.packed...)
		return nil
	}
	if _, err := out.Write(c.header.Bytes()); err != nil {
		return err
	}
	_, err := out.Write(c.packed)
	return err
}

// finish writes the pages that are kept, after the last one has ended. The next row group may begin.
func (c *chunk) finish(w *counter, s format.Statistics) (format.ColumnChunk, format.OffsetIndex, error) {
	m := format.ColumnMetaData{Type: c.kind, PathInSchema: c.path, Codec: c.compressor.format(), NumValues: c.total, Statistics: s}
	if len(c.dictionary) > 0 {
		m.DictionaryPageOffset = w.n
		err := c.writePage(w, c.dictionary, &format.PageHeader{Type: format.DictionaryPage, DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{
			NumValues: int32(c.entries), Encoding: format.Plain,
		})})
		if err != nil {
			return format.ColumnChunk{}, format.OffsetIndex{}, err
		}
		c.countPage(format.DictionaryPage, format.Plain)
	}
	index := format.OffsetIndex{PageLocations: slices.Clone(c.places)}
	if c.out == nil {
		for i := range index.PageLocations {
			index.PageLocations[i].Offset += w.n
		}
		if _, err := w.Write(c.pages); err != nil {
			return format.ColumnChunk{}, format.OffsetIndex{}, err
		}
	}
	m.DataPageOffset = index.PageLocations[0].Offset
	m.TotalCompressedSize, m.TotalUncompressedSize, m.EncodingStats = c.size, c.plain, slices.Clone(c.stats)
	m.Encoding = []format.Encoding{format.RLE}
	for _, e := range c.stats {
		if !slices.Contains(m.Encoding, e.Encoding) {
			m.Encoding = append(m.Encoding, e.Encoding)
		}
	}
	c.pages, c.places, c.stats, c.dictionary = c.pages[:0], c.places[:0], c.stats[:0], c.dictionary[:0]
	c.size, c.plain, c.before, c.total, c.nulls, c.entries = 0, 0, 0, 0, 0, 0
	return format.ColumnChunk{MetaData: m}, index, nil
}
