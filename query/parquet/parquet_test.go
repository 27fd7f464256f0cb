package parquet_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/query/aggregate"
	"logstow/query/aggregate/aggregatetest"
	"logstow/query/parquet"
)

// compute computes functions of messages, a minute apart.
func compute(t *testing.T, by, functions string, messages []string) *aggregate.Result {
	t.Helper()
	return aggregatetest.Compute(t, aggregatetest.Parse(t, by, functions, ""), time.Minute, messages)
}

// contents is what another implementation reads.
type contents struct {
	Types    []string
	Groups   int
	Metadata map[string]string
	Rows     []map[string]any
}

// read reads a file with hyparquet.
func read(t *testing.T, file []byte) (c contents) {
	t.Helper()
	modules, err := filepath.Abs("../../testdata/senders/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	_, err = os.Stat(filepath.Join(modules, "hyparquet"))
	if _, lookErr := exec.LookPath("node"); err != nil || lookErr != nil {
		if os.Getenv("LOGSTOW_REQUIRE_SENDERS") == "1" {
			t.Fatal("no hyparquet: run npm ci in testdata/senders", err, lookErr)
		}
		t.Skip("no hyparquet: needs node, and npm ci in testdata/senders")
	}
	path := filepath.Join(t.TempDir(), "file.parquet")
	if err := os.WriteFile(path, file, 0o600); err != nil { //nolint:forbidigo // a test's own file
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "node", "testdata/read.mjs", modules, path).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := json.Unmarshal(out, &c); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return c
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
	want := contents{
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
