package segment

import (
	"fmt"
	"hash/crc32"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"logstow/columns"
	"logstow/filter"
)

// Settings of the compressor, chosen by measuring blocks of 1 MiB; see docs/format/segment.md.
const (
	level  = zstd.SpeedFastest
	window = 1 << 20
)

// checksum is CRC-32C, the checksum of the footer in its trailer.
func checksum(b []byte) uint32 {
	return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))
}

// Compressor compresses blocks, up to GOMAXPROCS concurrently; further callers wait. For each of these it keeps about
// 1.5 MiB, 2 MiB with token filters, and 1 MiB more with columns, however many Writers share it. It has no goroutines and
// need not be closed. Safe for concurrent use.
type Compressor struct {
	// single writes frames whose window is their whole content; large writes blocks of more than MaxWindow bytes.
	single, large *zstd.Encoder
	*pools
}

// pools are buffers for reuse. They are allocated apart from the encoders, because the garbage collector retains an object
// that contains a sync.Pool for one more cycle.
type pools struct {
	texts, stored buffers
	collectors    pool[filter.Collector]
	scratches     pool[columns.Scratch]
	refs          pool[[]recordRef]
}

// NewCompressor makes a Compressor.
func NewCompressor() *Compressor {
	// Only invalid options are errors.
	single, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithWindowSize(window), zstd.WithSingleSegment(true))
	large, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithWindowSize(window), zstd.WithSingleSegment(false))
	return &Compressor{single: single, large: large, pools: &pools{}}
}

// Encode appends text to dst as one zstd frame with content size and checksum,
// as a block of a segment is stored.
func (c *Compressor) Encode(dst, text []byte) []byte {
	if len(text) > MaxWindow {
		return c.large.EncodeAll(text, dst)
	}
	return c.single.EncodeAll(text, dst)
}

// Decoder decompresses blocks, up to GOMAXPROCS concurrently; further callers wait. It has no
// goroutines and need not be closed. Safe for concurrent use.
type Decoder struct {
	zstd *zstd.Decoder
}

// NewDecoder makes a Decoder that checks the hash of stored bytes and the checksum of the text.
func NewDecoder() *Decoder { return newDecoder() }

// NewStoredDecoder makes a Decoder that checks the hash of the stored bytes but not the checksum of the text. The latter only
// detects a faulty compressor and takes 6% of a query's time.
func NewStoredDecoder() *Decoder { return newDecoder(zstd.IgnoreChecksum(true)) }

func newDecoder(opts ...zstd.DOption) *Decoder {
	// Only invalid options are errors.
	d, _ := zstd.NewReader(nil, append(opts, zstd.WithDecoderConcurrency(0),
		zstd.WithDecoderMaxWindow(MaxWindow), zstd.WithDecoderMaxMemory(MaxBlockRaw))...)
	return &Decoder{zstd: d}
}

// DecodeBlock verifies stored, the b.Stored bytes at b.Offset of the blob, and appends their text to dst. Damage is a
// [*CorruptError]; the text of a damaged block is never returned.
func (d *Decoder) DecodeBlock(dst, stored []byte, b Block) ([]byte, error) {
	if err := checkStored(stored, b); err != nil {
		return nil, err
	}
	text, err := d.decode(dst[len(dst):], stored, b.Raw)
	if err != nil {
		return nil, b.Corrupt("%v", err)
	}
	if len(dst) == 0 {
		return text, nil
	}
	return append(dst, text...), nil
}

// decode decompresses a frame of raw bytes of text into dst, which is empty.
func (d *Decoder) decode(dst, stored []byte, raw int64) ([]byte, error) {
	if err := checkFrame(stored, raw); err != nil {
		return nil, err
	}
	text, err := d.zstd.DecodeAll(stored, slices.Grow(dst, int(raw)))
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	if int64(len(text)) != raw {
		return nil, fmt.Errorf("%d bytes of text, %d expected", len(text), raw)
	}
	return text, nil
}

// checkStored checks the stored bytes of a block by length and hash.
func checkStored(stored []byte, b Block) error {
	if int64(len(stored)) != b.Stored {
		return b.Corrupt("%d bytes stored, %d expected", len(stored), b.Stored)
	}
	if got := HashOf(stored); got != b.Hash {
		return b.Corrupt("hash is %s, %s expected", got, b.Hash)
	}
	return nil
}

// checkFrame checks the header of a frame of raw bytes of text before any allocation.
func checkFrame(stored []byte, raw int64) error {
	var h zstd.Header
	if err := h.Decode(stored); err != nil {
		return fmt.Errorf("frame header: %w", err)
	}
	switch {
	case raw <= 0 || raw > MaxBlockRaw:
		return fmt.Errorf("%d bytes of text, at most %d allowed", raw, MaxBlockRaw)
	case h.Skippable:
		return fmt.Errorf("a skippable frame in place of a block")
	case h.DictionaryID != 0:
		return fmt.Errorf("frame needs dictionary %d", h.DictionaryID)
	case !h.HasCheckSum:
		return fmt.Errorf("frame has no checksum")
	case !h.HasFCS || h.FrameContentSize != uint64(raw):
		return fmt.Errorf("frame holds %d bytes, %d expected", h.FrameContentSize, raw)
	case h.SingleSegment && raw > MaxWindow, h.WindowSize > MaxWindow:
		return fmt.Errorf("frame's window is larger than %d bytes", MaxWindow)
	}
	return nil
}

// buffers holds byte slices for reuse.
type buffers struct{ pool sync.Pool }

// get returns an empty slice, with the capacity of an earlier use if there is one.
func (p *buffers) get() []byte {
	if b, ok := p.pool.Get().(*[]byte); ok {
		return (*b)[:0]
	}
	return nil
}

// put returns a slice to the pool, unless it is too small to be worth keeping or was grown for a huge record.
func (p *buffers) put(b []byte) {
	if cap(b) >= DefaultBlockSize/16 && cap(b) <= DefaultBlockSize*2 {
		p.pool.Put(&b)
	}
}

// pool holds values for reuse.
type pool[T any] struct{ pool sync.Pool }

func (p *pool[T]) get() *T {
	if v, ok := p.pool.Get().(*T); ok {
		return v
	}
	return new(T)
}

func (p *pool[T]) put(v *T) { p.pool.Put(v) }
