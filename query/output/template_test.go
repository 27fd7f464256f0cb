package output_test

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"logstow/internal/hint"
	"logstow/query/output"
)

func compiled(t *testing.T, text string) *output.RecordTemplate {
	t.Helper()
	c, err := output.CompileTemplate(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return c
}

func TestTemplate(t *testing.T) {
	t.Parallel()
	const message = `{"user":"ann","http":{"status":502},"a-b":[1,2],"level":"own","text":"two\nlines","esc":"\u001b[31m"}`
	for text, want := range map[string]string{
		"": "",
		"{{.time}} {{.level}} {{.service}} {{.source}} {{.instance}}": "2026-11-20T16:04:05.123456789+01:00 ERROR api app.log pod-1",
		"{{.message}}": message,
		`{{.user}} {{.http.status}} {{field "a-b"}} {{field "level"}}`:                    "ann 502 [1,2] own",
		`{{.nosuch}}{{field "no such"}}{{.http.nosuch}}|`:                                 "|",
		`{{if .user}}{{$.http.status}}{{else}}{{.x}}{{end}}`:                              "502",
		`{{with .http.status}}{{.}} {{$.level}} {{$.user}}{{end}}{{with .gone}}no{{end}}`: "502 ERROR ann",
		`{{time "%Y/%m/%d %H:%M:%S"}}`:                                                    "2026/11/20 16:04:05",
		`{{json .text}} {{printf "%-5s|%.2s" .user .user}} {{len .user}}`:                 `"two\nlines" ann  |an 3`,
		`{{.text}}`: "two\nlines",
		`{{field .user}}{{field (printf "%s.%s" "http" "status")}}`:                               "502",
		`{{.user | field}}{{"user" | field}}{{field .http.status}}{{field "time"}}|{{len .time}}`: "ann|35",
		`{{define "x"}}{{.user}}{{.http.status}}{{end}}{{template "x" .}}`:                        "ann502",
		`{{eq .level "ERROR"}}{{"\t"}}{{.user | printf "%q"}}`:                                    "true\t\"ann\"",
		`{{.esc}}`: `\x1b[31m`,
	} {
		opts := output.Options{Format: output.Template, Template: compiled(t, text), Zone: time.FixedZone("", 3600), Terminal: true}
		if got := printed(t, opts, message, message); got != want+"\n"+want+"\n" {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	if got := printed(t, output.Options{Format: output.Template, Template: compiled(t, `{{.time}} {{time "%H"}} {{.a}}`)}, "a=\"\x07\"", "b"); got != "2026-11-20T15:04:05.123456789Z 15 \x07\n2026-11-20T15:04:05.123456789Z 15 \n" {
		t.Errorf("not on a terminal: %q", got)
	}
}

// A name that is computed may be another one in each record: no record is slower for those before it.
func TestTemplateComputedNames(t *testing.T) { // not parallel: it counts allocations
	w, err := output.New(io.Discard, output.Options{Format: output.Template, Template: compiled(t, "{{field .user}}")})
	if err != nil {
		t.Fatal(err)
	}
	user := 0
	perRecord := func(n int) float64 {
		return testing.AllocsPerRun(n, func() {
			user++
			if err := w.Write(match(fmt.Sprintf(`{"user":"u%d","u%d":"x"}`, user, user))); err != nil {
				t.Fatal(err)
			}
		})
	}
	first := perRecord(50)
	if last := perRecord(500); last > 2*first {
		t.Errorf("%.0f allocations a record, %.0f at first", last, first)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

// A mistake is named with its place.
func TestTemplateMistakes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{{.time":                  "unclosed action (at character 2)",
		"é {{.time}} {{nope .x}}":  `function "nope" not defined (at character 18)`,
		"{{if .x}}":                "unexpected EOF (at character 9)",
		"{{end}}":                  "unexpected {{end}} (at character 7)",
		"{{.a}}\n{{.b}} {{field}}": "wrong number of args for field: want 1 got 0 (at character 17)",
		`{{slice .message "x"}}`:   "(at character 3)",
		`é{{field 1}}`:             "expected string; found 1 (at character 10)",
		strings.Repeat("x", 4097):  "template of 4097 bytes, at most 4096 allowed",
	} {
		_, err := output.CompileTemplate(text)
		if err == nil || !strings.HasSuffix(err.Error(), want) || strings.Contains(err.Error(), "template: ") {
			t.Errorf("%.50q: %v, want %s", text, err, want)
		}
	}
	for _, opts := range []output.Options{{Format: output.Template}, {Format: output.Template, Template: compiled(t, ""), Fields: []string{"a"}}} {
		if _, err := output.New(io.Discard, opts); err == nil {
			t.Errorf("%+v: no error", opts)
		}
	}
}

// An unknown function leads to the one that was meant, or to the field of its name.
func TestUnknownFunction(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{{tme "%H"}}`:    "did you mean time?",
		`{{feild "a-b"}}`: "did you mean field?",
		"{{status}}":      "write a field as {{.status}}",
		"{{.time":         "",
	} {
		if _, err := output.CompileTemplate(text); err == nil || hint.Of(err) != want {
			t.Errorf("%s: %v, hint %q, want %q", text, err, hint.Of(err), want)
		}
	}
}

// Fields of the message that no printed record has are known.
func TestEmptyFieldsOfTemplate(t *testing.T) {
	t.Parallel()
	w, err := output.New(io.Discard, output.Options{Format: output.Template, Template: compiled(t, `{{.time}} {{.tme}} {{$.late}} {{field "level"}} {{.null}}`)})
	if err != nil {
		t.Fatal(err)
	}
	for _, message := range []string{`{"null":null}`, `{"late":""}`} {
		if err := w.Write(match(message)); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.EmptyFields(); !slices.Equal(got, []string{"tme", "level"}) {
		t.Errorf("%q", got)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

// What fails for one record ends the output.
func TestTemplateFails(t *testing.T) {
	t.Parallel()
	w, err := output.New(io.Discard, output.Options{Format: output.Template, Template: compiled(t, `{{if .a}}{{slice .a 5}}{{end}}`)})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(match("b=1")); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := w.Write(match("a=1")); err == nil || !strings.HasPrefix(err.Error(), "cannot print a record: ") {
			t.Error(err)
		}
	}
	if err := w.Close(); err == nil {
		t.Error("closed without the error")
	}
}

// No template makes the program fail otherwise than by an error.
func FuzzTemplate(f *testing.F) {
	f.Add(`{{.time}} {{field "a-b"}}`, "a-b=1")
	f.Add(`{{if .a.b}}{{with $x := .c}}{{$x}}{{end}}{{end}}{{time "%Y"}}`, `{"a":{"b":1}}`)
	f.Fuzz(func(t *testing.T, text, message string) {
		c, err := output.CompileTemplate(text)
		if err != nil {
			if len(text) <= output.MaxTemplate && !strings.Contains(err.Error(), "(at character ") {
				t.Errorf("%q: no place: %v", text, err)
			}
			return
		}
		w, err := output.New(io.Discard, output.Options{Format: output.Template, Template: c})
		if err != nil {
			t.Fatal(err)
		}
		_ = w.Write(match(message))
		_ = w.Close()
	})
}
