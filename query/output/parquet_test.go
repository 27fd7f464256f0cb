package output_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logstow/internal/test/aggregatetest"
	"logstow/internal/test/parquettest"
	"logstow/query"
	"logstow/query/output"
	"logstow/record"
)

// Parquet is read back by another implementation: nothing is rounded or quoted.
func TestParquet(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w, err := output.New(&out, output.Options{Format: output.Parquet, Fields: []string{"time", "level", "service", "source", "instance", "message", "a.b", "context", "none", `field("level")`}, Around: true})
	if err != nil {
		t.Fatal(err)
	}
	plain := match("caf\xe9\n\"x\"\x1b[31m")
	line := record.AppendText(nil, record.Record{Time: -1, Message: plain.Line})
	plain.Line, plain.Time, plain.Context = line[:len(line)-1], -1, true
	message := string(bytes.ToValidUTF8(record.AppendMessage(nil, plain.Message()), []byte("\ufffd")))
	matches := []query.Match{plain, match(`{"a":{"b":[1, 2]},"context":"","level":null}`), match(`{"a.b":1.50}`)}
	matches[1].Gap = true
	for _, m := range matches {
		if err := w.Write(m); err != nil {
			t.Fatal(err)
		}
	}
	if empty := w.EmptyFields(); !slices.Equal(empty, []string{"none"}) {
		t.Errorf("fields that no record has: %q", empty)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	row := func(nanoseconds string, message string, level, source, ab, context any, marked bool) map[string]any {
		return map[string]any{
			"time": map[string]any{"nanoseconds": nanoseconds}, "level": level, "service": "api", "source": source, "instance": "pod-1",
			"message": message, "a.b": ab, "message.context": context, "none": nil, `field("level")`: nil, "context": marked,
		}
	}
	const at = "1795187045123456789"
	want := parquettest.File{
		Types: []string{
			"time INT64 TIMESTAMP OPTIONAL", "level BYTE_ARRAY STRING OPTIONAL", "service BYTE_ARRAY STRING OPTIONAL",
			"source BYTE_ARRAY STRING OPTIONAL", "instance BYTE_ARRAY STRING OPTIONAL", "message BYTE_ARRAY STRING OPTIONAL",
			"a.b BYTE_ARRAY STRING OPTIONAL", "message.context BYTE_ARRAY STRING OPTIONAL", "none BYTE_ARRAY STRING OPTIONAL",
			`field("level") BYTE_ARRAY STRING OPTIONAL`, "context BOOLEAN  OPTIONAL",
		},
		Groups: 1, Metadata: map[string]string{},
		Rows: []map[string]any{
			row("-1", message, nil, "-", nil, nil, true),
			row(at, `{"a":{"b":[1, 2]},"context":"","level":null}`, "ERROR", "app.log", "[1, 2]", "", false),
			row(at, `{"a.b":1.50}`, "ERROR", "app.log", "1.50", nil, false),
		},
	}
	if diff := cmp.Diff(want, parquettest.Read(t, "../..", out.Bytes())); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A file of no records has its columns, too.
func TestParquetNothing(t *testing.T) {
	t.Parallel()
	got := parquettest.Read(t, "../..", []byte(printed(t, output.Options{Format: output.Parquet, Fields: []string{"x"}})))
	if len(got.Types) != 1 || len(got.Rows) != 0 {
		t.Errorf("%+v", got)
	}
}

// Every failed write of a file is an error.
func TestParquetErrors(t *testing.T) {
	t.Parallel()
	opts := output.Options{Format: output.Parquet}
	for left := range len(printed(t, opts, "x", "y")) {
		disk := aggregatetest.FullDisk(left)
		w, err := output.New(&disk, opts)
		if err != nil {
			t.Fatal(err)
		}
		errs := []error{w.Write(match("x")), w.Write(match("y")), w.Close()}
		if !errors.Is(errors.Join(errs...), aggregatetest.ErrFull) {
			t.Fatalf("%d bytes: %v", left, errs)
		}
	}
}

func BenchmarkParquet(b *testing.B) {
	w, err := output.New(&bytes.Buffer{}, output.Options{Format: output.Parquet})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		if err := w.Write(match(fmt.Sprintf(`{"n":%d,"text":"GET /api/v1/orders"}`, n))); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
}
