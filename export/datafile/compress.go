package datafile

import (
	"fmt"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
)

// Compression is how pages are compressed.
type Compression string

// The compressions. An export with Zstd takes about three fifths of the storage of one with Snappy, and two thirds more CPU.
const (
	Snappy Compression = "snappy"
	Zstd   Compression = "zstd"
)

// ParseCompression parses the name of a compression.
func ParseCompression(name string) (Compression, error) {
	switch c := Compression(name); c {
	case Snappy, Zstd:
		return c, nil
	}
	return "", fmt.Errorf("%q: want %s or %s", name, Snappy, Zstd)
}

// zstdWindow is how far back Zstd looks for repetitions: looking further takes longer, and finds no shorter form of logs.
const zstdWindow = 64 << 10

// compressor compresses pages. Not safe for concurrent use.
type compressor struct {
	compression Compression
	zstd        *zstd.Encoder // nil for Snappy
}

func newCompressor(c Compression) (*compressor, error) {
	if c != Zstd {
		return &compressor{compression: Snappy}, nil
	}
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(zstdWindow),
		zstd.WithEncoderCRC(false), zstd.WithZeroFrames(true))
	if err != nil {
		return nil, fmt.Errorf("cannot compress pages: %w", err)
	}
	return &compressor{c, e}, nil
}

func (c *compressor) format() format.CompressionCodec {
	if c.compression == Zstd {
		return format.Zstd
	}
	return format.Snappy
}

// encode compresses a page into the memory of dst.
func (c *compressor) encode(dst, page []byte) []byte {
	if c.compression == Zstd {
		return c.zstd.EncodeAll(page, dst[:0])
	}
	return s2.EncodeSnappy(dst[:cap(dst)], page)
}
