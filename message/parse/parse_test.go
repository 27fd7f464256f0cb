package parse_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logstow/blobnaming"
	"logstow/message"
	"logstow/message/parse"
)

func TestCompile(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"auto":                              "auto/1",
		" none\n":                           "none/1",
		"pattern '<ip> - <user> [<_>]'":     "pattern/1 '<ip> - <user> [<_>]'",
		"pattern `<a> <b>`":                 "pattern/1 '<a> <b>'",
		"pattern  <a>'s <b>":                "pattern/1 '<a>'s <b>'",
		"pattern ' <a>\t'":                  "pattern/1 ' <a>\t'",
		"pattern '<34>1 <a.b> < x> <-> <é>": "pattern/1 ''<34>1 <a.b> < x> <-> <é>'",
		`regexp '(?P<status>\d{3})'`:        `regexp/1 '(?P<status>\d{3})'`,
		"regexp (?P<a>x)(y)":                "regexp/1 '(?P<a>x)(y)'",
	} {
		p, err := parse.Compile(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if p.String() != want {
			t.Errorf("%q: %s, want %s", text, p, want)
		}
		again, err := parse.CompileStored(p.String())
		if err != nil || again.String() != want {
			t.Errorf("%s: stored as %v, %v", want, again, err)
		}
		if again, err = parse.CompileStored(p.Stored()); err != nil || again.String() != want || (p.Stored() == "") != (want == "auto/1") {
			t.Errorf("%s: in a footer %q, read as %v, %v", want, p.Stored(), again, err)
		}
	}
}

func TestCompileMistakes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                        `unknown parser "": want auto, none, pattern '…', regexp '…', w3c '…' or csv`,
		"json":                    `unknown parser "json": want auto, none, pattern '…', regexp '…', w3c '…' or csv`,
		"auto/1":                  `unknown parser "auto/1": want auto, none, pattern '…', regexp '…', w3c '…' or csv`,
		"auto x":                  `parser "auto" does not support an expression (at character 6)`,
		"pattern":                 `parser "pattern" requires an expression (at character 8)`,
		"pattern ''":              `parser "pattern" requires an expression (at character 10)`,
		"pattern 'x <_> <1>'":     `no capture: write at least one <name> (at character 10)`,
		"pattern 'é <a><b>'":      `no text between capture <b> and the capture before it (at character 15)`,
		"pattern <a><_>":          `no text between capture <_> and the capture before it (at character 12)`,
		"pattern '<_><_> <a>'":    `no text between capture <_> and the capture before it (at character 13)`,
		"pattern `<a> <b> <a>`":   `capture <a> occurs twice (at character 18)`,
		"pattern '<a>\n<b>'":      `line breaks and other control characters are not allowed (at character 13)`,
		"pattern '<a>\u0085<b>'":  `line breaks and other control characters are not allowed (at character 13)`,
		"w3c 'a b\u0081'":         `line breaks and other control characters are not allowed (at character 9)`,
		"pattern '<a>\xff<b>'":    `line breaks and other control characters are not allowed (at character 13)`,
		"regexp '(x)'":            `no named group: write (?P<name>…) (at character 9)`,
		"regexp '(?P<a>x)(y'":     `missing closing ): "(?P<a>x)(y" (at character 9)`,
		"regexp '(?P<a>x)[z-a]'":  `invalid character class range: "z-a" (at character 18)`,
		"regexp (?P<a>x)(?P<a>y)": `group <a> occurs twice (at character 19)`,
	} {
		p, err := parse.Compile(text)
		if err == nil {
			t.Errorf("%q: compiled to %s", text, p)
		} else if err.Error() != want {
			t.Errorf("%q: %s\nwant %s", text, err, want)
		}
	}
}

// Whatever compiles can be stored in a segment's footer: with tabs, and up to the maximum length.
func TestStorable(t *testing.T) {
	t.Parallel()
	if p, err := parse.Compile("pattern '<a>\t<b>'"); err != nil || !blobnaming.ValidParse(p.Stored()) {
		t.Errorf("%v: %s", err, p)
	}
	longest := "pattern <a>" + strings.Repeat("x", parse.MaxExpression-len("<a>"))
	p, err := parse.Compile(longest)
	if err != nil || !blobnaming.ValidParse(p.Stored()) {
		t.Errorf("%v: %s", err, p)
	}
	if _, err := parse.Compile(longest + "x"); err == nil {
		t.Error("longer ones compile")
	}
}

func TestCompileStored(t *testing.T) {
	t.Parallel()
	for stored, newer := range map[string]bool{
		"auto/2": true, "xml/1": true, "pattern/9 '<a>'": true, "auto": true, " ": true,
		"auto/1 x": false, "auto/1 ": false, " auto/1": true, "pattern/1": false, "pattern/1 <a>": false, "pattern/1 `<a>`": false, "pattern/1 '<a><b>'": false,
		"regexp/1 '('": false, "pattern/1 '<a>'\n": false,
	} {
		p, err := parse.CompileStored(stored)
		if err == nil {
			t.Errorf("%q: read as %s", stored, p)
		} else if errors.Is(err, parse.ErrUnknownVersion) != newer {
			t.Errorf("%q: %v, newer: want %t", stored, err, newer)
		}
	}
}

