package parquet_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/internal/test/aggregatetest"
	"logstow/internal/test/parquettest"
	"logstow/query/aggregate"
	"logstow/query/parquet"
)

// compute computes functions of messages, a minute apart.
func compute(t *testing.T, by, functions string, messages []string) *aggregate.Result {
	t.Helper()
	return aggregatetest.Compute(t, aggregatetest.Parse(t, by, functions, ""), time.Minute, messages)
}

func read(t *testing.T, file []byte) parquettest.File {
	t.Helper()
	return parquettest.Read(t, "../..", file)
}

func written(t *testing.T, r *aggregate.Result) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := parquet.Write(&b, r, time.FixedZone("east", 3600)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestReadElsewhere reads rows and types back with another implementation.
func TestReadElsewhere(t *testing.T) {
	t.Parallel()
	r := compute(t, "minute, ok, mixed, k", `count, sum(n), max(big) as "the (big)", first(none), avg(n), last(text)`, []string{
		`{"ok":true,"mixed":1,"k":"é\n","n":1.5,"big":18446744073709551616,"text":"x"}`,
		`{"ok":false,"mixed":"a","k":"","n":9007199254740993,"big":7}`,
		`{"ok":null,"mixed":2.5}`,
	})
	got := read(t, written(t, r))
	whole := func(text string) map[string]any { return map[string]any{"int": text} }
	want := parquettest.File{
		Types: []string{
			"minute INT64 TIMESTAMP OPTIONAL", "ok BOOLEAN  OPTIONAL", "mixed BYTE_ARRAY STRING OPTIONAL", "k BYTE_ARRAY STRING OPTIONAL",
			"count INT64 INTEGER OPTIONAL", "sum(n) DOUBLE  OPTIONAL", "the (big) DOUBLE  OPTIONAL", "first(none) BYTE_ARRAY STRING OPTIONAL",
			"avg(n) DOUBLE  OPTIONAL", "last(text) BYTE_ARRAY STRING OPTIONAL",
		},
		Groups:   1,
		Metadata: map[string]string{"logstow.zone": "east", "logstow.approximate": ""},
		Rows: []map[string]any{
			{"minute": "2026-11-20T15:00:00.000Z", "ok": true, "mixed": "1", "k": "é\n", "count": whole("1"), "sum(n)": 1.5, "the (big)": 18446744073709551616., "first(none)": nil, "avg(n)": 1.5, "last(text)": "x"},
			{"minute": "2026-11-20T15:01:00.000Z", "ok": false, "mixed": "a", "k": "", "count": whole("1"), "sum(n)": 9007199254740992., "the (big)": 7., "first(none)": nil, "avg(n)": 9007199254740992., "last(text)": nil},
			{"minute": "2026-11-20T15:02:00.000Z", "ok": nil, "mixed": "2.5", "k": nil, "count": whole("1"), "sum(n)": nil, "the (big)": nil, "first(none)": nil, "avg(n)": nil, "last(text)": nil},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Text that is not UTF-8 would make readers reject the file.
func TestInvalidText(t *testing.T) {
	t.Parallel()
	got := read(t, written(t, compute(t, "k", "count", []string{"{\"k\":\"caf\xe9\"}"})))
	if len(got.Rows) != 1 || got.Rows[0]["k"] != "caf\ufffd" {
		t.Errorf("%+v", got.Rows)
	}
}

// Row groups are written as they are full, and not at the end.
func TestStreams(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	w := parquet.NewWriter(&b, []parquet.Column{{Name: "k", Type: parquet.Text}, {Name: "at", Type: parquet.Nanoseconds}}, nil)
	random := rand.NewChaCha8([32]byte{}) // text that cannot be compressed
	text := make([]byte, 64<<10)
	for n := range 512 { // 32 MiB
		_, _ = random.Read(text) // it cannot fail
		for i, b := range text {
			text[i] = ' ' + b%94
		}
		if err := w.Write([]aggregate.Value{{Kind: aggregate.Text, Text: text}, {Kind: aggregate.Time, Int: -int64(n)}}); err != nil {
			t.Fatal(err)
		}
	}
	before := b.Len()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if last := b.Len() - before; before < 16<<20 || last > 9<<20 {
		t.Errorf("%d bytes before the end, %d at the end", before, last)
	}
	got := read(t, b.Bytes())
	if len(got.Rows) != 512 || got.Rows[511]["k"] != string(text) || !cmp.Equal(got.Rows[511]["at"], any(map[string]any{"nanoseconds": "-511"})) {
		t.Errorf("%d rows, the last at %v", len(got.Rows), got.Rows[len(got.Rows)-1]["at"])
	}
}

// TestRowGroups writes several row groups, and an approximate column.
func TestRowGroups(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	var messages []string
	for i := range 20 {
		messages = append(messages, fmt.Sprintf(`{"k":"%s%02d","n":%d}`, long, i, i))
	}
	for i := range aggregate.ExactValues + 1 {
		messages = append(messages, fmt.Sprintf(`{"k":"many","n":%d}`, i))
	}
	got := read(t, written(t, compute(t, "k", "count, max(n), p50(n)", messages)))
	if got.Groups < 3 || len(got.Rows) != 21 || got.Metadata["logstow.approximate"] != "p50(n)" {
		t.Fatalf("%d groups, %d rows, %v", got.Groups, len(got.Rows), got.Metadata)
	}
	for i, row := range got.Rows[1:] {
		want := map[string]any{"k": fmt.Sprintf("%s%02d", long, i), "count": map[string]any{"int": "1"}, "max(n)": map[string]any{"int": fmt.Sprint(i)}, "p50(n)": float64(i)}
		if diff := cmp.Diff(want, row); diff != "" {
			t.Errorf("row %d: (-want +got)\n%.300s", i, diff)
		}
	}
}

func TestNothing(t *testing.T) {
	t.Parallel()
	got := read(t, written(t, compute(t, "minute, k", "count", nil)))
	if len(got.Rows) != 0 || len(got.Types) != 3 || got.Types[0] != "minute INT64 TIMESTAMP OPTIONAL" {
		t.Errorf("%+v", got)
	}
	spec := aggregatetest.Parse(t, "minute", "count", "")
	spec.From, spec.To = aggregatetest.Start().UnixNano(), aggregatetest.Start().Add(time.Hour).UnixNano()
	if got := read(t, written(t, aggregatetest.Compute(t, spec, 0, nil))); len(got.Rows) != 0 {
		t.Errorf("rows of no records: %v", got.Rows)
	}
}

func TestWriteErrors(t *testing.T) {
	t.Parallel()
	r := compute(t, "k", "count", []string{`{"k":1}`, `{"k":"x"}`})
	for left := range len(written(t, r)) {
		disk := aggregatetest.FullDisk(left)
		if err := parquet.Write(&disk, r, time.FixedZone("east", 3600)); !errors.Is(err, aggregatetest.ErrFull) {
			t.Fatalf("%d bytes: %v", left, err)
		}
	}
}
