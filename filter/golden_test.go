package filter_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"

	"logstow/filter"
)

const formatPage = "../docs/format/filter.md"

// exampleBlocks are the messages of the example of the format's page.
func exampleBlocks() []block {
	return []block{
		newBlock([]byte("order 1234567 from 10.0.0.1")),
		newBlock([]byte(`{"id":"\u00311234567"}`)),
		newBlock([]byte("short words alone")),
	}
}

// The example of the format's page is what is written, and is read.
func TestDocumentedExample(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(formatPage)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "```hex\n")
	dump, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatalf("no example in %s", formatPage)
	}
	var want []byte
	for line := range strings.Lines(dump) {
		digits, _, _ := strings.Cut(line, ";")
		b, err := hex.DecodeString(strings.Join(strings.Fields(digits), ""))
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		want = append(want, b...)
	}
	l := lay(t, collect(exampleBlocks())...)
	if !bytes.Equal(l.bytes, want) {
		t.Fatalf("written: %x\npage: %x", l.bytes, want)
	}
	for text, blocks := range map[string]string{"1234567": "true true false", "10.0.0.1": "true true false", "7654321": "false true false"} {
		got := l.find([]byte(text))
		if s := fmt.Sprint(got.Has(0), got.Has(1), got.Has(2)); s != blocks {
			t.Errorf("%s: %s", text, s)
		}
	}
	for row, n := range map[string]int{"bytes of a slice": filter.MaxSlice, "partitions": filter.MaxPartitions, "blocks": filter.MaxBlocks} {
		if row = fmt.Sprintf("| %s | %d |\n", row, n); !strings.Contains(string(page), row) {
			t.Errorf("%s has no row %q", formatPage, row)
		}
	}
}

// Keys are part of the format.
func TestKeys(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(formatPage)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"a", "1234567", "10.0.0.1", "0123456789abcdef", "0123456789abcdef0", "GRÖSSE-é", strings.Repeat("x", 100)} {
		shown := text
		if len(text) == 100 {
			shown = "x, 100 times"
		}
		if row := fmt.Sprintf("| %s | %08x |\n", shown, filter.KeyOf([]byte(text))); !strings.Contains(string(page), row) {
			t.Errorf("%s has no row %q", formatPage, row)
		}
	}
}

// collect are the sets of blocks.
func collect(blocks []block) (sets []filter.Set) {
	var c filter.Collector
	for _, b := range blocks {
		sets = append(sets, c.Collect(b.text, b.hidden()))
	}
	return sets
}
