package wal

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// A log file, and every other file of the buffer that grows, is a magic of eight
// bytes and frames:
//
//	length  4 bytes, little endian, of the payload, at least 1
//	CRC     4 bytes, little endian, CRC-32C of the length's four bytes and the payload
//	payload msgpack
const (
	frameHead = 8
	// MaxFrame is the limit of a payload in bytes.
	MaxFrame = 64 << 20
)

// ErrFrame says that no whole frame stands where one was looked for.
var ErrFrame = errors.New("no whole frame")

// BeginFrame appends the place of a frame's head; the payload follows, and EndFrame ends it.
func BeginFrame(b []byte) []byte { return append(b, make([]byte, frameHead)...) }

// EndFrame fills in the head of the frame that begins at b[start] and ends with b.
func EndFrame(b []byte, start int) {
	head, payload := b[start:start+frameHead], b[start+frameHead:]
	binary.LittleEndian.PutUint32(head, uint32(len(payload)))
	binary.LittleEndian.PutUint32(head[4:], frameSum(head[:4], payload))
}

// NextFrame returns the payload of the frame at the start of b, and what follows
// it. What is cut off or damaged is ErrFrame.
func NextFrame(b []byte) (payload, rest []byte, err error) {
	if len(b) < frameHead {
		return nil, nil, ErrFrame
	}
	n := binary.LittleEndian.Uint32(b)
	if n == 0 || n > MaxFrame || uint64(n) > uint64(len(b)-frameHead) {
		return nil, nil, ErrFrame
	}
	payload = b[frameHead : frameHead+int(n)]
	if binary.LittleEndian.Uint32(b[4:]) != frameSum(b[:4], payload) {
		return nil, nil, ErrFrame
	}
	return payload, b[frameHead+int(n):], nil
}

func frameSum(length, payload []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Update(0, table, length), table, payload)
}
