package datafile_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"logstow/export/datafile"
	"logstow/internal/test/testrand"
	"logstow/message"
	"logstow/record"
)

// stored is a row of a file.
type stored struct {
	Time       int64              `parquet:"time"`
	Nanos      int64              `parquet:"time_nanos"`
	Service    string             `parquet:"service"`
	Level      *string            `parquet:"level,optional"`
	Instance   *string            `parquet:"instance,optional"`
	Source     *string            `parquet:"source,optional"`
	Attributes map[string]*string `parquet:"attributes,optional"`
	Message    string             `parquet:"message"`
	Text       *string            `parquet:"text,optional"`
	Integer    *int64             `parquet:"integer,optional"`
	Number     *float64           `parquet:"number,optional"`
}

var named = []datafile.Named{
	{Column: "text", Field: "text", Kind: datafile.String},
	{Column: "integer", Field: "integer", Kind: datafile.Integer},
	{Column: "number", Field: "number", Kind: datafile.Number},
}

// randomRow returns a row, and how it is stored. texts is the number of different texts of the named column.
func randomRow(rnd *rand.Rand, texts int) (row datafile.Row, want stored) {
	nanos := rnd.Int64N(1<<61) - 1<<60
	want = stored{Time: nanos / 1000, Nanos: nanos, Service: fmt.Sprint("service-", rnd.IntN(3))}
	if nanos < want.Time*1000 {
		want.Time--
	}
	row.Service, row.Line.Time, row.Line.Source = []byte(want.Service), nanos, []byte("-")
	if row.Line.Level = record.Level(rnd.IntN(record.Levels)); row.Line.Level != record.None {
		want.Level = new(row.Line.Level.String())
	}
	if rnd.IntN(2) == 0 {
		want.Instance = new(fmt.Sprint("pod-", rnd.IntN(4)))
		row.Instance = []byte(*want.Instance)
	}
	if rnd.IntN(2) == 0 {
		want.Source = new("app.log")
		row.Line.Source = []byte(*want.Source)
	}
	switch rnd.IntN(4) {
	case 0:
		row.Line.Attributes, want.Attributes = []byte(`{"k":"v","n":{"a":1}}`), map[string]*string{"k": new("v"), "n": new(`{"a":1}`), "n.a": new("1")}
	case 1:
		row.Line.Attributes, want.Attributes = []byte(`{"none":null}`), map[string]*string{"none": nil}
	}
	want.Message = strings.Repeat("x", rnd.IntN(200))
	row.Line.Raw = []byte(want.Message)
	if rnd.IntN(3) == 0 {
		want.Message += "\n second\n"
		row.Line.Raw = append(row.Line.Raw, "\n\t second\n\t"...)
	}
	row.Line.Text = row.Line.Raw
	row.Named = make([]message.Value, 3)
	if rnd.IntN(8) > 0 {
		length := 100
		if rnd.IntN(10_000) == 0 {
			length = 5000
		}
		want.Text = new(fmt.Sprintf("%d %s", rnd.IntN(texts), strings.Repeat("t", length)))
		row.Named[0] = message.Value{Kind: message.String, Text: []byte(*want.Text)}
	}
	if rnd.IntN(2) == 0 {
		want.Integer = new(rnd.Int64N(1000) - 500)
		row.Named[1] = message.Value{Kind: message.Number, Text: fmt.Append(nil, *want.Integer)}
	}
	if rnd.IntN(2) == 0 {
		want.Number = new(rnd.Float64())
		row.Named[2] = message.Value{Kind: message.Number, Text: fmt.Append(nil, *want.Number)}
	}
	return row, want
}

// A file has the rows that were written: in several pages and row groups, and with a named column of so many texts that its dictionary ends.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, compression := range []datafile.Compression{datafile.Snappy, datafile.Zstd} {
		for _, texts := range []int{5, 1 << 40} {
			t.Run(fmt.Sprint(compression, texts), func(t *testing.T) {
				t.Parallel()
				rnd := testrand.New(t)
				var body bytes.Buffer
				w, err := datafile.NewWriter(&body, named, compression)
				if err != nil {
					t.Fatal(err)
				}
				var want []stored
				for i := range 15_000 {
					row, s := randomRow(rnd, texts)
					if err := w.Write(&row); err != nil {
						t.Fatal(err)
					}
					want = append(want, s)
					if i == 10_000 {
						if err := w.Begin(15_000); err != nil {
							t.Fatal(err)
						}
					}
				}
				stats, counts, err := w.Close()
				if err != nil || counts != (datafile.Counts{}) || stats.Records != int64(len(want)) {
					t.Fatalf("%+v, %+v: %v", stats, counts, err)
				}
				got := readAll(t, body.Bytes())
				for i := range want {
					if diff := cmp.Diff(want[i], got[i]); diff != "" {
						t.Fatalf("row %d (-want +got):\n%s", i, diff)
					}
				}
			})
		}
	}
}

