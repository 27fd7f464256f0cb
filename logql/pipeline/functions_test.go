package pipeline_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"logstow/internal/test/effort"
	"logstow/logql/pipeline"
	"logstow/logql/syntax"
)

func TestFunctions(t *testing.T) {
	const line = `name=Ann n=7 f=2.5 b64="aGVsbG8=" json="{\"a\":[1,{\"b\":\"x\"}],\"n\":1.5}" list=a,b,a multi="a\nb" zoe=Zoë`
	for template, want := range map[string]string{
		"{{__line__ | trunc 8}}": "name=Ann",
		"{{ToLower .name}} {{.name | lower}} {{ToUpper .name}} {{upper .name}} {{title `go on`}} {{Title `x_y z`}}":                "ann ann ANN ANN Go On X_y Z",
		"{{Replace .name `n` `m` 1}} {{replace `n` `m` .name}} {{replace `x` `` .name}}":                                           "Amn Amm Ann",
		"{{Trim `--a-` `-`}}{{TrimLeft `--b-` `-`}}{{TrimRight `c--` `-`}}{{TrimSpace ` d `}}{{trim ` e `}}":                       "ab-cde",
		"{{TrimPrefix `ab` `a`}}{{TrimSuffix `ab` `b`}}{{trimAll `$` `$5$`}}{{trimPrefix `-` `-1`}}{{trimSuffix `-` `2-`}}":        "ba512",
		"{{regexReplaceAll `(A)(n)` .name `${2}$1`}} {{regexReplaceAllLiteral `n+` .name `$1`}} {{regexReplaceAll `x*` `ab` `-`}}": "nAn A$1 -a-b-",
		"{{substr 1 2 .name}}|{{substr -1 2 .name}}|{{substr 1 -1 .name}}|{{substr 3 9 .name}}":                                    "n|An|nn|",
		"{{trunc 2 .name}}|{{trunc -2 .name}}|{{trunc 9 .name}}|{{trunc -9 .name}}":                                                "An|nn|Ann|Ann",
		"{{indent 2 .multi}}|{{nindent 1 .multi}}|{{indent 0 .multi}}":                                                             "  a\n  b|\n a\n b|a\nb",
		"{{repeat 3 `ab`}}{{repeat 0 `x`}}":                                                                                                     "ababab",
		"{{contains `nn` .name}} {{hasPrefix `A` .name}} {{hasSuffix `A` .name}}":                                                               "true true false",
		"{{if eq .n `7`}}=7{{end}}{{if lt (int .n) 8}}<8{{end}}{{if ne .name ``}}!{{end}}":                                                      "=7<8!",
		"{{add .n 2 1}} {{sub .n 2}} {{mul .n 3 2}} {{div .n 2}} {{mod .n 4}} {{add `x` 1}}":                                                    "10 5 42 3 3 1",
		"{{addf .f 1}} {{subf .f 1.5}} {{mulf .f 2}} {{divf .f 2}} {{addf 1 2 3}}":                                                              "3.5 1 5 1.25 6",
		"{{max .n 3 9}} {{min .n 3}} {{maxf .f 3}} {{minf .f 3}}":                                                                               "9 3 3 2.5",
		"{{ceil .f}} {{floor .f}} {{round 3.14159 2}} {{round -2.5 0}} {{round 123.5 0 0.6}} {{round 1550 -2}}":                                 "3 2 3.14 -3 123 1600",
		"{{int 7.9}} {{int .n}} {{int `x`}} {{int `-3`}} {{float64 .f}} {{int true}}":                                                           "7 7 0 -3 2.5 1",
		"{{default `none` .nothing}} {{default `none` .n}} {{.nothing | default `-`}} {{default 1 0}}":                                          "none 7 - 1",
		"{{count `a` .list}} {{.list | count `[ab]`}}":                                                                                          "2 3",
		"{{b64enc .name}} {{b64dec .b64}} {{urlencode `a b&c=d`}} {{urldecode `a+b%26`}}":                                                       "QW5u hello a+b%26c%3Dd a b&",
		"{{alignLeft 5 .name}}|{{alignRight 5 .name}}|{{alignLeft 2 .name}}|{{alignRight 2 .zoe}}|{{alignLeft 4 .zoe}}|":                        "Ann  |  Ann|An|oë|Zoë |",
		"{{duration `1m30s`}} {{duration_seconds `250ms`}} {{bytes `2KB`}} {{bytes `1 KiB`}}":                                                   "90 0.25 2000 1024",
		"{{__timestamp__ | unixEpoch}} {{unixEpochMillis __timestamp__}} {{unixEpochNanos __timestamp__}}":                                      "1714996820 1714996820123 1714996820123456789",
		"{{__timestamp__ | date `2006-01-02T15:04:05.000Z07:00`}} {{date `15:04` 3600}}":                                                        "2024-05-06T12:00:20.123Z 01:00",
		"{{toDate `2006-01-02` `2024-02-29` | date `02.01.2006`}} {{toDate `2006` `x` | unixEpoch}}":                                            "29.02.2024 -62135596800",
		"{{toDateInZone `2006-01-02 15:04` `America/New_York` `2024-02-29 12:00` | unixEpoch}}":                                                 "1709226000",
		"{{unixToTime `1714996820` | date `2006`}} {{unixToTime `1714996820123` | unixEpochMillis}} {{unixToTime `19850` | date `2006-01-02`}}": "2024 1714996820123 2024-05-07",
		"{{unixToTime `1714996820123456` | unixEpoch}} {{unixToTime `1714996820123456789` | unixEpochNanos}}":                                   "1714996820 1714996820123456789",
		"{{(fromJson .json).n}} {{range $i, $x := (fromJson .json).a}}{{$i}}{{end}} {{index (index (fromJson .json).a 1) `b`}}":                 "1.5 01 x",
		"{{printf `%-5s|%03d|%q|%.1f` .name 7 .n 2.55}} {{print .name 1}} {{len .name}} {{slice .name 1}}":                                      "Ann  |007|\"7\"|2.5 Ann1 3 nn",
		"{{addf}} {{addf 1e308 1e308}} {{mulf 1e-300 1e-300}} {{subf 10 0.1 0.1}} {{divf 2 -3}}":                                                "0 +Inf 0 9.8 -0.6666666666666667",
		"{{html `<a>`}} {{js `'`}} {{urlquery `a b`}}":                                                                                          "&lt;a&gt; \\' a+b",
		"{{$v := .n}}{{with .name}}{{.}}{{$v}}{{end}}{{/* a comment */}}{{ .f -}}   !":                                                          "Ann72.5!",
		"{{if and (contains `he` `hello`) (not (eq .n `1`))}}yes{{else}}no{{end}}":                                                              "yes",
		"{{.name}}{{- /* only a comment */ -}} x":                                                                                               "Annx",
		"plain":           "plain",
		"{{/* empty */}}": "",
	} {
		p := processor(t, "| logfmt", template)
		if !p.Process(at, nil, []byte(line), webStream()) || string(p.Line()) != want || p.Get("__error__") != "" {
			t.Errorf("%s is %q, not %q; %s", template, p.Line(), want, p.Get("__error_details__"))
		}
	}
}

