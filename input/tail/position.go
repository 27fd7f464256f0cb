package tail

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"io"
	"math"
	"os"
)

// fileID is what stays the same when a file is renamed.
type fileID struct {
	device, inode uint64
}

const (
	// fileInput begins the names under which the buffer keeps the positions of files.
	fileInput = "file:"
	// patternInput begins those under which it keeps that a pattern was looked through.
	patternInput = "files:"
)

// input is the name under which the buffer keeps a file's position.
func (id fileID) input() string { return fmt.Sprintf("%s%x:%x", fileInput, id.device, id.inode) }

// maxPrint is how many bytes at a file's beginning a fingerprint covers.
const maxPrint = 1024

// fingerprint tells a file from another one that was later given the same
// inode: the CRC-32C of its first length bytes. Length 0 fits every file.
type fingerprint struct {
	length uint32
	sum    uint32
}

// printOf takes the fingerprint of the first n bytes of r, or of [maxPrint].
func printOf(r io.ReaderAt, n int64) (fingerprint, error) {
	buf := make([]byte, min(n, maxPrint))
	if len(buf) == 0 {
		return fingerprint{}, nil
	}
	if got, err := r.ReadAt(buf, 0); got < len(buf) {
		return fingerprint{}, err
	}
	return fingerprint{uint32(len(buf)), crc32.Checksum(buf, crc32.MakeTable(crc32.Castagnoli))}, nil
}

// position is how far a file was read, and what it was then.
type position struct {
	id     fileID
	offset int64
	print  fingerprint
	// at is when this was noted, Unix seconds.
	at int64
	// path is the file's absolute path then, source that of its records.
	path, source string
}

// positionVersion is the first byte of an encoded position.
const positionVersion = 1

// encode is the position as the buffer keeps it: the version, then device,
// inode, offset, fingerprint length, fingerprint and time as variable-length
// integers, then path and source, each behind its length.
func (p position) encode() []byte {
	b := make([]byte, 1, 64+len(p.path)+len(p.source))
	b[0] = positionVersion
	b = binary.AppendUvarint(b, p.id.device)
	b = binary.AppendUvarint(b, p.id.inode)
	b = binary.AppendUvarint(b, uint64(p.offset))
	b = binary.AppendUvarint(b, uint64(p.print.length))
	b = binary.AppendUvarint(b, uint64(p.print.sum))
	b = binary.AppendUvarint(b, uint64(p.at))
	for _, s := range []string{p.path, p.source} {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	return b
}

var errCutShort = errors.New("position of a file: cut short")

// decodePosition reads what encode wrote; anything else is an error.
func decodePosition(b []byte) (position, error) {
	if len(b) == 0 || b[0] != positionVersion {
		return position{}, errors.New("position of a file: not of a version that this program knows")
	}
	var v [6]uint64
	rest := b[1:]
	for i := range v {
		value, n := binary.Uvarint(rest)
		if n <= 0 {
			return position{}, errCutShort
		}
		v[i], rest = value, rest[n:]
	}
	var s [2]string
	for i := range s {
		size, n := binary.Uvarint(rest)
		if n <= 0 || size > uint64(len(rest)-n) {
			return position{}, errCutShort
		}
		s[i], rest = string(rest[n:n+int(size)]), rest[n+int(size):]
	}
	p := position{fileID{v[0], v[1]}, int64(v[2]), fingerprint{uint32(v[3]), uint32(v[4])}, int64(v[5]), s[0], s[1]}
	if p.offset < 0 || p.at < 0 || v[3] > maxPrint || v[4] > math.MaxUint32 || string(p.encode()) != string(b) {
		return position{}, errors.New("position of a file: not as this program writes it")
	}
	return p, nil
}

// resume returns the offset at which reading f goes on after p, or false where
// f is not the file that p is of, or was cut since.
func (p position) resume(f *os.File, size int64) (int64, bool) {
	if size < p.offset {
		return 0, false
	}
	now, err := printOf(f, int64(p.print.length))
	return p.offset, err == nil && now == p.print
}

// idOfPath stands in for device and inode where there are none.
func idOfPath(path string) fileID {
	h := fnv.New64a()
	h.Write([]byte(path))
	return fileID{inode: h.Sum64()}
}
