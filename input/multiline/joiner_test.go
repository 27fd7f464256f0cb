package multiline_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logstow/input/multiline"
)

var update = flag.Bool("update", false, "write the golden files")

// join adds lines one by one, each in bytes that are overwritten afterwards.
func join(t testing.TB, opts multiline.Options, lines []string) []multiline.Event {
	t.Helper()
	var events []multiline.Event
	j, err := multiline.New(opts, func(e multiline.Event) {
		e.Text = bytes.Clone(e.Text)
		events = append(events, e)
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range lines {
		line := []byte(text)
		j.Add(multiline.Line{Text: line, Start: int64(i), Time: int64(-i)}, 0)
		j.Own()
		for k := range line {
			line[k] = '~'
		}
	}
	j.End()
	return events
}

// Golden files: a line "1 …" begins an event, a line "+ …" joins it.
func TestAutoGolden(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 7 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
			for _, end := range []string{"", "\r"} {
				marked := append([]string(nil), lines...)
				for i := range lines {
					marked[i] += end
				}
				events := join(t, multiline.Options{Auto: true}, marked)
				var got bytes.Buffer
				at := 0
				for _, e := range events {
					if e.Start != int64(at) || e.Time != int64(-at) || e.More {
						t.Errorf("event %+v begins at line %d", e, at)
					}
					parts := strings.Split(string(e.Text), "\n")
					if e.Lines != len(parts) {
						t.Errorf("event of %d lines has Lines %d", len(parts), e.Lines)
					}
					at += len(parts)
					for i, part := range parts {
						mark := "+ "
						if i == 0 {
							mark = "1 "
						}
						got.WriteString(mark + strings.TrimSuffix(part, end) + "\n")
					}
				}
				golden := strings.TrimSuffix(file, "txt") + "golden"
				if *update {
					if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(golden)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(want), got.String()); diff != "" {
					t.Errorf("line end %q: %s", end, diff)
				}
			}
		})
	}
}

// The first line of a file may have a byte order mark.
func TestByteOrderMark(t *testing.T) {
	t.Parallel()
	for _, lines := range [][]string{
		{"\ufeffinfo: Shop.Orders[0]\r", "      order placed\r"},
		{"\ufeff\x1b[32minfo\x1b[39m: Shop.Orders[0]", "      order placed"},
		{"\ufeffTraceback (most recent call last):", `  File "a.py", line 1`, "KeyError: 'k'"},
		{"\ufeff2026-11-20 15:04:05 ERROR failed", "System.Exception: failed", "   at Shop.Orders.Place()"},
	} {
		if got := texts(join(t, multiline.Options{Auto: true}, lines)); len(got) != 1 {
			t.Errorf("%q", got)
		}
	}
}
