package store_test

import (
	"errors"
	"testing"

	"logstow/store"
)

// Ranges of bytes in memory are those of a blob with these bytes.
func TestBytesRange(t *testing.T) {
	t.Parallel()
	read := store.BytesRange([]byte("abcd"))
	for _, c := range []struct {
		off, n int64
		want   string
	}{{0, 4, "abcd"}, {1, 2, "bc"}, {3, 1, "d"}} {
		if b, err := read(t.Context(), c.off, c.n); err != nil || string(b) != c.want || cap(b) != len(b) {
			t.Errorf("%d bytes at %d: %q, %v", c.n, c.off, b, err)
		}
	}
	for _, c := range [][2]int64{{0, 0}, {0, -1}, {-1, 2}, {0, 5}, {4, 1}, {2, 1<<63 - 1}, {1<<63 - 1, 1<<63 - 1}} {
		if b, err := read(t.Context(), c[0], c[1]); !errors.Is(err, store.ErrRange) {
			t.Errorf("%d bytes at %d: %q, %v", c[1], c[0], b, err)
		}
	}
}