func TestSplitterValue(t *testing.T) {
	t.Parallel()
	access := `192.0.2.7 - - [20/Nov/2026:15:04:05 +0000] "GET /a\x22b HTTP/1.1" 200 99 "-" "a \"b\"" rt=0.005`
	for _, c := range []struct {
		parser, message, name string
		kind                  message.Kind
		text                  string
	}{
		{"auto", access, "status", message.Bare, "200"},
		{"auto", access, "path", message.String, `/a"b`},
		{"auto", access, "user_agent", message.String, `a "b"`},
		{"auto", access, "rt", message.Bare, "0.005"},
		{"auto", access, "referer", message.Missing, ""},
		{"auto", access, "user", message.Missing, ""},
		{"auto", access, "none", message.Missing, ""},
		{"auto", access, "", message.Missing, ""},
		{"auto", `{"a":{"b":1},"status":"x"}`, "a.b", message.Number, "1"},
		{"auto", `{"a":{"b":1},"status":"x"}`, "status", message.String, "x"},
		{"auto", `{"a":{"b":1},"status":"x"}`, "a", message.Composite, `{"b":1}`},
		{"auto", `level=info status=5`, "status", message.Bare, "5"},
		{"auto", `I1120 15:04:05.123456 1 p.go:7] hi user="x"`, "user", message.String, "x"},
		{"auto", `I1120 15:04:05.123456 1 p.go:7] hi line="x"`, "line", message.Bare, "7"},
		{"none", access, "status", message.Missing, ""},
		{"none", `{"status":1}`, "status", message.Missing, ""},
		{"pattern '<ip> <_> [<_>] <x>'", access, "ip", message.Bare, "192.0.2.7"},
		{"pattern '<ip> <_> [<_>] <x>'", access, "_", message.Missing, ""},
		{"pattern '<ip> <_> [<_>] <x>'", access, "status", message.Missing, ""},
		{"pattern '<a>x<b>'", `{"status":1}`, "status", message.Missing, ""},
		{"pattern '<a> <b>'", "7 ", "b", message.Bare, ""},
		{`regexp '" (?P<status>\d{3})(?P<no>z)? (?P<b>\d+)'`, access, "status", message.Bare, "200"},
		{`regexp '" (?P<status>\d{3})(?P<no>z)? (?P<b>\d+)'`, access, "b", message.Bare, "99"},
		{`regexp '" (?P<status>\d{3})(?P<no>z)? (?P<b>\d+)'`, access, "no", message.Missing, ""},
		{`regexp '" (?P<status>\d{3})(x)?'`, access, "", message.Missing, ""},
		{`regexp '^(?P<ip>\S+)'`, access, "ip", message.Bare, "192.0.2.7"},
		{`regexp '" (?P<status>\d{3}) '`, "other", "status", message.Missing, ""},
	} {
		p, err := parse.Compile(c.parser)
		if err != nil {
			t.Fatal(err)
		}
		s := p.Splitter("time", c.name)
		for range 2 { // a splitter is used again and again
			s.Split(nil, []byte(c.message))
			for range 2 {
				if v := s.Value(1); v.Kind != c.kind || string(v.Text) != c.text {
					t.Errorf("%s: %s in %s: kind %d, %q; want %d, %q", c.parser, c.name, c.message, v.Kind, v.Text, c.kind, c.text)
				}
			}
			s.Split(nil, []byte(`x`))
			if v := s.Value(1); v.Kind != message.Missing && string(v.Text) != "x" {
				t.Errorf("%s: %s of the message before", c.parser, c.name)
			}
		}
	}
}

// All values of a message remain valid until the next, escapes or not.
func TestValuesTogether(t *testing.T) {
	t.Parallel()
	p := parse.Auto()
	s := p.Splitter("referer", "user_agent", "path", "query", "referer")
	s.Split(nil, []byte(`192.0.2.7 - - [20/Nov/2026:15:04:05 +0000] "GET /\"p\"?\"q\" HTTP/1.1" 200 99 "\"r\"" "\"u\\" 5`))
	var got []string
	for i := range 5 {
		got = append(got, string(s.Value(i).Text))
	}
	for name, v := range s.All() {
		if name == "query" {
			got = append(got, string(v.Text))
		}
	}
	for i := range 5 {
		got = append(got, string(s.Value(i).Text))
	}
	const values = `"r" "u\ /"p" "q" "r"`
	if diff := cmp.Diff(values+` "q" `+values, strings.Join(got, " ")); diff != "" {
		t.Error(diff)
	}
}

func TestSplitAllocatesNothing(t *testing.T) {
	for name, line := range samples() {
		p := parse.Auto()
		s, l := p.Splitter("status", "path", "user_agent", "rt", "a.b"), p.Leveler()
		message := []byte(line)
		if n := testing.AllocsPerRun(100, func() {
			s.Split(nil, message)
			for i := range 5 {
				s.Value(i)
			}
			l.Level(message)
		}); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// Colours of the terminal around names and values are ignored, and the result is no form of the message.
func TestColors(t *testing.T) {
	t.Parallel()
	for _, msg := range []string{
		"\x1b[2m2026-11-20T15:04:07Z\x1b[0m \x1b[31mERR\x1b[0m msg \x1b[36muser=\x1b[0mbob \x1b[36mstatus=\x1b[0m503",
		"done \x1b[3muser\x1b[0m\x1b[2m=\x1b[0m\"bob\" \x1b[3mstatus\x1b[0m\x1b[2m=\x1b[0m503",
		"{\"user\":\x1b[32m\"bob\"\x1b[0m,\"status\":\x1b[33m503\x1b[0m}",
	} {
		s := parse.Auto().Splitter("user", "status")
		s.CheckForm()
		s.Split(nil, []byte(msg))
		if v := s.Values(); string(v[0].Text) != "bob" || string(v[1].Text) != "503" || s.Form() != message.NoForm {
			t.Errorf("%q: %q %q, form %v", msg, v[0].Text, v[1].Text, s.Form())
		}
		all := map[string]string{}
		for name, v := range s.All() {
			all[name] = string(v.Text)
		}
		if all["user"] != "bob" || all["status"] != "503" {
			t.Errorf("%q: %v", msg, all)
		}
	}
}