// After a page with values of a dictionary one may follow that has none.
func TestPageWithoutValues(t *testing.T) {
	t.Parallel()
	var body bytes.Buffer
	w, err := datafile.NewWriter(&body, nil, datafile.Snappy)
	if err != nil {
		t.Fatal(err)
	}
	text := []byte(`{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"j":10}`)
	const with, without = 6600, 100 // ten indexes of four bytes each: a little more than a page
	for i := range 2 * (with + without) {
		row := datafile.Row{Service: []byte("s")}
		row.Line.Source = []byte("-")
		if i%(with+without) < with {
			row.Line.Attributes = text
		}
		if err := w.Write(&row); err != nil {
			t.Fatal(err)
		}
		if i == with+without {
			if err := w.Begin(1 << 20); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for i, row := range readAll(t, body.Bytes()) {
		if want := 10; i%(with+without) < with && len(row.Attributes) != want || i%(with+without) >= with && row.Attributes != nil {
			t.Fatalf("row %d: %v", i, row.Attributes)
		}
	}
}

// readAll reads a file with another implementation of the format.
func readAll(t *testing.T, body []byte) []stored {
	t.Helper()
	file, err := parquet.OpenFile(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(file.RowGroups()); n < 2 {
		t.Errorf("%d row groups", n)
	}
	r := parquet.NewGenericReader[stored](file)
	rows := make([]stored, file.NumRows())
	if n, err := r.Read(rows); n != len(rows) || err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(n, err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return rows
}

// Statistics of row groups and of the file contain the values, and long ones are left out or shortened.
func TestBounds(t *testing.T) {
	t.Parallel()
	var body bytes.Buffer
	w, err := datafile.NewWriter(&body, named, datafile.Snappy)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("z", 2000)
	for i, text := range []string{"b", "a\xff", long, "b"} {
		row := datafile.Row{Service: []byte{'s', byte('1' + i)}, Named: make([]message.Value, 3)}
		row.Line.Time, row.Line.Source = int64(i)*1500, []byte("-")
		row.Named[0] = message.Value{Kind: message.String, Text: []byte(text)}
		row.Named[1] = message.Value{Kind: message.Number, Text: fmt.Append(nil, 10-i)}
		row.Named[2] = message.Value{Kind: message.String, Text: []byte("no number")}
		if err := w.Write(&row); err != nil {
			t.Fatal(err)
		}
	}
	stats, counts, err := w.Close()
	if err != nil || counts != (datafile.Counts{Changed: 1, Conflicts: 4}) {
		t.Fatal(counts, err)
	}
	least := map[string]any{"time": "1970-01-01T00:00:00.000Z", "time_nanos": int64(0), "service": "s1", "text": "a\ufffd", "integer": int64(7)}
	most := map[string]any{
		"time": "1970-01-01T00:00:00.001Z", "time_nanos": int64(4500), "service": "s4", "text": strings.Repeat("z", 31) + "{", "integer": int64(10),
	}
	nulls := map[string]int64{
		"time": 0, "time_nanos": 0, "service": 0, "level": 4, "instance": 4, "source": 4, "attributes": 4, "message": 0, "text": 0, "integer": 0, "number": 4,
	}
	if diff := cmp.Diff([]any{least, most, nulls}, []any{stats.Min, stats.Max, stats.Nulls}); diff != "" {
		t.Errorf("statistics of the file (-want +got):\n%s", diff)
	}
	file, err := parquet.OpenFile(bytes.NewReader(body.Bytes()), int64(body.Len()))
	if err != nil {
		t.Fatal(err)
	}
	for _, column := range file.Metadata().RowGroups[0].Columns {
		s := column.MetaData.Statistics
		switch column.MetaData.PathInSchema[0] {
		case "service":
			if string(s.MinValue) != "s1" || string(s.MaxValue) != "s4" || s.NullCount != 0 {
				t.Errorf("service: %q to %q, %d nulls", s.MinValue, s.MaxValue, s.NullCount)
			}
		case "text", "message", "level", "attributes":
			if s.MinValue != nil || s.MaxValue != nil {
				t.Errorf("%s: %q to %q", column.MetaData.PathInSchema, s.MinValue, s.MaxValue)
			}
		}
	}
}

// A file without rows can be read.
func TestEmptyFile(t *testing.T) {
	t.Parallel()
	var body bytes.Buffer
	w, err := datafile.NewWriter(&body, nil, datafile.Zstd)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if file, err := parquet.OpenFile(bytes.NewReader(body.Bytes()), int64(body.Len())); err != nil || file.NumRows() != 0 {
		t.Error(err)
	}
}

func TestParseCompression(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{"snappy": true, "zstd": true, "": false, "gzip": false} {
		if c, err := datafile.ParseCompression(name); (err == nil) != ok || ok && string(c) != name {
			t.Errorf("%q: %q, %v", name, c, err)
		}
	}
}
