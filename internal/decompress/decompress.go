// Package decompress reads text that may be compressed with gzip or zstd.
package decompress

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd" //nolint:depguard // what others compressed is no segment

	"logstow/internal/hint"
)

const (
	// maxWindow is the maximum window of a zstd stream in bytes, the same as in segments.
	maxWindow = 8 << 20
	// bufferSize is the size of the buffer for compressed bytes.
	bufferSize = 64 << 10

	gzipMagic  = "\x1f\x8b"
	zstdMagic  = "\x28\xb5\x2f\xfd"
	bzip2Magic = "BZh"
	xzMagic    = "\xfd7zXZ\x00"
	lz4Magic   = "\x04\x22\x4d\x18"
	zipMagic   = "PK\x03\x04"
	// skippableMagic follows the first byte of a skippable zstd frame, which is from 0x50 to 0x5f.
	skippableMagic = "\x2a\x4d\x18"
	// tarMagic is at tarOffset of a tar archive, behind fields that contain zero bytes.
	tarMagic  = "ustar"
	tarOffset = 257
)

// ErrUnsupported is wrapped by the error for a compression or an archive that is recognized but not read.
var ErrUnsupported = errors.New("not supported")

// HeadSize is the number of first bytes by which a compression is recognized, ArchiveSize those by which also an archive is.
const (
	HeadSize    = 10
	ArchiveSize = tarOffset + len(tarMagic)
)

// Reader detects the compression of a text by its first bytes and decompresses it. The caller must call done. The error
// for a compression that is not supported, a text that is compressed twice, and a tar archive wraps [ErrUnsupported]. It waits for ten bytes.
func Reader(r io.Reader) (text io.Reader, done func(), err error) {
	head := bufio.NewReaderSize(r, bufferSize)
	magic, err := head.Peek(HeadSize)
	switch {
	case err == nil || errors.Is(err, io.EOF):
	case len(magic) == 0:
		return nil, nil, err
	default: // too little was read to recognize a compression
		return io.MultiReader(bytes.NewReader(bytes.Clone(magic)), failed{err}), func() {}, nil
	}
	switch {
	case bytes.HasPrefix(magic, []byte(gzipMagic)):
		z, err := Gzip(head)
		if err != nil {
			return nil, nil, fmt.Errorf("decompress gzip: %w", err)
		}
		return inner(z, "gzip -dc", func() {})
	case isZstd(magic):
		z, err := zstd.NewReader(head, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, nil, fmt.Errorf("decompress zstd: %w", err)
		}
		return inner(z, "zstd -dc", z.Close)
	}
	if magic, _ = head.Peek(min(head.Buffered(), ArchiveSize)); Unsupported(magic) != nil {
		return nil, nil, Unsupported(magic)
	}
	return head, func() {}, nil
}

// inner returns a decompressed text, unless it is no text. command decompresses it.
func inner(z io.Reader, command string, done func()) (io.Reader, func(), error) {
	text := bufio.NewReaderSize(z, 2*ArchiveSize)
	_, _ = text.Peek(HeadSize) // the error comes again
	head, _ := text.Peek(min(text.Buffered(), ArchiveSize))
	if err := UnsupportedInside(head, command); err != nil {
		done()
		return nil, nil, err
	}
	return text, done, nil
}

// failed is a reader that returns an error.
type failed struct{ err error }

func (f failed) Read([]byte) (int, error) { return 0, f.err }

func isZstd(head []byte) bool {
	return bytes.HasPrefix(head, []byte(zstdMagic)) ||
		len(head) >= 4 && head[0]&0xf0 == 0x50 && bytes.HasPrefix(head[1:], []byte(skippableMagic))
}

// format is a compression that is recognized but not read.
type format struct {
	name, suffix, command string
	// matches reports whether a file with these first bytes has the format.
	matches func(head []byte) bool
}

// formats are the recognized compressions, apart from gzip.
func formats() []format {
	magic := func(magic string) func([]byte) bool {
		return func(head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) }
	}
	return []format{
		{"zstd", ".zst", "zstd -dc", isZstd},
		{"bzip2", ".bz2", "bzip2 -dc", isBzip2},
		{"xz", ".xz", "xz -dc", magic(xzMagic)},
		{"lz4", ".lz4", "lz4 -dc", magic(lz4Magic)},
		{"zip", ".zip", "unzip -p", magic(zipMagic)},
	}
}

// isBzip2 recognizes the header of a stream and that of its first block, or its end if it has none: a text may start with BZh1.
func isBzip2(head []byte) bool {
	block, ok := bytes.CutPrefix(head, []byte(bzip2Magic))
	return ok && len(block) >= 7 && block[0] >= '1' && block[0] <= '9' &&
		(bytes.HasPrefix(block[1:], []byte("\x31\x41\x59\x26\x53\x59")) || bytes.HasPrefix(block[1:], []byte("\x17\x72\x45\x38\x50\x90")))
}

// isTar recognizes the header of the first file.
func isTar(head []byte) bool {
	return len(head) >= ArchiveSize && string(head[tarOffset:ArchiveSize]) == tarMagic && bytes.IndexByte(head[:tarOffset], 0) > 0
}

// UnsupportedInside is [Unsupported] for the first bytes of a decompressed text, which must not be compressed again. command
// decompresses it.
func UnsupportedInside(head []byte, command string) error {
	if bytes.HasPrefix(head, []byte(gzipMagic)) || Unsupported(head) != nil && !isTar(head) {
		return hint.Wrap(fmt.Errorf("compressed twice, which is %w", ErrUnsupported), "decompress it first: %s", command)
	}
	return Unsupported(head)
}

// Unsupported returns an error with a hint if the first bytes of a file, [HeadSize] or all, are those of another
// compression than gzip, or [ArchiveSize] those of a tar archive.
func Unsupported(head []byte) error {
	if isTar(head) {
		return hint.Wrap(fmt.Errorf("a tar archive, which is %w", ErrUnsupported), "extract its files first: tar -xf")
	}
	for _, f := range formats() {
		if f.matches(head) {
			return hint.Wrap(fmt.Errorf("compressed with %s, which is %w", f.name, ErrUnsupported), "decompress it first: %s", f.command)
		}
	}
	return nil
}

// HasUnsupportedSuffix reports whether a file has the name of one that [Unsupported] rejects. It may be too short to tell.
func HasUnsupportedSuffix(name string) bool {
	for _, f := range formats() {
		if strings.HasSuffix(name, f.suffix) {
			return true
		}
	}
	return false
}
