package tail

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"math"
	"path/filepath"

	"logstow/internal/wire"
)

// fileID identifies a file; it survives a rename.
type fileID struct {
	device, inode uint64
}

const (
	// fileInput is the prefix of the position names of files in the buffer.
	fileInput = "file"
	// patternInput is the prefix of the position names of patterns: the time of their first scan.
	patternInput = "files"
)

// inputPrefix is the prefix of the position names of a Tailer.
func inputPrefix(kind, name string) string {
	if name == "" {
		return kind + ":"
	}
	return kind + "@" + name + ":"
}

// input is the name of a file's position in the buffer.
func (id fileID) input(prefix string) string {
	return fmt.Sprintf("%s%x:%x", prefix, id.device, id.inode)
}

// maxFingerprint is the maximum number of bytes, at the start of a file, in a fingerprint.
const maxFingerprint = 1024

// fingerprint distinguishes a file from another one that later got the same inode:
// the CRC-32C of its first length bytes. Length 0 matches every file.
type fingerprint struct {
	length uint32
	sum    uint32
}

// fingerprintOf is the fingerprint of the first bytes of a file.
func fingerprintOf(head []byte) fingerprint {
	return fingerprint{uint32(len(head)), crc32.Checksum(head, crc32.MakeTable(crc32.Castagnoli))}
}

// extend returns the fingerprint extended by the bytes b at an offset, as far as they follow the bytes that
// it covers.
func (p fingerprint) extend(at int64, b []byte) fingerprint {
	covered := int64(p.length) - at
	if covered < 0 || covered >= int64(len(b)) {
		return p
	}
	b = b[covered:]
	b = b[:min(len(b), maxFingerprint-int(p.length))]
	return fingerprint{p.length + uint32(len(b)), crc32.Update(p.sum, crc32.MakeTable(crc32.Castagnoli), b)}
}

// kind is the meaning of a position's offset.
type kind uint8

const (
	// plain means an offset in the file.
	plain kind = iota
	// compressed means an offset in the decompressed content.
	compressed
	// copied means that the content was or will be read from another file; the offset is the size.
	copied
	kinds
)

// position says how far a file was read, and identifies the file.
type position struct {
	// head has the first bytes of the file if they were read by this process; it is not encoded.
	head string
	// last is the last byte that this process read of the file, at the offset lastAt; 0 if it read none. They are not
	// encoded.
	last   byte
	lastAt int64
	id     fileID
	kind   kind
	offset int64
	print  fingerprint
	// at is when the position was stored, in Unix seconds.
	at int64
	// modified is the file's modification time, in Unix nanoseconds.
	modified int64
	// path is the absolute path at which the file was first found, target that path with
	// symbolic links resolved ("" if it is the same), source the source of its records.
	path, target, source string
	// state is the state of the line reader at the offset ([input.Point].Held).
	state string
}

// resolvedPath returns the path at which the file was first found, with symbolic links resolved.
func (p position) resolvedPath() string {
	if p.target == "" {
		return p.path
	}
	return p.target
}

// positionVersion is the first byte of an encoded position.
const positionVersion = 1

// encode encodes the position for the buffer: the version, then kind, device, inode, offset,
// fingerprint length, fingerprint and the two times as variable-length integers, then path,
// target, source and state, each preceded by its length.
func (p position) encode() []byte {
	b := make([]byte, 1, 80+len(p.path)+len(p.target)+len(p.source)+len(p.state))
	b[0] = positionVersion
	for _, v := range [...]uint64{
		uint64(p.kind), p.id.device, p.id.inode, uint64(p.offset),
		uint64(p.print.length), uint64(p.print.sum), uint64(p.at), uint64(max(p.modified, 0)),
	} {
		b = binary.AppendUvarint(b, v)
	}
	for _, s := range [...]string{p.path, p.target, p.source, p.state} {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	return b
}

var errMalformed = errors.New("file position: malformed")

// decodePosition decodes positions of this version; anything else is an error.
func decodePosition(b []byte) (position, error) {
	if len(b) == 0 || b[0] != positionVersion {
		return position{}, errors.New("file position: unknown version")
	}
	d := decoder{wire.Reader{Rest: b[1:]}}
	var p position
	p.kind = kind(d.number(uint64(kinds) - 1))
	p.id = fileID{d.number(math.MaxUint64), d.number(math.MaxUint64)}
	p.offset = int64(d.number(math.MaxInt64))
	p.print = fingerprint{uint32(d.number(maxFingerprint)), uint32(d.number(math.MaxUint32))}
	p.at = int64(d.number(math.MaxInt64))
	p.modified = int64(d.number(math.MaxInt64))
	p.path, p.target, p.source, p.state = d.text(), d.text(), d.text(), d.text()
	if d.Bad || len(d.Rest) > 0 {
		return position{}, errMalformed
	}
	return p, nil
}

// decoder reads the fields of a position.
type decoder struct{ wire.Reader }

func (d *decoder) number(limit uint64) uint64 {
	v := d.Uvarint()
	if v > limit {
		d.Fail()
	}
	return v
}

func (d *decoder) text() string { return string(d.Text()) }

// distinguishing reports whether p distinguishes its file from another one that got its
// inode: otherwise nothing is known of the file's content.
func (p position) distinguishing() bool { return p.print.length > 0 || p.kind != plain }

// isWeak reports whether p's fingerprint covers fewer bytes than the fingerprint of a file of the given
// size: then it may not distinguish p's file from a copy of another file that got its inode.
func (p position) isWeak(size int64) bool {
	return !p.distinguishing() || p.kind == plain && int64(p.print.length) < min(size, maxFingerprint)
}

// mayBeAt reports whether p's file may be at a path. If only its inode is known, the
// path must be its own or that of a rotated file.
func (p position) mayBeAt(path string) bool {
	return p.distinguishing() || path == p.path || path == p.target ||
		isRotation(filepath.Base(path), filepath.Base(p.path)) || isRotation(filepath.Base(path), filepath.Base(p.resolvedPath()))
}

// orphanID returns an identity for the position of a file whose inode has another content now.
func (p position) orphanID() fileID {
	h := fnv.New64a()
	h.Write(p.encode())
	return fileID{device: math.MaxUint64, inode: h.Sum64()}
}
