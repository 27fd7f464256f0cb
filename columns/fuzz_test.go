package columns_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"logstow/columns"
	"logstow/message"
)

// valuesOf are the values of a page's records.
func valuesOf(p *columns.Page) []message.Value {
	values := make([]message.Value, p.Records())
	for i := range values {
		values[i], _ = p.Value(i, nil)
	}
	return values
}

// numbers are n values of a kind, of a form.
func numbers(kind message.Kind, texts ...string) (values []message.Value) {
	for _, text := range texts {
		values = append(values, message.Value{Kind: kind, Text: []byte(text)})
	}
	return values
}

// manyTexts are n different texts.
func manyTexts(n int) (texts []string) {
	for i := range n {
		texts = append(texts, fmt.Sprintf("user-%d", i*7919%100_003))
	}
	return texts
}

// FuzzDecodePage decodes any bytes as a page: never a panic, and what is accepted has the same values after it is
// encoded again.
func FuzzDecodePage(f *testing.F) {
	const many = 1100
	for _, values := range [][]message.Value{
		{{}},
		numbers(message.String, "a", "b", "a", "a"),
		append(numbers(message.Bare, "1", "x"), message.Value{}, message.Value{Kind: message.Null, Text: []byte("null")}),
		append(differentNumbers(many, "%d"), numbers(message.Number, "1e3", "-0")...),
		differentNumbers(many, "-%d.50"),
		differentNumbers(many, "1%017d"),
		differentNumbers(20, "%d"),
		append(differentNumbers(many, "0.%d5"), make([]message.Value, many)...),
		append(numbers(message.String, manyTexts(many)...), message.Value{}, message.Value{Kind: message.Number, Text: []byte("7")}),
	} {
		page, _, _ := columns.EncodePage(values, true)
		if page == nil {
			f.Fatalf("%v do not fit a page", values[:min(len(values), 5)])
		}
		f.Add(page, uint16(len(values)))
	}
	f.Fuzz(func(t *testing.T, page []byte, records uint16) {
		entries, plane, entriesErr := columns.DecodeEntries(page)
		if entriesErr != nil && !errors.Is(entriesErr, columns.ErrMalformed) {
			t.Fatalf("error is %v", entriesErr)
		}
		p, err := columns.DecodePage(page, int(records))
		if err != nil {
			if !errors.Is(err, columns.ErrMalformed) {
				t.Fatalf("error is %v", err)
			}
			return
		}
		same := func(a, b message.Value) bool { return a.Kind == b.Kind && bytes.Equal(a.Text, b.Text) }
		if len(p.Entries) > columns.MaxEntries {
			if entriesErr != nil || len(entries) > 0 {
				t.Fatalf("%d entries of many, error %v", len(entries), entriesErr)
			}
		} else if entriesErr != nil || plane != p.Plane || !slices.EqualFunc(entries, p.Entries, same) {
			t.Fatalf("entries %v, %d, error %v, those of the page are %v, %d", entries, plane, entriesErr, p.Entries, p.Plane)
		}
		values := valuesOf(p)
		again, _, _ := columns.EncodePage(values, true)
		if again == nil {
			return // its numbers are too long for bounds, or of several forms
		}
		p, err = columns.DecodePage(again, int(records))
		if err != nil {
			t.Fatalf("encoded again: %v", err)
		}
		for i, got := range valuesOf(p) {
			if got.Kind != values[i].Kind || !bytes.Equal(got.Text, values[i].Text) {
				t.Fatalf("record %d is %v, %v when it is encoded again", i, values[i], got)
			}
		}
	})
}

// FuzzDecodeSeconds decodes any bytes as a page of times: never a panic, and what is accepted is decoded alike after
// it is encoded again.
func FuzzDecodeSeconds(f *testing.F) {
	for _, seconds := range [][]uint32{{0}, {0, 0, 0}, {0, 1, 1, 500}, {3, 4_000_000_000}, sparse(200), sparse(2000)} {
		f.Add(columns.AppendSeconds(seconds), uint16(len(seconds)))
	}
	f.Fuzz(func(t *testing.T, page []byte, records uint16) {
		runs, err := columns.DecodeSeconds(page, int(records))
		if err != nil {
			if !errors.Is(err, columns.ErrMalformed) {
				t.Fatalf("error is %v", err)
			}
			return
		}
		var seconds []uint32
		for _, run := range runs {
			for len(seconds) < run.End {
				seconds = append(seconds, run.Tick)
			}
		}
		if len(seconds) != int(records) || !slices.IsSorted(seconds) {
			t.Fatalf("%d seconds of %d records, in order %v", len(seconds), records, slices.IsSorted(seconds))
		}
		again, err := columns.DecodeSeconds(columns.AppendSeconds(seconds), int(records))
		if err != nil || !slices.Equal(again, runs) {
			t.Fatalf("%v is %v after it is encoded, error %v", runs, again, err)
		}
	})
}

// FuzzColumns compares the columns of any messages, separated by zero bytes, with the fields of the text.
func FuzzColumns(f *testing.F) {
	for _, text := range []string{
		"{\"took\":1,\"a\":{\"b\":2}}\x00{\"took\":1.50,\"took\":2}\x00{\"took\":\"1\"}\x00{\"took\":null}\x00{\"took\":[1]}\x00{\"a.b\":1}",
		"took=1 a=\"x y\"\x00took=007 a=\x00took=-0 level=warn\x00text took=1e5\x00took=NaN",
		"1.2.3.4 - - [20/Nov/2026:15:04:05 +0000] \"GET /a?b=1 HTTP/1.1\" 200 17 \"-\" \"curl\"",
		"1.2.3.4 - - [20/Nov/2026:15:04:05 +0000] \"GET /a?b=1 HTTP/1.1\" 200 17 \"-\" \"curl\" took=5 a=b",
		"{\"log\":\"took=5 status=7\",\"status\":1,\"took\":6}\x00{\"message\":\"{\\\"took\\\":1}\"}",
		"{\"took\":1\x00{\"took\":1}x\x00 {\"took\":9223372036854775808}\n",
		"I1120 15:04:05.123456 1 file.go:7] started took=5\x00\x00\n\x00\t",
	} {
		for parser := range len(parsers()) {
			f.Add([]byte(text), byte(parser))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte, parser byte) {
		all := parsers()
		var messages []string
		for _, m := range bytes.Split(text, []byte{0}) {
			messages = append(messages, string(m))
		}
		// Repeated, values are those of the record before or known ones; and there is a second block.
		messages = append(messages, messages...)
		check(t, all[int(parser)%len(all)], messages, 0, 3e8)
	})
}

// sparse are the seconds of records of which few share one.
func sparse(n int) (seconds []uint32) {
	for i := range uint32(n) {
		seconds = append(seconds, i-i%7/3+i%3/2)
	}
	slices.Sort(seconds)
	return seconds
}
