package tail

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"logstow/input"
	"logstow/internal/decompress"
)

// gzipMagic is the start of gzip files.
const gzipMagic = "\x1f\x8b\x08"

// isCompressed reports whether r is a gzip file.
func isCompressed(r io.ReaderAt) bool { return readPrefix(r, int64(len(gzipMagic))) == gzipMagic }

// readPrefix returns the first n bytes, or fewer if r is shorter or cannot be read.
func readPrefix(r io.ReaderAt, n int64) string {
	b := make([]byte, n)
	got, _ := r.ReadAt(b, 0)
	return string(b[:got])
}

// unpack returns a reader of the decompressed content of a file.
func unpack(r io.ReaderAt) (io.Reader, error) {
	return decompress.Gzip(io.NewSectionReader(r, 0, 1<<62))
}

// checkCompression returns an error if a file has a compression that is not read, or is an archive, also a compressed one.
func checkCompression(r io.ReaderAt) error {
	if isCompressed(r) {
		head, _ := readHead(r, compressed) // the error comes again
		return decompress.UnsupportedInside(head, "gzip -dc")
	}
	return decompress.Unsupported([]byte(readPrefix(r, int64(decompress.ArchiveSize))))
}

// readHead returns the first bytes of the (decompressed) content, at most [maxFingerprint].
func readHead(handle io.ReaderAt, kind kind) ([]byte, error) {
	var r io.Reader = io.NewSectionReader(handle, 0, maxFingerprint)
	if kind == compressed {
		var err error
		if r, err = unpack(handle); err != nil {
			return nil, err
		}
	}
	b := make([]byte, maxFingerprint)
	n, err := io.ReadFull(r, b)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return b[:n], err
}

// encodingOf returns the encoding of a file's (decompressed) content, by its first bytes.
func encodingOf(r io.ReaderAt, kind kind) input.Encoding {
	head, err := readHead(r, kind)
	if err != nil {
		return input.UTF8
	}
	encoding, _ := input.DetectEncoding(head)
	return encoding
}

// startsLike reports whether p's file and b have the same first bytes, as far as both are known.
func (p position) startsLike(b []byte) bool {
	n := int(p.print.length)
	if n > len(b) { // p's file grew after it was copied
		return len(b) > 0 && strings.HasPrefix(p.head, string(b))
	}
	return n > 0 && fingerprintOf(b[:n]) == p.print
}

// isComplete reports whether a compressed file is complete, by reading it.
func isComplete(handle io.ReaderAt) bool {
	r, err := unpack(handle)
	if err == nil {
		_, err = io.Copy(io.Discard, r)
	}
	return err == nil
}

// matchesHead reports whether the first bytes of r have p's fingerprint. The error is that of reading r.
func (p position) matchesHead(r io.ReaderAt) (bool, error) {
	now, err := readFingerprint(r, int64(p.print.length))
	if errors.Is(err, io.EOF) { // it is shorter
		return false, nil
	}
	return err == nil && now == p.print, err
}

// isHole reports whether the last byte that was read of p's file is a NUL byte now: the file was truncated, and a program
// that did not open it for appending wrote on at its offset. The first bytes do not show that if they were a hole already.
func (p position) isHole(r io.ReaderAt) bool {
	if p.last == 0 {
		return false
	}
	var b [1]byte
	n, _ := r.ReadAt(b[:], p.lastAt)
	return n == 1 && b[0] == 0
}

// matchesContent reports whether a file has p's fingerprint and at least its size.
func matchesContent(p position, r io.ReaderAt, size int64) bool {
	if p.kind == compressed || p.kind == copied && isCompressed(r) {
		head, err := readHead(r, compressed)
		return err == nil && (p.print.length == 0 || p.startsLike(head))
	}
	fits, _ := p.matchesHead(r)
	return size >= p.offset && fits && (p.distinguishing() || !isCompressed(r))
}

// sameContent reports whether the first and the last bytes of a file are the same as those of another one in the same
// range. size and otherSize are their sizes.
func sameContent(file, other io.ReaderAt, size, otherSize int64) bool {
	if size > otherSize {
		return false
	}
	const span = 4096
	a, b := make([]byte, min(span, size)), make([]byte, min(span, size))
	for _, at := range []int64{0, size - int64(len(a))} {
		if n, _ := file.ReadAt(a, at); n < len(a) {
			return false
		}
		if n, _ := other.ReadAt(b, at); n < len(b) || !bytes.Equal(a, b) {
			return false
		}
	}
	return true
}

// readFingerprint returns the fingerprint of the first min(n, [maxFingerprint]) bytes of r.
func readFingerprint(r io.ReaderAt, n int64) (fingerprint, error) {
	buf := make([]byte, min(n, maxFingerprint))
	if len(buf) == 0 {
		return fingerprint{}, nil
	}
	if got, err := r.ReadAt(buf, 0); got < len(buf) {
		return fingerprint{}, err
	}
	return fingerprintOf(buf), nil
}

// content is an open file.
type content interface {
	io.ReaderAt
	io.Closer
}

// copyOf returns the position of a copy: nothing is read from that open file, because its
// content was or will be read from another file.
func copyOf(p position, r io.ReaderAt, size int64) (position, error) {
	head, err := readHead(r, p.kind)
	p.kind, p.print, p.offset, p.state = copied, fingerprintOf(head), size, ""
	return p, err
}
