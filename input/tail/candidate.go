package tail

import (
	"strings"
	"time"
)

// candidate is a file to be identified.
type candidate struct {
	entry
	// content is the open file. Whoever reads the file takes it; then it is nil.
	content
	// place is the path with symbolic links resolved.
	place string
	// source is the source of its records, pipe reports that it is not a regular file.
	source string
	pipe   bool
	discovery
	// unmatched is a file that no pattern matches, but whose name is a rotated name of a
	// file that is read.
	unmatched bool
	// deferred is when it was first found, if it was found before.
	deferred time.Time
}

// close closes a file that is not read.
func (c *candidate) close() {
	if c.content != nil {
		_ = c.Close()
	}
}

// mayBeCompressed reports whether it will perhaps be a compressed file: too little was written yet.
func (c *candidate) mayBeCompressed() bool {
	return c.size < int64(len(gzipMagic)) && strings.HasSuffix(c.path, compressedSuffix) && strings.HasPrefix(gzipMagic, readPrefix(c, c.size))
}

// grew reports whether the file has more bytes than when it was opened.
func (c *candidate) grew() bool {
	n, _ := c.ReadAt(make([]byte, 1), c.size)
	return n > 0
}
