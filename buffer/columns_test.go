package buffer_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"logstow/buffer"
	"logstow/columns"
	"logstow/record"
	"logstow/segment"
)

// Segments of 256 KiB of text or more get columns if fields are named, others get none: in memory and on disk.
func TestColumns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		named []string
		text  int // about, in bytes
		want  []string
	}{
		"none named": {nil, 1 << 20, nil},
		"small":      {[]string{"took"}, 250 << 10, nil},
		"large":      {[]string{"took"}, 270 << 10, []string{"time", "source", "level", "status", "took"}},
		"two blocks": {[]string{"took"}, 1500 << 10, []string{"time", "source", "level", "status", "took"}},
	} {
		for _, dir := range []string{"", t.TempDir()} {
			b := open(t, buffer.Options{Dir: dir, FlushInterval: -1, Columns: c.named, Once: true})
			rnd := rand.New(rand.NewPCG(1, 2))
			for text := 0; text < c.text; {
				var records []record.Record
				for i := range 100 {
					r := rec(noon, fmt.Sprintf(`{"status":%d,"took":%d,"text":%q}`, 200+i%3, rnd.IntN(1e6), noise(rnd, 100)))
					text += len(record.AppendText(nil, r))
					records = append(records, r)
				}
				mustAppend(t, b, chunk(records...))
			}
			b.Drain(t.Context())
			batch := next(t, b)
			body, err := batch.Body()
			if err != nil {
				t.Fatal(err)
			}
			read := func(_ context.Context, off, n int64) ([]byte, error) { return body[off : off+n], nil }
			f, err := segment.Verify(t.Context(), read, batch.Size)
			if err != nil {
				t.Fatal(err)
			}
			list, err := segment.ReadColumns(t.Context(), read, f)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			if list != nil {
				for _, column := range list.Columns {
					got = append(got, column.Name.String())
				}
				if list.Find(columns.Name{Field: "took"}) == nil {
					t.Errorf("%s: no column of the named field", name)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%s: columns %v, want %v", name, got, c.want)
			}
			if err := batch.Done(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
