package segment_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"logstow/record"
	"logstow/segment"
)

const formatPage = "../docs/format/segment.md"

// TestDocumentedExample reads the example of the format's page from the page itself.
func TestDocumentedExample(t *testing.T) {
	t.Parallel()
	_, rest, found := strings.Cut(string(readFile(t, formatPage)), "```hex\n")
	dump, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatalf("no example in %s", formatPage)
	}
	var blob []byte
	for line := range strings.Lines(dump) {
		digits, _, _ := strings.Cut(line, ";")
		b, err := hex.DecodeString(strings.Join(strings.Fields(digits), ""))
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		blob = append(blob, b...)
	}
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

// TestDocumentedLimits compares the page's table with the constants.
func TestDocumentedLimits(t *testing.T) {
	t.Parallel()
	page := string(readFile(t, formatPage))
	for what, limit := range map[string]string{
		"message":               fmt.Sprintf("%d bytes", record.MaxSize),
		"text of a block":       fmt.Sprintf("%d bytes", segment.MaxBlockRaw),
		"zstd window":           fmt.Sprintf("%d bytes", segment.MaxWindow),
		"msgpack of the footer": fmt.Sprintf("%d bytes", segment.MaxFooter),
		"blocks":                fmt.Sprint(segment.MaxBlocks),
		"sections":              fmt.Sprint(segment.MaxSections),
		"sources listed":        fmt.Sprint(segment.MaxSources),
	} {
		if row := fmt.Sprintf("| %s | %s |\n", what, limit); !strings.Contains(page, row) {
			t.Errorf("%s has no row %q", formatPage, row)
		}
	}
}
