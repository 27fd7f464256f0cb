package logql_test

import "strconv"

// templateQueries are templates: functions, pipelines and conditions.
func templateQueries() []query {
	queries := []query{}
	// Each template is the line of a record with name=Ann, and label t of all records of the kind.
	for template, line := range map[string]string{
		"{{.name | lower}} {{upper .name}} {{ToLower .name}} {{.name | ToUpper}}":                                                            "ann ANN ann ANN",
		"{{.name | replace `n` `m`}} {{Replace .name `n` `m` 1}}":                                                                            "Amm Amn",
		"{{trunc 2 .name}}|{{trunc -2 .name}}|{{trunc 9 .name}}":                                                                             "An|nn|Ann",
		"{{substr 1 2 .name}}|{{substr -1 2 .name}}|{{substr 1 -1 .name}}":                                                                   "n|An|nn",
		"{{alignLeft 5 .name}}|{{alignRight 5 .name}}|{{alignLeft 2 .name}}|{{alignRight 2 .name}}":                                          "Ann  |  Ann|An|nn",
		"{{repeat 2 .name}} {{title `go`}}":                                                                                                  "AnnAnn Go",
		"{{trim `  x `}}{{trimAll `$` `$5$`}}{{trimPrefix `A` .name}}{{trimSuffix `n` .name}}":                                               "x5nnAn",
		"{{Trim `--a-` `-`}}{{TrimLeft `--a-` `-`}}{{TrimRight `a--` `-`}}{{TrimPrefix `ab` `a`}}{{TrimSuffix `ab` `b`}}{{TrimSpace ` c `}}": "aa-abac",
		"{{if contains `nn` .name}}yes{{else}}no{{end}} {{if hasPrefix `B` .name}}yes{{else}}no{{end}}":                                      "yes no",
		"{{if and (hasSuffix `n` .name) (eq .n `7`)}}both{{end}}{{if or (eq .n `1`) (not (eq .n `2`))}}!{{end}}":                             "both!",
		"{{add .n 2}} {{sub .n 2}} {{mul .n 3}} {{div .n 2}} {{mod .n 4}}":                                                                   "9 5 21 3 3",
		"{{addf .f 1}} {{subf .f 1.5}} {{mulf .f 2}} {{divf .f 2}}":                                                                          "3.5 1 5 1.25",
		"{{max .n 3}} {{min .n 3}} {{maxf .f 3}} {{minf .f 3}}":                                                                              "7 3 3 2.5",
		"{{ceil .f}} {{floor .f}} {{round 3.14159 2}} {{int 7.9}} {{float64 .f}}":                                                            "3 2 3.14 7 2.5",
		"{{regexReplaceAll `(A)(n)` .name `${2}${1}`}} {{regexReplaceAllLiteral `n+` .name `$1`}}":                                           "nAn A$1",
		"{{count `a` .list}} {{.nothing}}{{default `none` .nothing}} {{default `none` .n}}":                                                  "2 none 7",
		"{{b64enc .name}} {{b64dec .b64}}":                                                                                                   "QW5u hello",
		"{{urlencode .url}}":                                                                                                                 "a+b%26c%3Dd",
		"{{duration `1m30s`}} {{duration_seconds `250ms`}} {{bytes `2KB`}}":                                                                  "90 0.25 2000",
		"{{__timestamp__ | unixEpoch}} {{__timestamp__ | date `2006-01-02T15:04:05Z07:00`}}":                                                 "1714996820 2024-05-06T12:00:20Z",
		"{{unixEpochMillis __timestamp__}} {{unixEpochNanos __timestamp__}}":                                                                 "1714996820000 1714996820000000000",
		"{{toDate `2006-01-02` `2024-02-29` | date `02.01.2006`}}":                                                                           "29.02.2024",
		"{{__line__ | substr 0 8}}":                                                                                                          "name=Ann",
		"{{range $i, $x := fromJson `[1,2]`}}{{$i}}:{{$x}} {{end}}":                                                                          "0:1 1:2 ",
		"{{printf `%-5s|%03d|%q` .name 7 .n}} {{len .name}}":                                                                                 "Ann  |007|\"7\" 3",
		"{{indent 2 .name}}{{nindent 1 .name}}":                                                                                              "  Ann\n Ann",
		"{{with .name}}{{.}}{{end}}{{$v := .n}}{{$v}}{{/* a comment */}}{{ .f -}}   !":                                                       "Ann72.5!",
		"{{.name | replace ` ` `_` | trunc 2 | upper}}":                                                                                      "AN",
		"{{subf 0.3 0.1}} {{addf 0.1 0.2}} {{mulf 1.1 1.1}} {{divf 2 3}} {{divf 1 30000}} {{divf -1 3}} {{subf 1 1e-20}} {{divf 1 1e20}}":    "0.2 0.3 1.21 0.6666666666666667 3.33333333333e-05 -0.3333333333333333 1 0",
		"{{round -1.2 0}} {{round -2.5 0}} {{round 2.5 0}} {{int `1.9`}} {{int `1e3`}} {{add `-.5` 1}}":                                      "-2 -3 3 1 0 1",
		"{{fromJson `{`}} {{(fromJson `{}`).a}} {{with fromJson .name}}x{{else}}y{{end}}":                                                    "<no value> <no value> y",
		"{{define `x`}}<{{.}}{{template `y` 1}}>{{end}}{{define `y`}}{{.}}!{{end}}{{template `x` .name}}{{template `x` .n}}":                 "<Ann1!><71!>",
		"{{block `x` .}}{{.name}} {{.n}}{{end}}{{define `z`}}unused {{.f}}{{end}}":                                                           "Ann 7",
		"{{define `x`}}{{if .}}({{template `x` (slice . 1)}}){{end}}{{end}}{{template `x` .name}}":                                           "((()))",
		"{{define `x`}}{{.a}}{{end}}{{template `x`}}":                                                                                        "<no value>",
		"{{define `x`}}{{range $k, $v := .}}{{$k}}={{$v}} {{end}}{{end}}{{template `x` $}}":                                                  "b64=aGVsbG8= f=2.5 list=a,b,a n=7 name=Ann url=a b&c=d ",
		"no actions, {{`{{`}}": "no actions, {{",
	} {
		queries = append(queries,
			q("misc", `{service_name="job"} |= "name=Ann" | logfmt | keep name, n, f, list, b64, url | line_format `+quoted(template)+` | keep none`, line+" {}"),
			q("misc", `{service_name="job"} |= "name=" | logfmt | label_format t=`+quoted(template)))
	}
	return append(queries,
		q("misc", `{service_name="job"} |= "name=" | logfmt | line_format "{{.n | b64dec}}" | keep name`),
		q("misc", `{service_name="job"} |= "name=bob" | logfmt | line_format "{{urldecode .url}} [{{.pad}}] {{trim .pad}}" | keep none`, `x y [  in  ] in {}`),
		q("misc", `{service_name="job"} |= "name=Ann" | logfmt | line_format "{{div .n 0}}" | keep name`,
			`name=Ann n=7 f=2.5 when=1714996800 url="a b&c=d" b64="aGVsbG8=" list="a,b,a" json={} {__error__="TemplateFormatErr", name="Ann"}`),
		q("misc", `{service_name="job"} |= "name=Ann" | logfmt | label_format n="{{substr 3 2 .name}}" | keep n | line_format "-"`, `- {__error__="TemplateFormatErr", n="7"}`),
		q("misc", `{service_name="job"} |= "name=Ann" | logfmt | label_format n="{{divf .n 0}}" | keep n | line_format "-{{.__error__}}{{.__error_details__}}-"`, `-- {__error__="TemplateFormatErr", n="7"}`),
		q("misc", `{service_name="job"} |= "name=Ann" | logfmt | label_format n="{{divf .n 0}}" | keep n | line_format "{{range $k, $v := .}}{{$k}} {{end}}{{.n | len}}"`, `n 1 {__error__="TemplateFormatErr", n="7"}`),
		q("misc", `{service_name="job"} |= "name=Ann" | logfmt | label_format n="{{duration \"1d\"}}" | keep n | line_format "{{repeat -1 \"x\"}}" | line_format "{{addf \"Inf\" 1}}" | line_format "{{indent -1 \"x\"}}" | line_format "{{template \"x\"}}" | line_format "{{len __line__}}"`, `84 {__error__="TemplateFormatErr", n="7"}`),
		q("misc", `{service_name="job"} |= "name=" | logfmt | line_format "{{if gt (int .n) 0}}positive{{else}}other{{end}}" |= "positive"`),
		q("misc", `{service_name="job"} |= "größe" | line_format "{{__line__ | upper}}" | keep none`, `GRÖßE=12 STRAßE ÄÖÜ {}`),
		q("misc", `{service_name="job"} |= "Zoë" | logfmt | line_format "{{alignRight 5 .name}}|{{alignLeft 2 .name}}" | keep none`, `  Zoë|Zo {}`),
	)
}

// quoted is a text as a string of LogQL.
func quoted(s string) string { return strconv.Quote(s) }
