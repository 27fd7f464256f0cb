package storetest

import (
	"context"
	"fmt"

	"logstow/segment"
	"logstow/store"
)

// Text is the text of all segments among the blobs, in the order of their names. Every
// segment is verified.
func Text(ctx context.Context, blobs store.BlobReader) (text []byte, err error) {
	for page, err := range blobs.List(ctx, "") {
		if err != nil {
			return nil, err
		}
		for _, b := range page {
			if text, err = appendSegment(ctx, text, blobs, b); err != nil {
				return nil, fmt.Errorf("%s: %w", b.Name, err)
			}
		}
	}
	return text, nil
}

func appendSegment(ctx context.Context, text []byte, blobs store.BlobReader, b store.Blob) ([]byte, error) {
	read := func(ctx context.Context, off, n int64) ([]byte, error) { return blobs.Read(ctx, b.Ref(), off, n) }
	footer, err := segment.Verify(ctx, read, b.Size)
	if err != nil {
		return nil, err
	}
	for _, block := range footer.Blocks {
		data, err := read(ctx, block.Offset, block.Stored)
		if err != nil {
			return nil, err
		}
		if text, err = segment.NewDecoder().DecodeBlock(text, data, block); err != nil {
			return nil, err
		}
	}
	return text, nil
}
