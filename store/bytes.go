package store

import (
	"context"
	"fmt"
)

// BytesRange returns a function that reads ranges of a blob in memory, as [BlobReader.Read] does; it is a Range of package segment. The
// ranges must not be changed.
func BytesRange(body []byte) func(ctx context.Context, off, n int64) ([]byte, error) {
	size := int64(len(body))
	return func(_ context.Context, off, n int64) ([]byte, error) {
		if off < 0 || n <= 0 || off > size-n {
			return nil, fmt.Errorf("%w: %d bytes at %d of %d", ErrRange, n, off, size)
		}
		return body[off : off+n : off+n], nil
	}
}
