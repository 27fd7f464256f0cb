package foreign_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"logstow/query/foreign"
	"logstow/record"
)

var update = flag.Bool("update", false, "write testdata/analytics.txt")

func start() time.Time { return time.Date(2014, 7, 31, 18, 0, 0, 0, time.UTC) }

// read is the records of a text, a line each, and errors.
func read(text string) string {
	var got strings.Builder
	for r, err := range foreign.Records(strings.NewReader(text), start(), watchNothing) {
		if err != nil {
			fmt.Fprintf(&got, "error: %v\n", err)
			continue
		}
		fmt.Fprintf(&got, "%s %s %s %q\n", record.AppendTime(nil, r.Time), r.Level, r.Source, r.Message)
	}
	return got.String()
}

func gzipped(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func zstandard(t testing.TB, text string) string {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(w.EncodeAll([]byte(text), nil))
}

func TestRecords(t *testing.T) {
	t.Parallel()
	const lines = "2014-07-31T18:00:01Z ERROR one\r\n\nmore of it\n{\"ts\":\"2014-07-31T18:00:02Z\",\"level\":\"warn\"}"
	const want = `2014-07-31T18:00:01.000000000Z ERROR - "2014-07-31T18:00:01Z ERROR one\r"
2014-07-31T18:00:01.000000000Z - - "more of it"
2014-07-31T18:00:02.000000000Z WARN - "{\"ts\":\"2014-07-31T18:00:02Z\",\"level\":\"warn\"}"
`
	const stored = "2014-07-31T18:00:03.000000000Z\tWARN\tapp.log\t-\tfirst\n\tsecond\n2014-07-31T18:00:03.500000000Z\t-\t-\t-\t\nplain\n\tnot a continuation\n"
	const wantStored = `2014-07-31T18:00:03.000000000Z WARN app.log "first\nsecond"
2014-07-31T18:00:03.500000000Z - - ""
2014-07-31T18:00:00.000000000Z - - "plain"
2014-07-31T18:00:00.000000000Z - - "\tnot a continuation"
`
	for name, c := range map[string]struct{ text, want string }{
		"nothing":     {"", ""},
		"blank lines": {"\n\n", ""},
		"plain":       {lines, want},
		"gzip":        {gzipped(t, lines), want},
		"two gzips":   {gzipped(t, lines+"\n") + gzipped(t, stored), want + strings.ReplaceAll(wantStored, "18:00:00", "18:00:02")},
		"zstd":        {zstandard(t, lines), want},
		"two zstds":   {zstandard(t, lines[:10]) + "\x50\x2a\x4d\x18\x01\x00\x00\x00x" + zstandard(t, lines[10:]), want},
		"stored":      {stored, wantStored},
		"no time":     {"hello\n", "2014-07-31T18:00:00.000000000Z - - \"hello\"\n"},
		"cut gzip":    {gzipped(t, lines)[:30], "error: read lines: unexpected EOF\n"},
		"not gzip":    {"\x1f\x8bxx", "error: decompress gzip: unexpected EOF\n"},
		"cut zstd":    {zstandard(t, lines)[:20], "error: read lines: unexpected EOF\n"},
	} {
		if diff := cmp.Diff(c.want, read(c.text)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// A line that is too long is left out; those around it are not.
func TestLongLine(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", record.MaxSize)
	n, left := 0, 0
	for r, err := range foreign.Records(strings.NewReader("a\n"+long+"\nb\n"+long+"y\nc\n"+long+"z"), start(), watchNothing) {
		switch {
		case errors.Is(err, foreign.ErrLine):
			left++
		case err != nil:
			t.Fatal(err)
		default:
			n += len(r.Message)
		}
	}
	if n != len(long)+3 || left != 2 {
		t.Errorf("%d bytes, %d lines left out", n, left)
	}
}

// Lines of Storage Analytics become objects of the fields' documented names.
func TestAnalytics(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/analytics.log")
	if err != nil {
		t.Fatal(err)
	}
	got := read(string(text))
	const golden = "testdata/analytics.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil { //nolint:forbidigo // a test's own file
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}

// Whatever a line holds, it is a record, and one of Storage Analytics is an object.
func FuzzRecords(f *testing.F) {
	text, err := os.ReadFile("testdata/analytics.log")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		f.Add([]byte(line))
	}
	f.Add([]byte("2014-07-31T18:00:03.000000000Z\tWARN\tapp.log\t-\tfirst\n\tsecond\n"))
	f.Add([]byte(gzipped(f, "hello\n")))
	f.Add([]byte(zstandard(f, "hello\n")))
	f.Fuzz(func(t *testing.T, data []byte) {
		n := 0
		for r, err := range foreign.Records(bytes.NewReader(data), start(), watchNothing) {
			if err != nil {
				continue
			}
			if n += len(r.Message); n > 1<<20 {
				return // it decompresses to much
			}
			if bytes.HasPrefix(r.Message, []byte(`{"version-number":"1.0"`)) && !json.Valid(r.Message) {
				t.Errorf("%q", r.Message)
			}
			if _, rest, err := record.Next(record.AppendText(nil, r)); err != nil || len(rest) > 0 {
				t.Errorf("%+v: %v", r, err)
			}
		}
	})
}

func watchNothing([]byte) error { return nil }
