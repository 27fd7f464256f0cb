package output_test

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"logstow/query"
	"logstow/query/output"
)

// places finds every "b" of a message.
func places(dst [][2]int, message []byte) [][2]int {
	for at := range message {
		if message[at] == 'b' {
			dst = append(dst, [2]int{at, at + 1})
		}
	}
	return dst
}

// What was found stands out, and nothing else steers the terminal.
func TestHighlight(t *testing.T) {
	t.Parallel()
	const message = "a\x1b[31mb\nb"
	const shown = "a\\x1b[31m\x1b[1;31mb\x1b[0m\n"
	for format, want := range map[string]string{
		output.Raw:    shown + "\x1b[1;31mb\x1b[0m\n",
		output.Text:   "2026-11-20T15:04:05.123456789Z\tERROR\tapp.log\t" + shown + "\t\x1b[1;31mb\x1b[0m\n",
		output.Pretty: "\x1b[38;5;244m15:04:05.123\x1b[0m \x1b[38;5;160mERROR\x1b[0m \x1b[38;5;169mapi\x1b[0m\x1b[38;5;244m app.log:\x1b[0m " + shown + "    \x1b[1;31mb\x1b[0m\n",
	} {
		if got := printed(t, output.Options{Format: format, Color: true, Highlight: places}, message); got != want {
			t.Errorf("%s: %q, want %q", format, got, want)
		}
		if got := printed(t, output.Options{Format: format, Highlight: places}, "b"); strings.Contains(got, "\x1b") {
			t.Errorf("%s without colour: %q", format, got)
		}
	}
}

// Records around matches are set apart and marked; so are late ones.
func TestMarks(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{
		output.Raw:    "one\ntwo\n--\nthree\n",
		output.Pretty: "15:04:05.123 ERROR api app.log- one\n15:04:05.123 ERROR api app.log: two\n--\n15:04:05.123 ERROR api app.log (late): three\n",
	} {
		var out bytes.Buffer
		w, err := output.New(&out, output.Options{Format: format, Around: true})
		if err != nil {
			t.Fatal(err)
		}
		one, two, three := match("one"), match("two"), match("three")
		one.Context, one.Gap, three.Gap = true, true, true
		for _, err := range []error{w.Write(one), w.Write(two), w.WriteLate(three), w.Close()} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if out.String() != want {
			t.Errorf("%s: %q, want %q", format, out.String(), want)
		}
	}
	var out bytes.Buffer
	w, err := output.New(&out, output.Options{Format: output.JSON, Around: true})
	if err != nil {
		t.Fatal(err)
	}
	m := match("x")
	m.Context, m.Gap = true, true
	for _, err := range []error{w.Write(m), w.WriteLate(query.Match{Segment: m.Segment, Line: m.Line}), w.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	lines := strings.Split(out.String(), "\n")
	if !strings.HasSuffix(lines[0], `"message":"x","context":true}`) || !strings.HasSuffix(lines[1], `"message":"x","late":true}`) {
		t.Error(out.String())
	}
}

// An object of none but marks has no comma before them.
func TestMarksAlone(t *testing.T) {
	t.Parallel()
	for _, format := range []string{output.JSON, output.Flat} {
		var out bytes.Buffer
		w, err := output.New(&out, output.Options{Format: format, Around: true, Fields: []string{"gone"}})
		if err != nil {
			t.Fatal(err)
		}
		m := match("x")
		m.Context, m.Gap = true, true
		for _, err := range []error{w.Write(m), w.WriteLate(m), w.Close()} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if want := "{\"context\":true}\n{\"context\":true,\"late\":true}\n"; out.String() != want {
			t.Errorf("%s: %q", format, out.String())
		}
	}
}

// Colours are on, but the formats for programs have none: their bytes stay.
func TestNoColor(t *testing.T) {
	t.Parallel()
	const message = `{"a":"` + "\x1b" + `b","c":["` + "\x7f" + `"]}`
	for _, opts := range []output.Options{
		{Format: output.CSV},
		{Format: output.JSON},
		{Format: output.Flat},
		{Format: output.Template, Template: compiled(t, "{{.a}}")},
		{Format: output.Text, Fields: []string{"a", "message"}},
		{Format: output.JSON, Fields: []string{"a", "c"}},
		{Format: output.Pretty, Fields: []string{"a"}},
	} {
		plain := printed(t, opts, message)
		if opts.Color, opts.Highlight = true, places; opts.Template != nil {
			opts.Template = compiled(t, "{{.a}}")
		}
		if got := printed(t, opts, message); got != plain || strings.Contains(got, "\x1b[") {
			t.Errorf("%+v: %q, without colours %q", opts, got, plain)
		}
	}
}

// Fields that no record printed has are known in every format with columns.
func TestEmptyFields(t *testing.T) {
	t.Parallel()
	for _, format := range []string{output.CSV, output.JSON, output.Flat, output.Text} {
		w, err := output.New(io.Discard, output.Options{Format: format, Fields: []string{"gone", "level", "null", "late", "message.source"}})
		if err != nil {
			t.Fatal(err)
		}
		if got := w.EmptyFields(); !slices.Equal(got, []string{"gone", "null", "late", "message.source"}) {
			t.Errorf("%s, before a record: %q", format, got)
		}
		for i := range 2000 { // the last of many has the field
			message := `{"null":null}`
			if i == 1999 {
				message = `{"late":""}`
			}
			if err := w.Write(match(message)); err != nil {
				t.Fatal(err)
			}
		}
		if got := w.EmptyFields(); !slices.Equal(got, []string{"gone", "message.source"}) {
			t.Errorf("%s: %q", format, got)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
