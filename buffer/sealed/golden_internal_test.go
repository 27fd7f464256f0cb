package sealed

import (
	"encoding/hex"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/blobnaming"
	"logstow/internal/test/disktest"
	"logstow/record"
)

var update = flag.Bool("update", false, "write golden files that are missing")

// A sealed batch and its state encode to the bytes in testdata/buffer, and decode from them.
func TestGolden(t *testing.T) {
	t.Parallel()
	full := head(1406833200000000001)
	full.Meta.Instance, full.Meta.Footer = "Web-7F9c_1.example", math.MaxInt64
	full.Meta.Levels, full.Meta.Records, full.Meta.RawBytes = record.Counts{1, 2, 3, 4, 5, 6, 1007}, 1028, 102_800
	full.Meta.Filter = blobnaming.Filter{Offset: 1 << 20, Partitions: 256, SliceLength: 4096}
	full.First = time.Unix(1406833200, 5)
	states := []State{
		{Store: "azblob://logs", Name: "web/1970/01/01/0100/000001.log"},
		{Store: "azblob://logs", Name: "web/1970/01/01/0100/000002.log"},
	}
	fs := disktest.New()
	d := dir(t, fs)
	if _, err := d.Write(full, [][]byte{[]byte("segment")}); err != nil {
		t.Fatal(err)
	}
	for _, s := range states {
		if err := d.SetState(full.Meta.Seq, s); err != nil {
			t.Fatal(err)
		}
	}
	var got strings.Builder
	for _, path := range fs.Paths("sealed/") {
		fs.Change(path, func(data []byte) []byte {
			fmt.Fprintf(&got, "%s\n%s\n", filepath.Base(path), hex.Dump(data))
			return data
		})
	}
	golden := filepath.Join("..", "..", "testdata", "buffer", "v1", "sealed.hex")
	want, err := os.ReadFile(golden)
	if os.IsNotExist(err) && *update {
		want = []byte(got.String())
		err = os.WriteFile(golden, want, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Error(diff)
	}
	heads, damaged, err := d.List(t.Context())
	if err != nil || len(damaged) > 0 || len(heads) != 1 {
		t.Fatalf("%v, %v, %v", heads, damaged, err)
	}
	full.Size, heads[0].offset = int64(len("segment")), 0
	if diff := cmp.Diff(full, heads[0], cmp.AllowUnexported(Head{})); diff != "" {
		t.Error(diff)
	}
	if s, err := d.State(full.Meta.Seq); err != nil || s != states[1] {
		t.Errorf("state %+v, %v", s, err)
	}
}
