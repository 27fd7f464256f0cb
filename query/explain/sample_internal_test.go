package explain

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"logstow/record"
)

// The records of a sample have the parsers of the blocks that they are from, also behind blocks of which
// no record is in the sample.
func TestSampleParsers(t *testing.T) {
	t.Parallel()
	text := func(messages ...string) []byte {
		var b []byte
		for _, m := range messages {
			b = record.AppendText(b, record.Record{Source: "s", Message: []byte(m)})
		}
		return b
	}
	var s sample
	s.add(text(strings.Repeat("x", 2*SamplePart)), "auto/1")
	s.add(text("1", "2"), "none/1")
	s.add(text("3"), "none/1")
	s.add(text("4"), "")
	var got []string
	parser := "no parser"
	for _, message := range s.records(func(p string) { parser = p }) {
		got = append(got, fmt.Sprintf("%s %q", message, parser))
	}
	if want := []string{`1 "none/1"`, `2 "none/1"`, `3 "none/1"`, `4 ""`}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
