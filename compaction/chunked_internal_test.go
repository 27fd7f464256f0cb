package compaction

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"logstow/internal/test/testrand"
	"logstow/store"
)

// A read-back in chunks gives the requested bytes, in few requests.
func TestChunked(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	data := make([]byte, 3*chunkSize+12345)
	for i := range data {
		data[i] = byte(i * 7 >> 3)
	}
	reads := 0
	read := chunked(func(_ context.Context, off, n int64) ([]byte, error) {
		reads++
		if off%chunkSize != 0 || n > chunkSize {
			t.Errorf("%d bytes from %d", n, off)
		}
		return data[off : off+n], nil
	}, int64(len(data)))
	// Two streams, as blocks and pages are read.
	for at, page := int64(0), int64(len(data)-5000); at < int64(len(data)); {
		n := min(1+rnd.Int64N(300_000), int64(len(data))-at)
		got, err := read(t.Context(), at, n)
		if err != nil || !bytes.Equal(got, data[at:at+n]) {
			t.Fatalf("%d bytes from %d, error %v", n, at, err)
		}
		at += n
		if got, err = read(t.Context(), page, 10); err != nil || !bytes.Equal(got, data[page:page+10]) {
			t.Fatalf("page at %d, error %v", page, err)
		}
		page = min(page+10, int64(len(data)-10))
	}
	if reads != 4 {
		t.Errorf("%d reads of four chunks", reads)
	}
	for _, r := range [][2]int64{{-1, 1}, {0, 0}, {0, int64(len(data)) + 1}, {int64(len(data)), 1}} {
		if _, err := read(t.Context(), r[0], r[1]); !errors.Is(err, store.ErrRange) {
			t.Errorf("%v: error %v", r, err)
		}
	}
}
