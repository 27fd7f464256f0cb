package wal

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
)

// A log file, and every other file of the buffer that is appended to, is a magic of eight
// bytes and frames:
//
//	length   4 bytes, little endian, of the payload, at least 1
//	durable  4 bytes, little endian: in a log file and its copy, everything before this
//	         offset of the log file was durable when the frame was written; otherwise 0
//	head CRC 4 bytes, little endian, CRC-32C of these eight bytes
//	CRC      4 bytes, little endian, CRC-32C of these eight bytes and the payload
//	payload  msgpack
//
// In a log file and its copy both sums begin with the file's seed, so that the old content
// of a recycled file is never read as a frame.
const (
	frameHead = 16
	// MaxFrame is the limit of a payload in bytes.
	MaxFrame = 64 << 20
)

// endMarker follows the last entry of the current file; in a recycled file the bytes behind
// it are old.
const endMarker = "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// ErrFrame reports that there is no intact frame at the expected place.
var ErrFrame = errors.New("no intact frame")

// seed is the initial value of the checksums of a log file's frames.
type seed uint32

// seedOf returns the seed of the log file with a sequence number. It is unique within 2^32
// files, because a CRC-32 detects every burst error of up to 32 bits.
func seedOf(seq uint64) seed {
	return seed(crc32.Checksum(binary.LittleEndian.AppendUint64(nil, seq), crc32.MakeTable(crc32.Castagnoli)))
}

// AppendFrame appends a frame with a payload.
func AppendFrame(b, payload []byte) []byte {
	start := len(b)
	b = append(b, make([]byte, frameHead)...)
	head := b[start:]
	binary.LittleEndian.PutUint32(head[12:], payloadSum(beginHead(head, len(payload), 0, 0), payload))
	return append(b, payload...)
}

// beginHead fills in the head of a frame except the last checksum, which is the returned sum continued over the payload.
func beginHead(head []byte, payload int, durable int64, s seed) (sum uint32) {
	binary.LittleEndian.PutUint32(head, uint32(payload))
	binary.LittleEndian.PutUint32(head[4:], uint32(min(durable, math.MaxUint32)))
	sum = headSum(head, s)
	binary.LittleEndian.PutUint32(head[8:], sum)
	return sum
}

// NextFrame returns the payload of the frame at the start of b, and the rest of b. The error
// is ErrFrame if the frame is truncated or damaged.
func NextFrame(b []byte) (payload, rest []byte, err error) {
	f, err := nextFrame(b, 0)
	if err != nil {
		return nil, nil, err
	}
	return f.payload, b[frameHead+len(f.payload):], nil
}

// MaybeTorn reports whether b may be a frame whose end is missing.
func MaybeTorn(b []byte) bool {
	if len(b) < frameHead {
		return true
	}
	n := binary.LittleEndian.Uint32(b)
	return n > 0 && n <= MaxFrame && uint64(n) > uint64(len(b)-frameHead)
}

// frame is a decoded frame.
type frame struct {
	payload []byte
	durable int64
}

func (f frame) size() int { return frameHead + len(f.payload) }

// nextFrame returns the frame at the start of b.
func nextFrame(b []byte, s seed) (frame, error) {
	if len(b) < frameHead {
		return frame{}, ErrFrame
	}
	n := binary.LittleEndian.Uint32(b)
	if n == 0 || n > MaxFrame || uint64(n) > uint64(len(b)-frameHead) {
		return frame{}, ErrFrame
	}
	sum := headSum(b, s)
	if binary.LittleEndian.Uint32(b[8:]) != sum {
		return frame{}, ErrFrame
	}
	payload := b[frameHead : frameHead+int(n)]
	if binary.LittleEndian.Uint32(b[12:]) != payloadSum(sum, payload) {
		return frame{}, ErrFrame
	}
	return frame{payload, int64(binary.LittleEndian.Uint32(b[4:]))}, nil
}

func headSum(head []byte, s seed) uint32 {
	return crc32.Update(uint32(s), crc32.MakeTable(crc32.Castagnoli), head[:8])
}

func payloadSum(sum uint32, payload []byte) uint32 {
	return crc32.Update(sum, crc32.MakeTable(crc32.Castagnoli), payload)
}

// placedFrame is a frame and its offset in its file.
type placedFrame struct {
	frame
	at int64
}

// end is the offset behind the frame.
func (p placedFrame) end() int64 { return p.at + int64(p.size()) }

// frames returns all intact frames of a file that hold entries, and the number of bytes that
// were durable according to them.
func frames(data []byte, magic string, s seed) (found []placedFrame, durable int64) {
	at := 0
	if len(data) >= len(magic) && string(data[:len(magic)]) == magic {
		at = len(magic)
	}
	for at < len(data) {
		next, err := nextFrame(data[at:], s)
		if err != nil {
			at += 1 + resync(data[at+1:], s)
			continue
		}
		found = append(found, placedFrame{next, int64(at)})
		durable = max(durable, next.durable)
		at += next.size()
	}
	return found, durable
}

// resync returns the offset of the next intact frame that holds an entry, or the end.
func resync(b []byte, s seed) int {
	for i := 0; i+frameHead < len(b); i++ {
		// A frame's payload is an array of 1 to 13 elements; checking that first saves most checksums.
		if c := b[i+frameHead]; c < 0x91 || c > 0x9d {
			continue
		}
		if _, err := nextFrame(b[i:], s); err == nil {
			return i
		}
	}
	return len(b)
}

// hasEndMarker reports whether b, the bytes behind the last entry, begins with the end marker.
func hasEndMarker(b []byte) bool {
	return len(b) >= len(endMarker) && string(b[:len(endMarker)]) == endMarker
}
