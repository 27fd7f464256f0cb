package tail

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"io"
	"math"
	"path/filepath"
	"time"
)

// fileID is what stays the same when a file is renamed.
type fileID struct {
	device, inode uint64
}

const (
	// fileInput begins the names under which the buffer keeps the positions of files.
	fileInput = "file"
	// patternInput begins those under which it keeps that a pattern was looked through.
	patternInput = "files"
)

// inputPrefix begins what the buffer keeps for a Tailer of a name.
func inputPrefix(kind, name string) string {
	if name == "" {
		return kind + ":"
	}
	return kind + "@" + name + ":"
}

// input is the name under which the buffer keeps a file's position.
func (id fileID) input(prefix string) string {
	return fmt.Sprintf("%s%x:%x", prefix, id.device, id.inode)
}

// maxPrint is how many bytes at a file's beginning a fingerprint covers.
const maxFingerprint = 1024

// fingerprint tells a file from another one that was later given the same
// inode: the CRC-32C of its first length bytes. Length 0 fits every file.
type fingerprint struct {
	length uint32
	sum    uint32
}

// sumOf is the fingerprint of a beginning of a file.
func fingerprintOf(head []byte) fingerprint {
	return fingerprint{uint32(len(head)), crc32.Checksum(head, crc32.MakeTable(crc32.Castagnoli))}
}

// extend is the fingerprint with the bytes at an offset added, where they follow what it covers.
func (p fingerprint) extend(at int64, b []byte) fingerprint {
	if at != int64(p.length) || at >= maxFingerprint {
		return p
	}
	b = b[:min(len(b), maxFingerprint-int(p.length))]
	return fingerprint{p.length + uint32(len(b)), crc32.Update(p.sum, crc32.MakeTable(crc32.Castagnoli), b)}
}

// printOf takes the fingerprint of the first n bytes of r, or of [maxPrint].
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

// kind is what the bytes that a position counts are.
type kind uint8

const (
	// plain is a file read as it is.
	plain kind = iota
	// packed is a compressed file: the offset is one in what is compressed.
	compressed
	// spare is a file whose content was read from another one: a copy.
	copied
	kinds
)

// position is how far a file was read, and what it was then.
type position struct {
	// begin is what the file began with, where that is known; it is not kept.
	head   string
	id     fileID
	kind   kind
	offset int64
	print  fingerprint
	// at is when this was noted, Unix seconds.
	at int64
	// modified is when the file was last written to, as seen then, Unix nanoseconds.
	modified int64
	// path is the absolute path under which the file was found first, real the
	// one that it led to by symbolic links ("" is the same), source that of its records.
	path, target, source string
	// state is what the reader of lines needs beside the offset to go on.
	state string
}

// place is where the file was, behind all links.
func (p position) resolvedPath() string {
	if p.target == "" {
		return p.path
	}
	return p.target
}

// The first byte of an encoded position.
const (
	// positionV1 had no kind, modified, real and state.
	positionV1      = 1
	positionVersion = 2
)

// maxState is how long a position's state may be.
const maxState = 64 << 10

// encode is the position as the buffer keeps it: the version, then kind, device,
// inode, offset, fingerprint length, fingerprint and the two times as variable-length
// integers, then path, real path, source and state, each behind its length.
func (p position) encode() []byte {
	b := make([]byte, 1, 80+len(p.path)+len(p.target)+len(p.source)+len(p.state))
	b[0] = positionVersion
	for _, v := range [...]uint64{
		uint64(p.kind), p.id.device, p.id.inode, uint64(p.offset),
		uint64(p.print.length), uint64(p.print.sum), uint64(p.at), uint64(p.modified),
	} {
		b = binary.AppendUvarint(b, v)
	}
	for _, s := range [...]string{p.path, p.target, p.source, p.state} {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	return b
}

var (
	errTruncated = errors.New("position of a file: cut short")
	errMalformed = errors.New("position of a file: not as this program writes it")
)

// decodePosition reads what encode wrote, now or in version 1; anything else is an error.
func decodePosition(b []byte) (position, error) {
	if len(b) == 0 || b[0] != positionVersion && b[0] != positionV1 {
		return position{}, errors.New("position of a file: not of a version that this program knows")
	}
	d := decoder{rest: b[1:]}
	first := b[0] == positionV1
	var p position
	var k uint64
	if !first {
		k = d.number(uint64(kinds) - 1)
	}
	p.kind = kind(k)
	p.id = fileID{d.number(math.MaxUint64), d.number(math.MaxUint64)}
	p.offset = int64(d.number(math.MaxInt64))
	p.print = fingerprint{uint32(d.number(maxFingerprint)), uint32(d.number(math.MaxUint32))}
	p.at = int64(d.number(math.MaxInt64))
	if first {
		p.modified = min(p.at, math.MaxInt64/int64(time.Second)) * int64(time.Second)
		p.path, p.source = d.text(), d.text()
	} else {
		p.modified = int64(d.number(math.MaxInt64))
		p.path, p.target, p.source, p.state = d.text(), d.text(), d.text(), d.text()
	}
	if d.err == nil && len(d.rest) > 0 {
		d.err = errMalformed
	}
	if d.err != nil {
		return position{}, d.err
	}
	return p, nil
}

// decoder takes a position apart; after an error it yields zeros.
type decoder struct {
	rest []byte
	err  error
}

func (d *decoder) number(limit uint64) uint64 {
	v, n := binary.Uvarint(d.rest)
	switch {
	case d.err != nil:
		return 0
	case n <= 0:
		d.err = errTruncated
		return 0
	case v > limit || n > 1 && d.rest[n-1] == 0: // too large, or longer than it need be
		d.err = errMalformed
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

func (d *decoder) text() string {
	size := d.number(math.MaxUint64)
	if d.err == nil && size > uint64(len(d.rest)) {
		d.err = errTruncated
	}
	if d.err != nil {
		return ""
	}
	s := string(d.rest[:size])
	d.rest = d.rest[size:]
	return s
}

// telling reports whether p can tell its file from another one that was given its
// inode: nothing was known of what it held otherwise.
func (p position) distinguishing() bool { return p.print.length > 0 || p.kind != plain }

// mayBeAt reports whether p's file may be at a path: of one that is known by its inode
// only, its name must tell.
func (p position) mayBeAt(path string) bool {
	return p.distinguishing() || path == p.path || path == p.target ||
		isRotation(filepath.Base(path), filepath.Base(p.path)) || isRotation(filepath.Base(path), filepath.Base(p.resolvedPath()))
}

// fits reports whether r begins as the file did that p is of.
func (p position) matchesHead(r io.ReaderAt) bool {
	now, err := readFingerprint(r, int64(p.print.length))
	return err == nil && now == p.print
}

// standIn is an identity for a file that has none any more.
func (p position) orphanID() fileID {
	h := fnv.New64a()
	h.Write(p.encode())
	return fileID{device: math.MaxUint64, inode: h.Sum64()}
}

// idOfPath stands in for device and inode where there are none.
func idOfPath(path string) fileID {
	h := fnv.New64a()
	h.Write([]byte(path))
	return fileID{inode: h.Sum64()}
}
