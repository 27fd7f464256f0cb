package decompress

import (
	"bufio"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip" //nolint:depguard // what others compressed is no segment
)

// gzipReader reads the members of a gzip stream one after the other. Zero bytes after a member are padding: programs
// that write whole blocks add them.
type gzipReader struct {
	src    *bufio.Reader
	member *gzip.Reader
}

// Gzip returns a reader of the decompressed text of a gzip stream, also of one with several members and padding.
func Gzip(r io.Reader) (io.Reader, error) {
	src, ok := r.(*bufio.Reader)
	if !ok {
		src = bufio.NewReaderSize(r, bufferSize)
	}
	member, err := gzip.NewReader(src)
	if err != nil {
		return nil, err
	}
	member.Multistream(false)
	return &gzipReader{src, member}, nil
}

// Read implements [io.Reader].
func (g *gzipReader) Read(p []byte) (int, error) {
	for {
		n, err := g.member.Read(p)
		if !errors.Is(err, io.EOF) || n > 0 {
			if errors.Is(err, io.EOF) {
				err = nil // the next call returns it again
			}
			return n, err
		}
		if err := g.skipPadding(); err != nil {
			return 0, err
		}
		if err := g.member.Reset(g.src); err != nil {
			return 0, err
		}
		g.member.Multistream(false)
	}
}

// skipPadding skips zero bytes. The error is io.EOF at the end of the stream.
func (g *gzipReader) skipPadding() error {
	for {
		b, err := g.src.ReadByte()
		switch {
		case err != nil:
			return err
		case b != 0:
			return g.src.UnreadByte()
		}
	}
}
