package upload

import (
	"context"
	"fmt"
	"io"

	"logstow/blobnaming"
	"logstow/segment"
)

// verify checks a segment before it is uploaded: its footer and all hashes. It decompresses
// nothing.
func verify(ctx context.Context, body []byte, meta blobnaming.Metadata) error {
	size := int64(len(body))
	read := func(_ context.Context, off, n int64) ([]byte, error) {
		if off < 0 || n < 0 || off > size-n {
			return nil, fmt.Errorf("bytes %d to %d of %d: %w", off, off+n, size, io.ErrUnexpectedEOF)
		}
		return body[off : off+n], nil
	}
	footer, err := segment.VerifyStored(ctx, read, size)
	if err != nil {
		return err
	}
	return footer.Check(meta)
}