// processor is one of stages and a line_format.
func processor(t testing.TB, stages, template string) *pipeline.Processor {
	t.Helper()
	parsed, _ := parse(t, stages)
	compiled, err := compileFormat(parsed, template)
	if err != nil {
		t.Fatalf("%s: %v", template, err)
	}
	return compiled.Processor()
}

func compileFormat(stages []syntax.Stage, template string) (*pipeline.Pipeline, error) {
	return pipeline.Compile(append(stages, &syntax.LineFormat{Template: template}), nil, nil)
}

func TestFunctionErrors(t *testing.T) {
	for template, want := range map[string]string{
		"{{div 1 0}}":                               "division by zero",
		"{{mod 1 0}}":                               "division by zero",
		"{{b64dec `!`}}":                            "base64",
		"{{urldecode `%x`}}":                        "%x",
		"{{regexReplaceAll `(` `x` ``}}":            "missing",
		"{{count `(a?b?c?d?e?f?g?h?i?){1000}` ``}}": "too large",
		"{{count `(` `x`}}":                         "missing",
		"{{duration `x`}}":                          "invalid duration",
		"{{duration `1d`}}":                         "unknown unit",
		"{{bytes `x`}}":                             "not a size",
		"{{unixToTime `x`}}":                        "not a number",
		"{{unixToTime `123`}}":                      "3 digits",
		"{{substr 3 2 `abc`}}":                      "no substring",
		"{{substr 4 9 `abc`}}":                      "no substring",
		"{{substr -1 4 `abc`}}":                     "no substring",
		"{{repeat -1 `x`}}":                         "negative count",
		"{{nindent -1 `x`}}":                        "negative count",
		"{{divf 1 0}}":                              "division by zero",
		"{{addf `NaN` 1}}":                          "not a decimal number",
		"{{mulf 1 `-Inf`}}":                         "not a decimal number",
		"{{template `x`}}":                          "not defined",
		"{{define `x`}}{{template `x`}}{{end}}{{template `x`}}":                                                            "1000 deep",
		"{{define `x`}}{{template `y`}}{{template `y`}}{{end}}{{define `y`}}{{range 60000}}{{end}}{{end}}{{template `x`}}": "iterates more than 100000 times",
		"{{template `template`}}":              "1000 deep",
		"{{toDateInZone `2006` `No/Zone` ``}}": "No/Zone",
		"{{index (fromJson `[]`) 5}}":          "out of range",
		"{{range 100001}}{{end}}":              "iterates more than 100000 times",
		"{{slice `abc` 5}}":                    "out of range",
	} {
		synctest.Test(t, func(t *testing.T) { // where no time passes in a loop
			p := processor(t, "", template)
			if !p.Process(at, nil, []byte("line"), webStream()) || string(p.Line()) != "line" || p.Get("__error__") != "TemplateFormatErr" || !strings.Contains(p.Get("__error_details__"), want) {
				t.Errorf("%s: line is %.50q, __error__ %q, details %q, not %q", template, p.Line(), p.Get("__error__"), p.Get("__error_details__"), want)
			}
		})
	}
}

