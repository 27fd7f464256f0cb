package segment_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"logstow/blobnaming"
	"logstow/columns"
	"logstow/record"
	"logstow/record/attributes"
	"logstow/segment"
)

const (
	formatPage  = "../docs/format/segment.md"
	columnsPage = "../docs/format/columns.md"
)

// TestDocumentedExample reads the segment that tiny.hex explains.
func TestDocumentedExample(t *testing.T) {
	t.Parallel()
	blob := explainedBytes(t, string(readFile(t, goldenDir+"/tiny.hex")))
	if want := readFile(t, goldenDir+"/tiny.log"); !bytes.Equal(blob, want) {
		t.Errorf("the example is not tiny.log:\n%x\n%x", blob, want)
	}
	f, err := verify(t, blob)
	if err != nil {
		t.Fatal(err)
	}
	frame, err := segment.AppendFooter(nil, f)
	if err != nil || !bytes.Equal(frame, blob[f.Footer:]) {
		t.Errorf("its footer is encoded differently, error %v", err)
	}
}

// TestDocumentedOrigins reads the section of origins that output.hex explains.
func TestDocumentedOrigins(t *testing.T) {
	t.Parallel()
	blob := readFile(t, goldenDir+"/output.log")
	f, err := verify(t, blob)
	if err != nil {
		t.Fatal(err)
	}
	s := f.Sections[0]
	if got, want := explainedBytes(t, string(readFile(t, goldenDir+"/output.hex"))), blob[s.Offset:s.Offset+s.Length]; !bytes.Equal(got, want) {
		t.Errorf("the example is not that of output.log:\n%x\n%x", got, want)
	}
}

// TestDocumentedColumns reads the section of columns that columns.hex explains.
func TestDocumentedColumns(t *testing.T) {
	t.Parallel()
	blob := readFile(t, goldenDir+"/columns.log")
	f, err := verify(t, blob)
	if err != nil {
		t.Fatal(err)
	}
	s := f.Sections[0]
	if got, want := explainedBytes(t, string(readFile(t, goldenDir+"/columns.hex"))), blob[s.Offset:s.Offset+s.Length]; !bytes.Equal(got, want) {
		t.Errorf("the example is not that of columns.log:\n%x\n%x", got, want)
	}
}

// explainedBytes are the bytes of a dump, whose lines are hexadecimal digits and a comment.
func explainedBytes(t *testing.T, dump string) (blob []byte) {
	t.Helper()
	for line := range strings.Lines(dump) {
		digits, _, _ := strings.Cut(line, ";")
		b, err := hex.DecodeString(strings.Join(strings.Fields(digits), ""))
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		blob = append(blob, b...)
	}
	return blob
}

// TestDocumentedLimits compares the page's table with the constants.
func TestDocumentedLimits(t *testing.T) {
	t.Parallel()
	checkLimits(t, formatPage, map[string]string{
		"message":                          fmt.Sprintf("%d bytes", record.MaxSize),
		"attributes of a record":           fmt.Sprintf("%d bytes", attributes.MaxSize),
		"text of a block":                  fmt.Sprintf("%d bytes", segment.MaxBlockRaw),
		"zstd window":                      fmt.Sprintf("%d bytes", segment.MaxWindow),
		"msgpack of the footer":            fmt.Sprintf("%d bytes", segment.MaxFooter),
		"blocks":                           fmt.Sprint(segment.MaxBlocks),
		"sections":                         fmt.Sprint(segment.MaxSections),
		"parser":                           fmt.Sprintf("%d bytes", blobnaming.MaxParse),
		"combinations of label attributes": fmt.Sprint(segment.MaxLabels),
		"sources listed":                   fmt.Sprint(segment.MaxSources),
		"inputs of an output":              fmt.Sprint(segment.MaxOrigins),
		"list of inputs":                   fmt.Sprintf("%d bytes", segment.MaxOriginsList),
		"directory of columns":             fmt.Sprintf("%d bytes; [more](columns.md#limits)", segment.MaxDirectory),
	})
	checkLimits(t, columnsPage, map[string]string{
		"columns":                          fmt.Sprint(columns.MaxColumns),
		"directory":                        fmt.Sprintf("%d bytes", segment.MaxDirectory),
		"entries of a page":                fmt.Sprint(columns.MaxEntries),
		"text of an entry":                 fmt.Sprintf("%d bytes", columns.MaxText),
		"entries of a page of many values": fmt.Sprint(columns.MaxWide),
		"text of such an entry":            fmt.Sprintf("%d bytes", columns.MaxWideText),
		"name of a field":                  fmt.Sprintf("%d bytes", columns.MaxName),
		"least or greatest number":         fmt.Sprintf("%d bytes", columns.MaxNumber),
		"decimal places":                   fmt.Sprint(columns.MaxScale),
	})
}

// checkLimits checks that a page's table has these rows.
func checkLimits(t *testing.T, name string, limits map[string]string) {
	t.Helper()
	page := string(readFile(t, name))
	for what, limit := range limits {
		if row := fmt.Sprintf("| %s | %s |\n", what, limit); !strings.Contains(page, row) {
			t.Errorf("%s has no row %q", name, row)
		}
	}
}
