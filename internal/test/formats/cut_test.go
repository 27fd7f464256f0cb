package formats_test

import (
	"strings"
	"testing"

	"logstow/input/multiline"
	"logstow/internal/test/formats"
	"logstow/message/parse"
	"logstow/record/recognize"
)

// TestCut cuts the lines of all formats at each byte, also with other separators: no rule may read behind the end of a line.
func TestCut(t *testing.T) {
	t.Parallel()
	all, err := formats.All()
	if err != nil {
		t.Fatal(err)
	}
	const head, changed = 200, 32 // bytes
	separators := []*strings.Replacer{}
	for _, pair := range [...][2]string{{"-", "/"}, {"-", "."}, {"/", "-"}, {":", "."}, {" ", ","}, {" ", "|"}, {"T", " "}, {" ", ""}, {"]", "]["}, {"0", ""}} {
		separators = append(separators, strings.NewReplacer(pair[0], pair[1]))
	}
	stamper := recognize.New(recognize.Options{})
	joiner, err := multiline.New(multiline.Options{Auto: true}, func(multiline.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	splitter := parse.Auto().Splitter("status", "took")
	cut := func(line string, most int) {
		text := []byte(line[:min(len(line), most)])
		n := 0
		defer func() {
			if r := recover(); r != nil {
				t.Errorf("%q: %v", text[:n], r)
			}
		}()
		for ; n <= len(text); n++ {
			part := text[:n:n]
			stamper.Stamp(part, formats.Now().UnixNano(), formats.Now().UnixNano())
			stamper.HasTime(part)
			joiner.Add(multiline.Line{Text: part}, 0)
			joiner.Own()
			splitter.Split(nil, part)
			splitter.Values()
		}
	}
	seen := map[string]bool{}
	for i := range all {
		for line := range strings.SplitSeq(all[i].Text, "\n") {
			cut(line, head)
			for _, r := range separators {
				start := r.Replace(line[:min(len(line), 2*changed)])
				if start = start[:min(len(start), changed)]; !seen[start] {
					seen[start] = true
					cut(start, changed)
				}
			}
		}
	}
}
