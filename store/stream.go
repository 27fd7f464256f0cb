package store

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Streamer is a container that creates blobs of any size in little memory.
type Streamer interface {
	// CreateFrom is [Blobs.Create] with a body of size bytes, which may be read several times and must not change meanwhile.
	CreateFrom(ctx context.Context, name string, body io.ReaderAt, size int64, opts CreateOptions) (etag string, err error)
}

// CreateFrom creates a blob with a body of size bytes in a file, for example. If the container is no [Streamer], the body is read into
// memory.
func CreateFrom(ctx context.Context, b Blobs, name string, body io.ReaderAt, size int64, opts CreateOptions) (etag string, err error) {
	if s, ok := b.(Streamer); ok {
		return s.CreateFrom(ctx, name, body, size, opts)
	}
	data := make([]byte, size)
	if n, err := body.ReadAt(data, 0); err != nil && (!errors.Is(err, io.EOF) || int64(n) < size) {
		return "", fmt.Errorf("cannot read the body of %s: %w", name, err)
	}
	return b.Create(ctx, name, data, opts)
}
