package segment

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// maxDepth is the maximum nesting of skipped values.
const maxDepth = 16

// fieldReader reads the values of a msgpack map with text keys. The first error is sticky; after it
// every value reads as zero, so that callers check once.
type fieldReader struct {
	values map[string][]byte
	err    error
}

// readFields splits the map that body consists of into its values. Keys must be in byte order, without duplicates.
func readFields(body []byte) *fieldReader {
	r := &fieldReader{values: make(map[string][]byte)}
	in := bytes.NewReader(body) // the decoder reads no further than necessary
	d := msgpack.NewDecoder(in)
	n, err := d.DecodeMapLen()
	if err != nil {
		r.err = err
		return r
	}
	last := ""
	for range n {
		key, err := d.DecodeString()
		if err != nil {
			r.err = err
			return r
		}
		if key <= last {
			r.err = fmt.Errorf("key %q is out of order", key)
			return r
		}
		last = key
		from := len(body) - in.Len()
		if err := skip(d, maxDepth); err != nil {
			r.err = fmt.Errorf("%s: %w", key, err)
			return r
		}
		r.values[key] = body[from : len(body)-in.Len()]
	}
	if in.Len() > 0 {
		r.err = fmt.Errorf("%d bytes follow the last key", in.Len())
	}
	return r
}

// skip skips one value with bounded recursion; Decoder.Skip has no bound.
func skip(d *msgpack.Decoder, depth int) error {
	code, err := d.PeekCode()
	if err != nil {
		return err
	}
	var n int
	switch {
	case msgpcode.IsFixedArray(code), code == msgpcode.Array16, code == msgpcode.Array32:
		n, err = d.DecodeArrayLen()
	case msgpcode.IsFixedMap(code), code == msgpcode.Map16, code == msgpcode.Map32:
		n, err = d.DecodeMapLen()
		n *= 2
	default:
		return d.Skip()
	}
	if err != nil {
		return err
	}
	if depth == 0 {
		return errors.New("values are nested too deep")
	}
	for range n {
		if err := skip(d, depth-1); err != nil {
			return err
		}
	}
	return nil
}

func (r *fieldReader) has(key string) bool { return r.values[key] != nil }

// fail sets the error, if it is the first.
func (r *fieldReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

// fields returns a reader of the map that is the value of a key; the caller passes it to done at the end.
func (r *fieldReader) fields(key string) *fieldReader {
	switch {
	case r.err != nil:
		return r
	case !r.has(key):
		return &fieldReader{err: errors.New("missing")}
	}
	return readFields(r.values[key])
}

// done adopts the error of m, which fields returned for the key.
func (r *fieldReader) done(key string, m *fieldReader) {
	if m.err != nil {
		r.fail("%s: %w", key, m.err)
	}
}

// value reads a key's value with read.
func (r *fieldReader) value(key string, read func(d *msgpack.Decoder) error) {
	switch {
	case r.err != nil:
	case !r.has(key):
		r.fail("%s: missing", key)
	default:
		if err := read(msgpack.NewDecoder(bytes.NewReader(r.values[key]))); err != nil {
			r.fail("%s: %w", key, err)
		}
	}
}

// array reads an array of at most limit elements: it calls alloc with their number, then element for each.
func (r *fieldReader) array(key string, limit int, alloc func(n int), element func(d *msgpack.Decoder, i int) error) {
	r.value(key, func(d *msgpack.Decoder) error {
		n, err := d.DecodeArrayLen()
		if err != nil {
			return err
		}
		if n < 0 || n > limit {
			return fmt.Errorf("%d elements, at most %d allowed", n, limit)
		}
		alloc(n)
		for i := range n {
			if err := element(d, i); err != nil {
				return err
			}
		}
		return nil
	})
}

func (r *fieldReader) int(key string) (n int64) {
	r.value(key, func(d *msgpack.Decoder) (err error) {
		n, err = d.DecodeInt64()
		return err
	})
	return n
}

func (r *fieldReader) uint(key string) (n uint64) {
	r.value(key, func(d *msgpack.Decoder) (err error) {
		n, err = d.DecodeUint64()
		return err
	})
	return n
}

func (r *fieldReader) text(key string, limit int) (s string) {
	r.value(key, func(d *msgpack.Decoder) (err error) {
		s, err = decodeText(d, limit)
		return err
	})
	return s
}

// texts returns at most limit texts of at most length bytes; none if the key is missing.
func (r *fieldReader) texts(key string, limit, length int) (list []string) {
	if !r.has(key) {
		return nil
	}
	r.array(key, limit, func(n int) { list = make([]string, n) }, func(d *msgpack.Decoder, i int) (err error) {
		list[i], err = decodeText(d, length)
		return err
	})
	return list
}

// exactly returns n numbers, zeros after an error.
func (r *fieldReader) exactly(key string, n int) []uint64 {
	list := r.column(key, n)
	if len(list) != n {
		r.fail("%s: %d elements, %d expected", key, len(list), n)
	}
	if r.err != nil {
		return make([]uint64, n)
	}
	return list
}

// column returns at most limit numbers. A negative number is returned as a huge one that exceeds every limit.
func (r *fieldReader) column(key string, limit int) (list []uint64) {
	r.array(key, limit, func(n int) { list = make([]uint64, n) }, func(d *msgpack.Decoder, i int) (err error) {
		list[i], err = d.DecodeUint64()
		return err
	})
	return list
}

// bytes returns a key's n bytes, zeros after an error.
func (r *fieldReader) bytes(key string, n int) []byte {
	b := make([]byte, n)
	r.value(key, func(d *msgpack.Decoder) error {
		got, err := d.DecodeBytesLen()
		if err == nil && got != n {
			err = fmt.Errorf("%d bytes, %d expected", got, n)
		}
		if err != nil || n == 0 {
			return err
		}
		return d.ReadFull(b)
	})
	return b
}

// hashes returns n hashes, zeros after an error.
func (r *fieldReader) hashes(key string, n int) []Hash {
	b := r.bytes(key, n*len(Hash{}))
	list := make([]Hash, n)
	for i := range list {
		list[i] = Hash(b[i*len(Hash{}):])
	}
	return list
}

// decodeText reads a text of at most limit bytes.
func decodeText(d *msgpack.Decoder, limit int) (string, error) {
	n, err := d.DecodeBytesLen()
	if err != nil {
		return "", err
	}
	if n < 0 || n > limit {
		return "", fmt.Errorf("%d bytes, at most %d allowed", n, limit)
	}
	b := make([]byte, n)
	err = d.ReadFull(b)
	return string(b), err
}
