package datafile

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/format"

	"logstow/export/delta"
	"logstow/record"
)

const (
	// replacement stands for bytes that are not UTF-8: strings of Parquet must be.
	replacement = "\ufffd"
	// maxDictionary is the size at which a dictionary ends: later values of the row group are written as they are.
	maxDictionary = 1 << 20
	// maxEntry is the maximum size of a text in a dictionary.
	maxEntry = 4 << 10
	// maxBound is the maximum size of a text in the statistics of a row group. Those of a file have 32 characters at most.
	maxBound = 1 << 10
)

// texts is a column of strings.
type texts struct {
	chunk
	// indexes are those of the values of the page in the dictionary, encode those of its entries; nil without a dictionary. full is set once
	// there are too many for one.
	indexes []int32
	encode  map[string]int32
	full    bool
	// last is the last value, which mostly is the next one, too, and lastIndex its index, -1 if there is none.
	last      []byte
	lastIndex int32
	// noBounds is set if the least and the greatest value do not help anyone.
	noBounds    bool
	group, file bounds
	fileNulls   int64
	// changed counts the values that were not UTF-8.
	changed int64
}

// withDictionary makes it a column of few different values.
func (c *texts) withDictionary() { c.encode, c.lastIndex = make(map[string]int32), -1 }

// bounds are the least and the greatest of texts, or the starts of these, of maxBound bytes.
type bounds struct {
	least, greatest []byte
	any             bool
	// cut is set if some are not whole.
	cut bool
}

func (b *bounds) add(text []byte) {
	if len(text) > maxBound {
		text, b.cut = bytes.ToValidUTF8(text[:maxBound], nil), true
	}
	if !b.any {
		b.least, b.greatest, b.any = append(b.least[:0], text...), append(b.greatest[:0], text...), true
		return
	}
	switch {
	case bytes.Compare(text, b.least) < 0:
		b.least = append(b.least[:0], text...)
	case bytes.Compare(text, b.greatest) > 0:
		b.greatest = append(b.greatest[:0], text...)
	}
}

// add adds a value, which it copies.
func (c *texts) add(text []byte) error {
	if err := c.beginRow(len(text)); err != nil {
		return err
	}
	c.value(c.definition, 0)
	c.put(text)
	return nil
}

// addNull adds a null.
func (c *texts) addNull() error {
	if err := c.beginRow(0); err != nil {
		return err
	}
	c.null()
	return nil
}

// addOptional adds a value, or a null.
func (c *texts) addOptional(text []byte, null bool) error {
	if null {
		return c.addNull()
	}
	return c.add(text)
}

// addMessage adds a message in its stored form.
func (c *texts) addMessage(raw []byte) error {
	if err := c.beginRow(0); err != nil {
		return err
	}
	c.value(c.definition, 0)
	start := len(c.data)
	c.data = record.AppendMessage(append(c.data, 0, 0, 0, 0), raw)
	text := c.data[start+4:]
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte(replacement))
		c.data = append(c.data[:start+4], text...)
		c.changed++
	}
	binary.LittleEndian.PutUint32(c.data[start:], uint32(len(text)))
	return nil
}

// beginRow ends the page if it is large, or if the dictionary ends: pages end between rows only. size is that of a text of the row.
func (c *texts) beginRow(size int) error {
	switch {
	case c.encode != nil && !c.full && (len(c.dictionary) > maxDictionary || size > maxEntry):
		err := c.endPage()
		c.full, c.lastIndex = true, -1
		return err
	case len(c.data)+4*len(c.indexes) >= pageBytes:
		return c.endPage()
	}
	return nil
}

// put adds a text whose levels are there.
func (c *texts) put(text []byte) {
	if c.encode != nil && c.lastIndex >= 0 && bytes.Equal(text, c.last) {
		c.indexes = append(c.indexes, c.lastIndex)
		return
	}
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte(replacement))
		c.changed++
	}
	if c.encode == nil || c.full {
		c.data = appendText(c.data, text)
		c.bound(text)
		return
	}
	i, ok := c.encode[string(text)]
	if !ok {
		i = int32(c.entries)
		c.encode[string(text)] = i
		c.dictionary = appendText(c.dictionary, text)
		c.entries++
		c.bound(text)
	}
	c.indexes = append(c.indexes, i)
	c.last, c.lastIndex = append(c.last[:0], text...), i
}

func (c *texts) bound(text []byte) {
	if !c.noBounds {
		c.group.add(text)
	}
}

// appendText appends a text as in a page.
func appendText(dst, text []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(dst, uint32(len(text))), text...)
}

func (c *texts) endPage() (err error) {
	if c.entries == 0 || c.full {
		return c.chunk.endPage(format.Plain)
	}
	if c.data, err = new(rle.DictionaryEncoding).EncodeInt32(c.data, c.indexes); err != nil {
		return err
	}
	c.indexes = c.indexes[:0]
	return c.chunk.endPage(format.RLEDictionary)
}

func (c *texts) endGroup(f *file) error {
	if err := c.endPage(); err != nil {
		return err
	}
	s := format.Statistics{NullCount: c.nulls}
	if c.group.any {
		if !c.group.cut {
			s.MinValue, s.MaxValue = bytes.Clone(c.group.least), bytes.Clone(c.group.greatest)
		}
		c.file.add(c.group.least)
		c.file.add(c.group.greatest)
	}
	c.fileNulls += c.nulls
	clear(c.encode)
	c.group.any, c.group.cut, c.full, c.lastIndex = false, false, false, -1
	return f.add(&c.chunk, s)
}

func (c *texts) addStats(s *delta.Stats) {
	name := c.path[0]
	s.Nulls[name] = c.fileNulls
	if !c.file.any {
		return
	}
	s.Min[name] = delta.MinString(string(c.file.least))
	if most, ok := delta.MaxString(string(c.file.greatest)); ok {
		s.Max[name] = most
	}
}
