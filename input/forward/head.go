package forward

import (
	"encoding/binary"
	"math"
)

// kind is what a msgpack value is.
type kind uint8

const (
	kindNil kind = iota
	kindBool
	kindInt   // negative, in head.n as int64
	kindUint  // in head.n
	kindFloat // the bits of a float64 in head.n
	kindText  // str or bin: head.n bytes follow
	kindExt   // head.n bytes follow
	kindArray // head.n values follow
	kindMap   // head.n pairs of values follow
)

// head is the start of a msgpack value, without the content that follows.
type head struct {
	kind kind
	// size is how many bytes the head itself takes.
	size int
	n    uint64
	// ext is the type of a kindExt.
	ext int8
	// single is set for a float of 32 bits.
	single bool
}

// readHead reads the head at the start of b. Its size is 0 if b is too short; ok is false if it is
// malformed.
func readHead(b []byte) (h head, ok bool) {
	if len(b) == 0 {
		return head{}, true
	}
	switch c := b[0]; {
	case c <= 0x7f:
		return head{kind: kindUint, size: 1, n: uint64(c)}, true
	case c <= 0x8f:
		return head{kind: kindMap, size: 1, n: uint64(c & 15)}, true
	case c <= 0x9f:
		return head{kind: kindArray, size: 1, n: uint64(c & 15)}, true
	case c <= 0xbf:
		return head{kind: kindText, size: 1, n: uint64(c & 31)}, true
	case c >= 0xe0:
		return head{kind: kindInt, size: 1, n: uint64(int64(int8(c)))}, true
	case c == 0xc1:
		return head{}, false
	default:
		return longHead(c, b[1:]), true
	}
}

// longHead reads a head that starts with c, one from 0xc0 to 0xdf, and goes on in b.
func longHead(c byte, b []byte) head {
	switch c {
	case 0xc0:
		return head{kind: kindNil, size: 1}
	case 0xc2, 0xc3:
		return head{kind: kindBool, size: 1, n: uint64(c & 1)}
	case 0xc4, 0xc5, 0xc6: // bin
		return number(kindText, 1<<(c-0xc4), b)
	case 0xc7, 0xc8, 0xc9: // ext
		return typed(number(kindExt, 1<<(c-0xc7), b), b)
	case 0xca:
		h := number(kindFloat, 4, b)
		h.n, h.single = math.Float64bits(float64(math.Float32frombits(uint32(h.n)))), true
		return h
	case 0xcb:
		return number(kindFloat, 8, b)
	case 0xcc, 0xcd, 0xce, 0xcf:
		return number(kindUint, 1<<(c-0xcc), b)
	case 0xd0, 0xd1, 0xd2, 0xd3:
		return signed(number(kindUint, 1<<(c-0xd0), b), 1<<(c-0xd0))
	case 0xd4, 0xd5, 0xd6, 0xd7, 0xd8: // fixext
		return typed(head{kind: kindExt, size: 1, n: 1 << (c - 0xd4)}, b)
	case 0xd9, 0xda, 0xdb: // str
		return number(kindText, 1<<(c-0xd9), b)
	case 0xdc, 0xdd:
		return number(kindArray, 2<<(c-0xdc), b)
	default: // 0xde, 0xdf
		return number(kindMap, 2<<(c-0xde), b)
	}
}

// number is a head whose n is in the next size bytes of b.
func number(k kind, size int, b []byte) head {
	if len(b) < size {
		return head{}
	}
	h := head{kind: k, size: 1 + size}
	switch size {
	case 1:
		h.n = uint64(b[0])
	case 2:
		h.n = uint64(binary.BigEndian.Uint16(b))
	case 4:
		h.n = uint64(binary.BigEndian.Uint32(b))
	default:
		h.n = binary.BigEndian.Uint64(b)
	}
	return h
}

// signed makes an integer of a number of that many bytes.
func signed(h head, size int) head {
	shift := 64 - 8*size
	if v := int64(h.n<<shift) >> shift; v < 0 {
		h.kind, h.n = kindInt, uint64(v)
	}
	return h
}

// typed adds the type of an extension, the last byte of its head, to it.
func typed(h head, b []byte) head {
	if h.size == 0 || len(b) < h.size {
		return head{}
	}
	h.ext = int8(b[h.size-1])
	h.size++
	return h
}
