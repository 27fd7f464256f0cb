package unindexed_test

import (
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logstow/internal/test/disktest"
)

var update = flag.Bool("update", false, "write golden files that are missing")

// A file of entities encodes to the bytes in testdata/buffer, and decodes from them.
func TestGolden(t *testing.T) {
	t.Parallel()
	w := &world{limit: 100, fs: disktest.New()}
	add(t, w.open(t), "azblob://logs?account=a", 3, 5)
	var got string
	w.fs.Change(w.fs.Paths("dir/")[0], func(data []byte) []byte {
		got = hex.Dump(data)
		return data
	})
	golden := filepath.Join("..", "..", "testdata", "buffer", "v1", "unindexed.hex")
	want, err := os.ReadFile(golden)
	if os.IsNotExist(err) && *update {
		want = []byte(got)
		err = os.WriteFile(golden, want, 0o644) //nolint:gosec // for everyone
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(numbers(3, 5), takeAll(t, w.open(t), "azblob://logs?account=a")); diff != "" {
		t.Error(diff)
	}
}
