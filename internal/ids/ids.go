// Package ids encodes lists of small numbers: indexes into a dictionary of n entries.
package ids

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/klauspost/compress/huff0"
)

// Form is how ids are encoded.
type Form byte

// The forms. [Encoder.Append] uses the shortest.
const (
	// Packed ids each take the number of bits of n-1, the lowest bit first. Unused bits of the last byte are 0.
	Packed Form = iota
	// Huffman has one byte for each id, compressed by huff0 as one stream after its table. n is at most 256, and there are
	// at most [huff0.BlockSizeMax] ids.
	Huffman
	// Runs are pairs of an id and how often it comes again, as unsigned varints.
	Runs
	// Huffman4 is Huffman with four streams, which decode faster: of fourStreams ids or more.
	Huffman4
)

const (
	// maxHuffman is the number of different ids that huff0 can encode: bytes.
	maxHuffman = 256
	// fourStreams is the number of ids from which on four streams are used.
	fourStreams = 1024
)

// ErrMalformed is wrapped by the errors of [Decode].
var ErrMalformed = errors.New("malformed ids")

// Number is the type of an id.
type Number interface{ uint8 | uint16 | uint32 }

// Encoder encodes ids. The zero value is ready to use. Not safe for concurrent use.
type Encoder struct {
	bytes []byte
	huff  huff0.Scratch
}

// Append appends ids, each less than n, in the shortest form, and returns the form. They are at least
// one, and n is at least 1.
func Append[N Number](e *Encoder, dst []byte, ids []N, n int) ([]byte, Form) {
	width := width(n)
	best := (len(ids)*width + 7) / 8
	form := Packed
	var compressed []byte
	if n <= maxHuffman && best > 0 && len(ids) <= huff0.BlockSizeMax {
		e.bytes = e.bytes[:0]
		for _, id := range ids {
			e.bytes = append(e.bytes, byte(id))
		}
		if out, of := e.huffman(); out != nil && len(out) < best {
			compressed, best, form = out, len(out), of
		}
	}
	from := len(dst)
	if best > 0 {
		if dst = appendRuns(dst, ids, best); len(dst) > from {
			return dst, Runs
		}
	}
	if compressed != nil {
		return append(dst, compressed...), form
	}
	return appendPacked(dst, ids, width), Packed
}

// huffman compresses the encoder's bytes; nil if they do not become shorter.
func (e *Encoder) huffman() ([]byte, Form) {
	e.huff.Reuse = huff0.ReusePolicyNone
	if len(e.bytes) >= fourStreams {
		out, _, err := huff0.Compress4X(e.bytes, &e.huff)
		if err != nil {
			return nil, 0
		}
		return out, Huffman4
	}
	out, _, err := huff0.Compress1X(e.bytes, &e.huff)
	if err != nil {
		return nil, 0
	}
	return out, Huffman
}

// width is the number of bits of an id below n.
func width(n int) int { return bits.Len(uint(n - 1)) }

// appendRuns appends runs of ids if they are shorter than limit, otherwise nothing.
func appendRuns[N Number](dst []byte, ids []N, limit int) []byte {
	from := len(dst)
	for i := 0; i < len(ids); {
		n := i + 1
		for n < len(ids) && ids[n] == ids[i] {
			n++
		}
		dst = binary.AppendUvarint(dst, uint64(ids[i]))
		dst = binary.AppendUvarint(dst, uint64(n-i-1))
		if len(dst)-from >= limit {
			return dst[:from]
		}
		i = n
	}
	return dst
}

func appendPacked[N Number](dst []byte, ids []N, width int) []byte {
	var word uint64
	filled := 0
	for _, id := range ids {
		word |= uint64(id) << filled
		for filled += width; filled >= 8; filled -= 8 {
			dst = append(dst, byte(word))
			word >>= 8
		}
	}
	if filled > 0 {
		dst = append(dst, byte(word))
	}
	return dst
}

// Decoder decodes ids. The zero value is ready to use. Not safe for concurrent use.
type Decoder struct {
	huff huff0.Scratch
}

// Decode decodes data, which must contain exactly len(ids) ids less than n. Errors wrap [ErrMalformed].
func Decode[N Number](d *Decoder, ids []N, form Form, data []byte, n int) error {
	if err := decode(d, ids, form, data, n); err != nil {
		return err
	}
	for _, id := range ids {
		if uint64(id) >= uint64(n) {
			return fmt.Errorf("%w: id %d of %d", ErrMalformed, id, n)
		}
	}
	return nil
}