// Templates that would take much memory or time are errors, soon.
func TestTemplateBounds(t *testing.T) {
	long, sample := strings.Repeat("x", 1<<20), effort.NewSample(t, 8)
	for _, template := range []string{
		`{{repeat 1000000000 "x"}}`,
		`{{repeat 9000000000000000000 "x"}}`,
		`{{indent 1000000000 "x"}}`,
		`{{nindent 100000 (repeat 100000 "\n")}}`,
		`{{alignLeft 1000000000 "x"}}`,
		`{{alignRight 1000000000 "x"}}`,
		`{{printf "%1000000d%1000000d%1000000d%1000000d%1000000d" 1 1 1 1 1}}`,
		`{{printf "%.1000000f%.1000000f%.1000000f%.1000000f%.1000000f" 1.0 1.0 1.0 1.0 1.0}}`,
		`{{printf "%*d" 1000000 1}}`,
		`{{printf (repeat 1000 "%[1]s") __line__}}`,
		`{{print __line__ __line__ __line__ __line__ __line__}}`,
		`{{__line__}}{{__line__}}{{__line__}}{{__line__}}{{__line__}}`,
		`{{__line__}}{{__line__}}{{__line__}}{{__line__}}{{__line__ | lower}}`,
		`{{Replace __line__ "x" "12345" -1}}`,
		`{{Replace __line__ "" __line__ -1}}`,
		`{{replace "x" __line__ __line__}}`,
		`{{regexReplaceAll "x" __line__ "12345"}}`,
		`{{regexReplaceAll "x+" __line__ "$0$0$0$0$0"}}`,
		`{{regexReplaceAllLiteral "x" __line__ __line__}}`,
		`{{count "" __line__}}`,
		`{{range 1000000000}}{{end}}`,
		`{{range $i := 1000}}{{range $j := 1000}}{{range 1000}}{{end}}{{end}}{{end}}`,
		`{{range 100000}}{{$x := repeat 1000000 "x"}}{{end}}`,
		`{{range 100000}}{{$x := contains "y" __line__}}{{end}}`,
		`{{range 100000}}{{$x := count "y+z" __line__}}{{end}}`,
		`{{range 90000}}{{repeat 100 "x"}}{{end}}`,
		`{{date (repeat 1000000 "January") now}}`,
		`{{$x := "x"}}{{range 100}}{{$x = print $x $x}}{{end}}`,
		`{{$x := "1"}}{{range 100}}{{$x = date $x now}}{{end}}` + `{{repeat 5000000 "x"}}`,
		`{{$x := __line__}}{{range 100}}{{$x = b64enc $x}}{{end}}`,
		`{{mulf 1.1` + strings.Repeat(" 1.1234567890123e-300", 6000) + `}}`,
		`{{define "x"}}{{template "y"}}{{template "y"}}{{end}}{{define "y"}}{{template "z"}}{{template "z"}}{{end}}{{define "z"}}{{range 30000}}{{end}}{{end}}{{template "x"}}`,
		`{{define "x"}}{{template "x"}}{{template "x"}}{{end}}{{template "x"}}`,
		`{{$x := __line__}}{{range 100}}{{$x = html $x "<<<<"}}{{end}}`,
	} {
		if !sample.Has() {
			continue
		}
		p, start := processor(t, "", template), time.Now()
		p.Process(at, nil, []byte(long), webStream())
		if p.Get("__error__") != "TemplateFormatErr" || len(p.Line()) != len(long) {
			t.Errorf("%s: __error__ is %q, the line has %d bytes", template, p.Get("__error__"), len(p.Line()))
		}
		if took := time.Since(start); took > time.Minute {
			t.Errorf("%s takes %s", template, took)
		}
	}
}
