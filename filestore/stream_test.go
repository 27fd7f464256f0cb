package filestore_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"logstow/filestore"
	"logstow/internal/test/loggen"
	"logstow/query"
	"logstow/record"
)

// streamed are the records of a text that a selection finds as they arrive, in the form of found.
func streamed(t *testing.T, text io.Reader, sel query.Selection) (lines []string) {
	t.Helper()
	sel.From, sel.To = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	q, err := query.New(nil, sel, query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	arriving := q.Arriving("files", filestore.Service, filestore.Instance)
	_, err = filestore.Stream(t.Context(), text, filestore.Options{Now: now}, func(parser string, records []record.Record) error {
		return arriving.Search(parser, records, func(m query.Match) error {
			at := time.Unix(0, m.Time).UTC().Format("01-02T15:04:05")
			lines = append(lines, fmt.Sprint(at, " ", m.Level(), " ", string(m.Source()), " ", string(record.AppendMessage(nil, m.Message()))))
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// What a selection finds among lines as they arrive is what it finds in a store of them.
func TestStream(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for _, kind := range []string{"json", "nginx", "hdfs"} {
		if err := loggen.Write(&text, loggen.Options{Kind: kind, Size: 100 << 10, Start: now().Add(-5 * time.Hour), Span: time.Hour, Seed: 1}); err != nil {
			t.Fatal(err)
		}
	}
	text.WriteString("2026-11-20T11:00:00Z ERROR boom\njava.lang.Error: x\n\tat a.B.c(B.java:1)\n#Fields: date time sc-status\n2026-11-20 10:00:00 503\n")
	s := newStore(t)
	add(t, s, "stdin", strings.NewReader(text.String()))
	for _, sel := range []query.Selection{
		{},
		{Patterns: []string{"error"}, IgnoreCase: true},
		{Levels: 1 << record.Error},
		{Where: []string{"status >= 500"}},
		{Regexps: []string{`\d{3} `}, Excludes: []string{"GET"}},
		{Patterns: []string{"boom\n"}},
		{Sources: []string{"std*"}, Levels: 1 << record.Warn},
		{Sources: []string{"other"}},
		{IDs: []string{"503", "user-1479"}},
		{Where: []string{`instance == "-" and service == "file"`, `level >= "error"`}},
		{Services: []string{"other"}},
	} {
		for _, in := range []io.Reader{strings.NewReader(text.String()), iotest.HalfReader(strings.NewReader(text.String()))} {
			got, want := streamed(t, in, sel), selected(t, s, sel)
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("%+v: %d records, want %d", sel, len(got), len(want))
			}
		}
	}
}

// An error of the reader is told from one of the receiver, and the records before it are passed.
func TestStreamErrors(t *testing.T) {
	t.Parallel()
	broken, full := errors.New("broken"), errors.New("full")
	var seen []string
	receive := func(_ string, records []record.Record) error {
		for i := range records {
			seen = append(seen, string(records[i].Message))
		}
		return nil
	}
	var readErr *filestore.ReadError
	_, err := filestore.Stream(t.Context(), io.MultiReader(strings.NewReader("one\ntwo\nhalf"), iotest.ErrReader(broken)), filestore.Options{}, receive)
	if !errors.Is(err, broken) || !errors.As(err, &readErr) || !slices.Equal(seen, []string{"one", "two", "half"}) {
		t.Errorf("%v %q", err, seen)
	}
	_, err = filestore.Stream(t.Context(), strings.NewReader("{}\n{}\n"), filestore.Options{}, func(string, []record.Record) error { return full })
	if !errors.Is(err, full) || errors.As(err, &readErr) {
		t.Error(err)
	}
	notes, err := filestore.Stream(t.Context(), strings.NewReader("a\n"+strings.Repeat("\x00", 20)+"b\n"), filestore.Options{}, receive)
	if err != nil || !slices.Equal(notes, []string{"stdin: skipped 20 NUL bytes at the start of lines"}) {
		t.Errorf("%v %q", err, notes)
	}
}
