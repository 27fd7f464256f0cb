package multiline_test

import (
	"os"
	"strings"
	"testing"

	"logstow/input/multiline"
)

// Each example in the documentation is one event.
func TestDocumentedTraces(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/inputs/multiline.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(page), "```text\n")[1:]
	if len(blocks) < 5 {
		t.Fatalf("%d examples", len(blocks))
	}
	for _, block := range blocks {
		text, _, _ := strings.Cut(block, "\n```")
		events := join(t, multiline.Options{Auto: true}, strings.Split(text, "\n"))
		if len(events) != 1 || string(events[0].Text) != text {
			t.Errorf("%d events of\n%s", len(events), text)
		}
	}
	if !strings.Contains(string(page), multiline.Mark) {
		t.Errorf("the mark %q is not there", multiline.Mark)
	}
}
