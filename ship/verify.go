package ship

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"

	"logstow/blobnaming"
	"logstow/segment"
)

// verify checks a segment before it leaves this machine: its footer, and the
// checksum of every block's stored bytes, but nothing is decompressed.
func verify(ctx context.Context, body []byte, meta blobnaming.Metadata) error {
	read := func(_ context.Context, off, n int64) ([]byte, error) {
		if off < 0 || n < 0 || off > int64(len(body)) || n > int64(len(body))-off {
			return nil, fmt.Errorf("it ends before byte %d", off+n)
		}
		return body[off : off+n], nil
	}
	footer, err := segment.ReadFooter(ctx, read, int64(len(body)), meta.Footer)
	if err != nil {
		return err
	}
	if footer.Metadata != meta {
		return errors.New("its footer does not say what its metadata says")
	}
	table := crc32.MakeTable(crc32.Castagnoli)
	for i, b := range footer.Blocks {
		stored, err := read(ctx, b.Offset, b.Stored)
		if err != nil {
			return fmt.Errorf("block %d: %w", i, err)
		}
		if crc32.Checksum(stored, table) != b.CRC {
			return fmt.Errorf("block %d does not have its checksum", i)
		}
	}
	return nil
}
