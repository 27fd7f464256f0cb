// Package decompress reads text that may be compressed with gzip or zstd.
package decompress

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip" //nolint:depguard // what others compressed is no segment
	"github.com/klauspost/compress/zstd" //nolint:depguard // as above
)

const (
	// maxWindow is the maximum window of a zstd stream in bytes, the same as in segments.
	maxWindow = 8 << 20
	// bufferSize is the size of the buffer for compressed bytes.
	bufferSize = 64 << 10
)

// Reader detects the compression of a text by its first bytes and decompresses it. The caller must call done.
func Reader(r io.Reader) (text io.Reader, done func(), err error) {
	head := bufio.NewReaderSize(r, bufferSize)
	magic, err := head.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(head)
		if err != nil {
			return nil, nil, fmt.Errorf("decompress gzip: %w", err)
		}
		return z, func() { _ = z.Close() }, nil // it only reads
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}), len(magic) == 4 && magic[0]&0xf0 == 0x50 && bytes.Equal(magic[1:], []byte{0x2a, 0x4d, 0x18}):
		z, err := zstd.NewReader(head, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, nil, fmt.Errorf("decompress zstd: %w", err)
		}
		return z, z.Close, nil
	}
	return head, func() {}, nil
}
