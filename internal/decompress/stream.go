package decompress

import (
	"bytes"
	"io"
	"slices"
	"strings"
)

// Stream is [Reader] for a text that arrives slowly: what is read of an uncompressed text is returned at once, however short it is.
// The error for a compression that is not supported is that of the first Read. Not safe for concurrent use.
func Stream(r io.Reader) io.Reader { return &stream{from: r} }

// stream is the reader of [Stream].
type stream struct {
	from io.Reader
	// text is the text; nil until its compression is known.
	text io.Reader
	done func()
	err  error
}

// Read implements [io.Reader].
func (s *stream) Read(p []byte) (n int, err error) {
	if s.err != nil {
		return 0, s.err
	}
	if s.text == nil {
		s.err = s.detect()
	}
	if s.err == nil {
		n, s.err = s.text.Read(p)
	}
	if s.err != nil && s.done != nil {
		s.done()
		s.done = nil
	}
	return n, s.err
}

// detect reads as much as tells whether the text is compressed.
func (s *stream) detect() (err error) {
	head := make([]byte, 0, HeadSize)
	for err == nil && len(head) < HeadSize && mayBeCompressed(head) {
		var n int
		n, err = s.from.Read(head[len(head):HeadSize])
		head = head[:len(head)+n]
	}
	if err != nil { // it is returned behind what was read
		s.from = failed{err}
	}
	s.from = io.MultiReader(bytes.NewReader(head), s.from)
	if !mayBeCompressed(head) {
		s.text = s.from
		return nil
	}
	s.text, s.done, err = Reader(s.from)
	return err
}

// mayBeCompressed reports whether a text with these first bytes may be compressed.
func mayBeCompressed(head []byte) bool {
	magics := []string{gzipMagic, zstdMagic, bzip2Magic, xzMagic, lz4Magic, zipMagic}
	if len(head) > 0 && head[0]&0xf0 == 0x50 {
		magics = append(magics, string(head[:1])+skippableMagic)
	}
	return slices.ContainsFunc(magics, func(magic string) bool {
		n := min(len(magic), len(head))
		return strings.HasPrefix(magic, string(head[:n]))
	})
}