func decode[N Number](d *Decoder, ids []N, form Form, data []byte, n int) error {
	switch form {
	case Packed:
		return decodePacked(ids, data, width(n))
	case Huffman, Huffman4:
		return decodeHuffman(d, ids, form, data, n)
	case Runs:
		return decodeRuns(ids, data, n)
	}
	return fmt.Errorf("%w: form %d is unknown", ErrMalformed, form)
}

func decodePacked[N Number](ids []N, data []byte, width int) error {
	if len(data) != (len(ids)*width+7)/8 {
		return fmt.Errorf("%w: %d bytes", ErrMalformed, len(data))
	}
	var word uint64
	filled := 0
	for i := range ids {
		for ; filled < width; filled += 8 {
			word |= uint64(data[0]) << filled
			data = data[1:]
		}
		ids[i] = N(word & (1<<width - 1))
		word >>= width
		filled -= width
	}
	if word != 0 {
		return fmt.Errorf("%w: bits follow the last id", ErrMalformed)
	}
	return nil
}

func decodeHuffman[N Number](d *Decoder, ids []N, form Form, data []byte, n int) error {
	if n > maxHuffman || len(ids) > huff0.BlockSizeMax {
		return fmt.Errorf("%w: huff0 of %d ids", ErrMalformed, n)
	}
	if small, ok := any(ids).([]uint8); ok {
		return DecodeBytes(d, small, form, data)
	}
	out := make([]byte, len(ids))
	if err := DecodeBytes(d, out, form, data); err != nil {
		return err
	}
	for i, id := range out {
		ids[i] = N(id)
	}
	return nil
}

// AppendBytes compresses at most [huff0.BlockSizeMax] bytes as Huffman or Huffman4. It is not ok if the result is not
// shorter.
func AppendBytes(e *Encoder, dst, b []byte) (out []byte, form Form, ok bool) {
	if len(b) > huff0.BlockSizeMax {
		return dst, 0, false
	}
	e.bytes = append(e.bytes[:0], b...)
	compressed, form := e.huffman()
	if compressed == nil || len(compressed) >= len(b) {
		return dst, 0, false
	}
	return append(dst, compressed...), form, true
}

// DecodeBytes decompresses data, of the form Huffman or Huffman4, into out, which it must fill. Errors wrap [ErrMalformed].
func DecodeBytes(d *Decoder, out []byte, form Form, data []byte) error {
	if len(out) > huff0.BlockSizeMax {
		return fmt.Errorf("%w: huff0 of %d bytes", ErrMalformed, len(out))
	}
	d.huff.MaxDecodedSize = len(out)
	s, data, err := huff0.ReadTable(data, &d.huff)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	var got []byte
	switch form {
	case Huffman:
		got, err = s.Decoder().Decompress1X(out[:0:len(out)], data)
	case Huffman4:
		got, err = s.Decoder().Decompress4X(out[:len(out):len(out)], data)
	default:
		err = fmt.Errorf("form %d", form)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if len(got) != len(out) {
		return fmt.Errorf("%w: %d of %d bytes", ErrMalformed, len(got), len(out))
	}
	if len(out) > 0 && &got[0] != &out[0] {
		copy(out, got)
	}
	return nil
}

func decodeRuns[N Number](ids []N, data []byte, n int) error {
	for len(ids) > 0 {
		id, ok := Uvarint(&data)
		again, more := Uvarint(&data)
		if !ok || !more || id >= uint64(n) || again >= uint64(len(ids)) {
			return fmt.Errorf("%w: a run is missing or too long", ErrMalformed)
		}
		for i := range again + 1 {
			ids[i] = N(id)
		}
		ids = ids[again+1:]
	}
	if len(data) > 0 {
		return fmt.Errorf("%w: %d bytes follow the last run", ErrMalformed, len(data))
	}
	return nil
}

// Uvarint splits an unsigned varint off data.
func Uvarint(data *[]byte) (uint64, bool) {
	v, n := binary.Uvarint(*data)
	if n <= 0 {
		return 0, false
	}
	*data = (*data)[n:]
	return v, true
}
