package input

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

// Encoding is an encoding of text other than UTF-8, which is recognized by a byte order mark.
type Encoding uint8

// The encodings that are converted to UTF-8.
const (
	// UTF8 is any text without the mark of another encoding; it is not converted.
	UTF8 Encoding = iota
	UTF16LE
	UTF16BE
	UTF32LE
	UTF32BE
)

// encodedSize is the size of a read of a stream that is converted: the splitter has space for the text of so many bytes.
const encodedSize = readSize / 4

// String is the encoding's name.
func (e Encoding) String() string {
	return [...]string{"UTF-8", "UTF-16LE", "UTF-16BE", "UTF-32LE", "UTF-32BE"}[e]
}

// mark returns the encoding's byte order mark. [UTF8] has none: if there is one, it remains part of the text.
func (e Encoding) mark() []byte {
	return []byte([...]string{"", "\xff\xfe", "\xfe\xff", "\xff\xfe\x00\x00", "\x00\x00\xfe\xff"}[e])
}

// unit is the size in bytes of the encoding's code units.
func (e Encoding) unit() int {
	return [...]int{1, 2, 2, 4, 4}[e]
}

// DetectEncoding returns the encoding of a text by its first bytes, 4 bytes or all. certain is false if more bytes
// may change the result.
func DetectEncoding(head []byte) (e Encoding, certain bool) {
	certain = true
	for _, candidate := range [...]Encoding{UTF32LE, UTF32BE, UTF16LE, UTF16BE} { // the mark of UTF-16LE begins that of UTF-32LE
		mark := candidate.mark()
		if bytes.HasPrefix(head, mark) {
			return candidate, certain
		}
		certain = certain && !bytes.HasPrefix(mark, head)
	}
	return UTF8, certain
}

// converter converts a stream to UTF-8. It counts the bytes of the stream that each line covers, because positions
// count bytes of the stream.
type converter struct {
	encoding Encoding
	// skip is the number of bytes to skip: the mark, or the rest of a code unit.
	skip int
	// tail is the incomplete character at the end.
	tail []byte
	// line is the number of bytes after the last newline, including tail. sizes are those of the lines before, each with
	// its newline.
	line  int64
	sizes []int64
}

// newConverter makes a converter for a stream that is read from an offset on.
func newConverter(e Encoding, offset int64) *converter {
	c := &converter{encoding: e}
	if mark := int64(len(e.mark())); offset < mark {
		c.skip = int(mark - offset)
	} else if cut := int(offset % int64(e.unit())); cut > 0 {
		c.skip = e.unit() - cut
	}
	return c
}

// convert appends the text of the next bytes to dst: at most 3 bytes for each 2 bytes of the stream, and 3 more.
func (c *converter) convert(dst, src []byte) []byte {
	n := min(c.skip, len(src))
	c.skip -= n
	c.line += int64(len(src))
	if src = src[n:]; len(c.tail) > 0 {
		src = append(c.tail, src...)
	}
	for {
		char, size := c.decode(src)
		if size == 0 {
			break
		}
		dst = utf8.AppendRune(dst, char)
		if src = src[size:]; char == '\n' {
			c.sizes = append(c.sizes, c.line-int64(len(src)))
			c.line = int64(len(src))
		}
	}
	c.tail = bytes.Clone(src)
	return dst
}

// decode decodes the first character, U+FFFD if it is invalid. size is 0 if it is incomplete.
func (c *converter) decode(src []byte) (char rune, size int) {
	var order binary.ByteOrder = binary.LittleEndian
	if c.encoding == UTF16BE || c.encoding == UTF32BE {
		order = binary.BigEndian
	}
	switch unit := c.encoding.unit(); {
	case len(src) < unit:
		return 0, 0
	case unit == 4:
		if v := order.Uint32(src); v <= utf8.MaxRune {
			return rune(v), unit // AppendRune replaces surrogates
		}
		return utf8.RuneError, unit
	}
	first := rune(order.Uint16(src))
	switch {
	case !utf16.IsSurrogate(first):
		return first, 2
	case len(src) < 4 && first < 0xdc00: // the first of a pair
		return 0, 0
	case len(src) < 4:
		return utf8.RuneError, 2
	}
	if char = utf16.DecodeRune(first, rune(order.Uint16(src[2:]))); char == utf8.RuneError {
		return char, 2
	}
	return char, 4
}

// end appends U+FFFD to dst if the stream ends inside a character. More bytes may follow.
func (c *converter) end(dst []byte) []byte {
	if len(c.tail) == 0 {
		return dst
	}
	if cut := len(c.tail) % c.encoding.unit(); cut > 0 {
		c.skip = c.encoding.unit() - cut
	}
	c.tail = nil
	return utf8.AppendRune(dst, utf8.RuneError)
}

// next returns the size in bytes of the next line that was not returned; the last one has no newline.
func (c *converter) next() (size int64) {
	if len(c.sizes) == 0 {
		size, c.line = c.line, 0
		return size
	}
	size, c.sizes = c.sizes[0], c.sizes[1:]
	return size
}
