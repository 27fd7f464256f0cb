package upload

import (
	"context"

	"logstow/blobnaming"
	"logstow/segment"
	"logstow/store"
)

// verify checks a segment before it is uploaded: its footer and all hashes. It decompresses
// nothing.
func verify(ctx context.Context, body []byte, meta blobnaming.Metadata) error {
	footer, err := segment.VerifyStored(ctx, store.BytesRange(body), int64(len(body)))
	if err != nil {
		return err
	}
	return footer.Check(meta)
}
