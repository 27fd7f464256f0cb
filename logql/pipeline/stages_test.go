package pipeline_test

import (
	"strings"
	"testing"

	"logstow/logql/pipeline"
)

const (
	jsonLine   = `{"level":"warn","msg":"a \"b\"","status":200,"http":{"method":"GET","status":5e2,"deep":{"x":true}},"list":[1,{"y":2}],"nothing":null,"empty":"","service-name":"x","9lives":1,"ünï":"ß"}`
	logfmtLine = `level=warn msg="a \"b\"" status=200 took=1.5s size=20KB flag empty= ip=10.1.2.3 level=error`
	plainLine  = `10.1.2.3 - frank [10/Oct/2000] "GET /a/b?c=d HTTP/1.0" 200 2326`
)

type stageCase struct{ stages, line, want string }

func stageCases() []stageCase {
	return []stageCase{
		// Line filters.
		{`|= "GET"`, plainLine, plainLine + ` {}`},
		{`|= "POST"`, plainLine, `-`},
		{`|= "POST" or "GET"`, plainLine, plainLine + ` {}`},
		{`!= "POST"`, plainLine, plainLine + ` {}`},
		{`!= "POST" or "GET"`, plainLine, `-`},
		{`|~ "G.T /a"`, plainLine, plainLine + ` {}`},
		{`|~ "GET"`, plainLine, plainLine + ` {}`},
		{`|~ "(?i)get"`, plainLine, plainLine + ` {}`},
		{`|~ "PO+ST" or "fr[a]nk"`, plainLine, plainLine + ` {}`},
		{`!~ "fr[a]nk"`, plainLine, `-`},
		{`!~ "x|y"`, plainLine, plainLine + ` {}`},
		{`|~ ""`, ``, ` {}`},
		{`|= ""`, ``, ` {}`},
		{"|> `<_> frank <_>`", plainLine, plainLine + ` {}`},
		{"|> `10.<_>26`", plainLine, plainLine + ` {}`},
		{"|> `10.<_>27`", plainLine, `-`},
		{"|> `1.<_>26`", plainLine, plainLine + ` {}`}, // the start is not anchored
		{"|> `frank`", plainLine, `-`},                 // but the end is
		{"|> `26`", plainLine, plainLine + ` {}`},
		{"|> `<_>`", `x`, `x {}`},
		{"|> `<_>`", ``, `-`},
		{"|> `a<_>b`", `ab`, `-`},
		{"|> `a<_>b<_>`", `axb`, `-`},
		{"|> `a<_>b`", `abb`, `-`}, // the capture ends at the first b
		{"|> `a<_>b`", `axbxb`, `-`},
		{"|> `a<_>b`", `aab`, `aab {}`},
		{"|> `<_>a`", `a`, `-`},
		{"|> `a<_>`", `a`, `-`},
		{"|> ``", ``, ` {}`},
		{"|> ``", `x`, `-`},
		{"|> `abc`", `abc`, `abc {}`},
		{"|> `abc`", `abcd`, `-`},
		{"|> `<_>a<_>a`", `xaya`, `xaya {}`},
		{"|> `x` or `<_>y`", `zy`, `zy {}`},
		{"!> `x` or `<_>y`", `zy`, `-`},
		{"!> `x<_>`", `zy`, `zy {}`},
		{`|= ip("10.0.0.0/8")`, plainLine, plainLine + ` {}`},
		{`|= ip("10.1.2.3")`, `from 10.1.2.3:8080`, `from 10.1.2.3:8080 {}`},
		{`|= ip("10.1.2.1-10.1.2.4")`, `at 10.1.2.3.`, `at 10.1.2.3. {}`},
		{`|= ip("10.1.2.1-10.1.2.2")`, `at 10.1.2.3.`, `-`},
		{`|= ip("10.1.2.3")`, `10.1.2.33 110.1.2.3`, `-`},
		{`!= ip("10.0.0.0/8")`, plainLine, `-`},
		{`!= ip("11.0.0.0/8")`, `12:30:45.1 nothing`, `12:30:45.1 nothing {}`},
		{`|= ip("2001:db8::/32")`, `from [2001:DB8::7]:443`, `from [2001:DB8::7]:443 {}`},
		{`|= ip("::1")`, `10.1.2.3 ::1`, `10.1.2.3 ::1 {}`},
		{`|= ip("2001:db8::/32")`, `10.1.2.3 2001:db9::`, `-`},
		{`|= "x" or ip("10.1.2.3")`, plainLine, plainLine + ` {}`},

		// JSON.
		{`| json | line_format ""`, jsonLine, ` {_9lives="1", _n_="ß", empty="", http_deep_x="true", http_method="GET", http_status="5e2", level_extracted="warn", msg="a \"b\"", service_name_extracted="x", status="200"}`},
		{`| json`, `{}`, `{} {}`},
		{`| json`, ` {"a":1} `, ` {"a":1}  {a="1"}`},
		{`| json`, `{"a":1,"a":2}`, `{"a":1,"a":2} {a="1"}`},
		{`| json`, `{"a_b":1,"a":{"b":2},"a-b":3}`, `{"a_b":1,"a":{"b":2},"a-b":3} {a_b="1"}`},
		{`| json`, `{"a":{"b":2},"a_b":1}`, `{"a":{"b":2},"a_b":1} {a_b="2"}`},
		{`| json`, `{"level":"a","level_extracted":"b"}`, `{"level":"a","level_extracted":"b"} {level_extracted="a"}`},
		{`| json`, `{"source":"a"}`, `{"source":"a"} {source_extracted="a"}`},
		{`| json`, `{"":1," ":2,"a b":3,"\u0061\n":4}`, `{"":1," ":2,"a b":3,"\u0061\n":4} {a="4", a_b="3"}`},
		{`| json`, `{"a":{"":{"b":1}}}`, `{"a":{"":{"b":1}}} {a__b="1"}`},
		{`| json`, `{"a":"\u00e9\t\ud83d\ude00"}`, `{"a":"\u00e9\t\ud83d\ude00"} {a="é\t😀"}`},
		{`| json`, "{\"a\":\"x\xffy\xfe\xfe\"}", "{\"a\":\"x\xffy\xfe\xfe\"} {a=\"x\ufffdy\ufffd\ufffd\"}"},
		{`| json`, `{"a":-1.5E+3,"b":false}`, `{"a":-1.5E+3,"b":false} {a="-1.5E+3", b="false"}`},
		{`| json`, `plain`, `plain {__error__="JSONParserErr"}`},
		{`| json`, ``, ` {__error__="JSONParserErr"}`},
		{`| json`, `[1]`, `[1] {__error__="JSONParserErr"}`},
		{`| json`, `"a"`, `"a" {__error__="JSONParserErr"}`},
		{`| json`, `x {"a":1}`, `x {"a":1} {__error__="JSONParserErr"}`},
		{`| json`, `{"a":1,"b":`, `{"a":1,"b": {__error__="JSONParserErr", a="1"}`},
		{`| json`, `{"a":1 "b":2}`, `{"a":1 "b":2} {__error__="JSONParserErr", a="1"}`},
		{`| json`, `{"a":1,}`, `{"a":1,} {a="1"}`},
		{`| json`, `{"a":tru}`, `{"a":tru} {__error__="JSONParserErr"}`},
		{`| json`, `{"a":1x}`, `{"a":1x} {__error__="JSONParserErr"}`},
		{`| json`, `{"a":"x}`, `{"a":"x} {__error__="JSONParserErr"}`},
		{`| json`, `{a:1}`, `{a:1} {__error__="JSONParserErr"}`},
		{`| json`, `{"__error__":"x","__error_details__":"y"}`, `{"__error__":"x","__error_details__":"y"} {__error___extracted="x", __error_details___extracted="y"}`},
		{`| json | json`, `{"a":1}`, `{"a":1} {a="1"}`},
		{`| json | line_format "{{.log}}" | json`, `{"a":1,"log":"{\"a\":2,\"b\":3}"}`, `{"a":2,"b":3} {a="1", b="3", log="{\"a\":2,\"b\":3}"}`},
		{`| label_format a="x" | json`, `{"a":1}`, `{"a":1} {a="1"}`},
		{`| drop level | json`, `{"level":1}`, `{"level":1} stream{instance="i-1", service_name="web"} {level_extracted="1"}`},

		// JSON with expressions.
		{`| json status, x="http.deep.x" | line_format ""`, jsonLine, ` {status="200", x="true"}`},
		{`| json a="list[0]", b="list[1].y", c="list[2]", d="list[1]" | line_format ""`, jsonLine, ` {a="1", b="2", c="", d="{\"y\":2}"}`},
		{"| json a=`[\"service-name\"]`, b=`http[\"method\"]`, c=`nothing`, d=`empty`, e=`nowhere.x` | line_format ``", jsonLine, ` {a="x", b="GET", c="", d="", e=""}`},
		{`| json level | line_format ""`, jsonLine, ` {level_extracted="warn"}`},
		{`| json h="http" | line_format ""`, jsonLine, ` {h="{\"method\":\"GET\",\"status\":5e2,\"deep\":{\"x\":true}}"}`},
		{`| json a="status[0]", b="list.x", c="msg.x" | line_format ""`, jsonLine, ` {a="", b="", c=""}`},
		{`| json a="a"`, `{"a":1,"a":2}`, `{"a":1,"a":2} {a="1"}`},
		{`| json a="[1].b"`, `[1,{"b":2}]`, `[1,{"b":2}] {a="2"}`},
		{`| json a="a"`, `plain`, `plain {__error__="JSONParserErr"}`},
		{`| json a="a"`, `{"a":1,"b"`, `{"a":1,"b" {a="1"}`},
		{`| json a="a.b"`, `{"a.b":1}`, `{"a.b":1} {a=""}`},

		// logfmt.
		{`| logfmt | line_format ""`, logfmtLine, ` {ip="10.1.2.3", level_extracted="warn", msg="a \"b\"", size="20KB", status="200", took="1.5s"}`},
		{`| logfmt --keep-empty | line_format ""`, logfmtLine, ` {empty="", flag="", ip="10.1.2.3", level_extracted="warn", msg="a \"b\"", size="20KB", status="200", took="1.5s"}`},
		{`| logfmt`, "a=1\tb=2\nc=3", "a=1\tb=2\nc=3 {a=\"1\", b=\"2\", c=\"3\"}"},
		{`| logfmt`, `a= a=2 a=3`, `a= a=2 a=3 {a="2"}`},
		{`| logfmt`, `some words a=1, and b=(2) c.d=3 1e=4`, `some words a=1, and b=(2) c.d=3 1e=4 {_1e="4", a="1,", b="(2)", c_d="3"}`},
		{`| logfmt`, `u=/x?y=z a="b`, `u=/x?y=z a="b {}`},
		{`| logfmt`, `=x a=1 "b"=2 c="d"e f=3`, `=x a=1 "b"=2 c="d"e f=3 {a="1", c="d", f="3"}`},
		{`| logfmt --strict`, `a=1 u=/x?y=z b=2`, `a=1 u=/x?y=z b=2 {__error__="LogfmtParserErr", a="1"}`},
		{`| logfmt --strict`, `a=1 b="x`, `a=1 b="x {__error__="LogfmtParserErr", a="1"}`},
		{`| logfmt --strict`, `a=1 b`, `a=1 b {a="1"}`},
		{`| logfmt`, ``, ` {}`},
		{`| logfmt`, "a=x\xff", "a=x\xff {a=\"x\ufffd\"}"},
		{`| logfmt`, `__error__=x`, `__error__=x {__error___extracted="x"}`},
		{`| logfmt st="status", took, l="level" | line_format ""`, logfmtLine, ` {l="error", st="200", took="1.5s"}`},
		{`| logfmt a="status", b="status" | line_format ""`, logfmtLine, ` {a="200", b="200"}`},
		{`| logfmt level | line_format ""`, logfmtLine, ` {level_extracted="error"}`},
		{`| logfmt --strict x="x"`, `"`, `" {__error__="LogfmtParserErr"}`},
		{`| logfmt --keep-empty x="a", y`, `a`, `a {x=""}`},

		// regexp, pattern, unpack, decolorize.
		{"| regexp `(?P<method>[A-Z]+) (?P<path>/\\S*)(?P<x>x)?` | line_format ``", plainLine, ` {method="GET", path="/a/b?c=d", x=""}`},
		{"| regexp `(?P<level>none)`", plainLine, plainLine + ` {}`},
		{"| regexp `(?P<level>fr.nk)` | line_format ``", plainLine, ` {level_extracted="frank"}`},
		{"| pattern `<ip> - <user> [<_>] \"<method> <path> <_>\" <status> <size>` | line_format ``", plainLine, ` {ip="10.1.2.3", method="GET", path="/a/b?c=d", size="2326", status="200", user="frank"}`},
		{"| pattern `10.<rest> -` | line_format ``", plainLine, ` {rest="1.2.3"}`},
		{"| pattern `x<rest>`", plainLine, plainLine + ` {}`},
		{"| pattern `<a> nowhere <b>`", `a b c`, `a b c {a="a b c"}`},
		{"| pattern `<a>,<b>,<c>`", `1,,3`, `1,,3 {a="1", b="", c="3"}`},
		{"| pattern `<_> <level>`", `x y`, `x y {level_extracted="y"}`},
		{`| unpack`, `{"_entry":"the line","app":"a","level":"b","n":1,"o":{"p":"q"}}`, `the line {app="a", level_extracted="b"}`},
		{`| unpack`, `{"app":"a"}`, `{"app":"a"} {}`},
		{`| unpack`, `plain`, `plain {__error__="JSONParserErr"}`},
		{`| unpack`, `{"_entry":"x"`, `{"_entry":"x" {__error__="JSONParserErr"}`},
		{`| decolorize`, "\x1b[1;31mred\x1b[0m \x1b]0;title\x07x\x1b", "red x {}"},
		{`| decolorize |= "red!"`, "\x1b[31mred\x1b[0m!", "red! {}"},
		{`| decolorize`, "plain", "plain {}"},

		// Label filters.
		{`| json | status = 200 | keep status | line_format ""`, jsonLine, ` stream{} metadata{} {status="200"}`},
		{`| json | status == 200.0`, jsonLine, jsonResult},
		{`| json | status != 200`, jsonLine, `-`},
		{`| json | status > 199 and status < 201 | http_method = "GET"`, jsonLine, jsonResult},
		{`| json | status > 200 or http_status >= 500`, jsonLine, jsonResult},
		{`| json | status > 200, http_status >= 500`, jsonLine, `-`},
		{`| json | (status > 200 or http_method =~ "G.*") and msg !~ "x"`, jsonLine, jsonResult},
		{`| json | nowhere > 0`, jsonLine, `-`},
		{`| json | nowhere = ""`, jsonLine, jsonResult},
		{`| json | nowhere != "x"`, jsonLine, jsonResult},
		{`| json | empty > 0`, jsonLine, `-`},
		{`| json | msg > 0 | keep x | line_format ""`, jsonLine, ` stream{} metadata{} {__error__="LabelFilterErr"}`},
		{`| json | msg > 0 | status > 300 | keep x | line_format ""`, jsonLine, `-`},
		{`| json | msg > 0 | status = "300"`, jsonLine, `-`},
		{`| json | msg > 0 | __error__ = ""`, jsonLine, `-`},
		{`| json | msg > 0 | __error__ = "LabelFilterErr" | keep x | line_format ""`, jsonLine, ` stream{} metadata{} {__error__="LabelFilterErr"}`},
		{`| json | __error__ != ""`, `x`, `x {__error__="JSONParserErr"}`},
		{`| json | a > 5`, `x`, `-`},
		{`| json | addr = ip("10.0.0.0/8")`, `x`, `x {__error__="JSONParserErr"}`},
		{`| logfmt took | took > 1s | line_format ""`, logfmtLine, ` {took="1.5s"}`},
		{`| logfmt took | took <= 1499ms`, logfmtLine, `-`},
		{`| logfmt took | took > 1d`, `took=1w`, `took=1w {took="1w"}`},
		{`| logfmt took | took = 1h30m`, `took=90m`, `took=90m {took="90m"}`},
		{`| logfmt took | took > 1s`, `took=5`, `took=5 {__error__="LabelFilterErr", took="5"}`},
		{`| logfmt size | size = 20KB | line_format ""`, logfmtLine, ` {size="20KB"}`},
		{`| logfmt size | size > 20KiB`, logfmtLine, `-`},
		{`| logfmt size | size >= 2MiB`, `size="2,097.152 kb"`, `size="2,097.152 kb" {size="2,097.152 kb"}`},
		{`| logfmt size | size > 1B`, `size=x`, `size=x {__error__="LabelFilterErr", size="x"}`},
		{`| logfmt ip | ip = ip("10.0.0.0/8") | line_format ""`, logfmtLine, ` {ip="10.1.2.3"}`},
		{`| logfmt ip | ip != ip("10.0.0.0/8")`, logfmtLine, `-`},
		{`| logfmt ip | ip != ip("10.0.0.0/8")`, `ip=11.0.0.1`, `ip=11.0.0.1 {ip="11.0.0.1"}`},
		{`| logfmt ip | ip != ip("10.0.0.0/8")`, `x=11.0.0.1`, `-`},
		{`| level = "info" | service_name =~ "w.b" | source != "stderr"`, `x`, `x {}`},
		{`| level = "warn"`, `x`, `-`},
		{`| logfmt | n > -1.5e1 | n <= 1e3`, `n=+7`, `n=+7 {n="+7"}`},
		{`| logfmt | n > 123456789012345`, `n=123456789012346`, `n=123456789012346 {n="123456789012346"}`},
		{`| logfmt | n > 1234567890123456`, `n=1234567890123457`, `n=1234567890123457 {n="1234567890123457"}`},

		// Formatting.
		{`| json | line_format "{{.status}} {{.http_method}}{{.nowhere}} {{.service_name}}" | keep status`, jsonLine, `200 GET web stream{} metadata{} {status="200"}`},
		{`| line_format "{{__line__}}!" | line_format "{{__line__}}?"`, `x`, `x!? {}`},
		{`| line_format "{{.level.x}}"`, `x`, `x {__error__="TemplateFormatErr"}`},
		{`| line_format "{{ range $k, $v := . }}{{$k}}={{$v}} {{ end }}"`, `x`, `detected_level=info instance=i-1 level=info service_name=web source=stdout  {}`},
		{`| line_format "{{ $.level }} {{ with .level }}{{ . }}{{ end }}"`, `x`, `info info {}`},
		{`| label_format lvl=level`, `x`, `x stream{instance="i-1", service_name="web"} {lvl="info"}`},
		{`| label_format level="{{.level | ToUpper}}"`, `x`, `x stream{instance="i-1", service_name="web"} {level="INFO"}`},
		{`| label_format a=nowhere`, `x`, `x {}`},
		{`| label_format level="{{.nowhere}}"`, `x`, `x stream{instance="i-1", service_name="web"} {level=""}`},
		{`| label_format source="a", src=detected_level`, `x`, `x metadata{} {source="a", src="info"}`},
		{`| logfmt | label_format a="{{.b}}", b="{{.a}}"`, `a=1 b=2`, `a=1 b=2 {a="2", b="1"}`},
		{`| logfmt | label_format c=a, a="{{.c}}{{.a}}"`, `a=1 b=2`, `a=1 b=2 {a="1", b="2", c="1"}`},
		{`| logfmt | label_format a=b | label_format c=a`, `a=1 b=2`, `a=1 b=2 {c="2"}`},
		{`| logfmt | label_format a=a`, `a=1`, `a=1 {a="1"}`},
		{`| logfmt | label_format a="{{.a | b64dec}}", b="{{.a}}"`, `a=!`, `a=! {__error__="TemplateFormatErr", a="!", b="!"}`},
		{`| logfmt | label_format b="{{.a}}0" | b > 10`, `a=2`, `a=2 {a="2", b="20"}`},
		{`| logfmt --keep-empty | label_format b=a`, `a=`, `a= {b=""}`},
		{`| logfmt --keep-empty | label_format a="{{.b}}"`, `a=`, `a= {a=""}`},

		// drop, keep.
		{`| logfmt | drop a, level`, `a=1 b=2`, `a=1 b=2 stream{instance="i-1", service_name="web"} {b="2"}`},
		{`| logfmt | drop a="1", b="1", c=~"2|3", d!="1"`, `a=1 b=2 c=3 d=4`, `a=1 b=2 c=3 d=4 {b="2"}`},
		{`| drop source`, `x`, `x metadata{detected_level="info"} {}`},
		{`| json | drop __error__`, `x`, `x {}`},
		{`| json | drop __error__, __error_details__ | __error__ = ""`, `x`, `x {}`},
		{`| logfmt | keep a, level`, `a=1 b=2`, `a=1 b=2 stream{level="info"} metadata{} {a="1"}`},
		{`| logfmt | keep a="2", b=~"2|3", source!="stderr"`, `a=1 b=2`, `a=1 b=2 stream{} metadata{source="stdout"} {b="2"}`},
		{`| logfmt | keep nowhere | logfmt`, `a=1 level=2`, `a=1 level=2 stream{} metadata{} {a="1", level_extracted="2"}`},
		{`| logfmt | drop a | logfmt`, `a=1`, `a=1 {a="1"}`},
	}
}

const jsonResult = jsonLine + ` {_9lives="1", _n_="ß", empty="", http_deep_x="true", http_method="GET", http_status="5e2", level_extracted="warn", msg="a \"b\"", service_name_extracted="x", status="200"}`

func TestStages(t *testing.T) {
	for _, c := range stageCases() {
		p := compile(t, c.stages, nil).Processor()
		stream := webStream()
		for range 3 { // what a processor remembers does not change results
			if got := result(p, c.line, stream); got != c.want {
				t.Errorf("%s\nof %s\nis %s\nnot %s", c.stages, c.line, got, c.want)
			}
			p.Process(at, nil, []byte(`{"b":1,"x":{"y":2}} c=d`), &pipeline.Stream{})
		}
	}
}

func TestErrorDetails(t *testing.T) {
	for _, c := range []stageCase{
		{`| json`, `x`, `not a JSON object`},
		{`| json`, strings.Repeat(`{"a":`, 65) + `1` + strings.Repeat(`}`, 65), `64 deep`},
		{`| json`, "{" + manyMembers(1001) + "}", `1000 labels`},
		{`| logfmt --strict`, `a=1 u=/x?y=z b=2`, `malformed logfmt pair: u=/x?y=z`},
		{`| logfmt`, strings.NewReplacer(`"`, "", ":", "=", ",", " ").Replace(manyMembers(1001)), `1000 labels`},
		{`| json | pattern "{<a>"`, "{" + manyMembers(1000) + "}", `1000 labels`},
		{`| json | regexp "(?P<a>.)"`, "{" + manyMembers(1000) + "}", `1000 labels`},
		{`| logfmt | a > 1`, `a=x`, `a: "x" is not a number`},
		{`| logfmt | a > 1s`, `a=x`, `a: "x" is not a duration`},
		{`| logfmt | a > 1KB`, `a=x`, `a: "x" is not a size`},
		{`| line_format "{{div 1 0}}"`, `x`, `division by zero`},
	} {
		p := compile(t, c.stages, nil).Processor()
		if !p.Process(at, nil, []byte(c.line), webStream()) {
			t.Errorf("%s of %.50s is not kept", c.stages, c.line)
		}
		if got := p.Get("__error_details__"); p.Get("__error__") == "" || !strings.Contains(got, c.want) {
			t.Errorf("%s of %.50s: __error_details__ is %q, not %q", c.stages, c.line, got, c.want)
		}
	}
}

func TestNestingOf64(t *testing.T) {
	p := compile(t, `| json`, nil).Processor()
	p.Process(at, nil, []byte(strings.Repeat(`{"a":`, 64)+`1`+strings.Repeat(`}`, 64)), webStream())
	if name := strings.Repeat("a_", 63) + "a"; p.Get(name) != "1" {
		t.Error("64 levels of objects are not flattened:", p.Get("__error_details__"))
	}
}

func TestCompileErrors(t *testing.T) {
	for stages, want := range map[string]string{
		`|= ip("x")`:                                                `ip("x")`,
		`| a = ip("10.0.0.9-10.0.0.1")`:                             `ip("10.0.0.9-10.0.0.1")`,
		`| a = "x" or b != ip("10.0.0.0/33")`:                       `ip("10.0.0.0/33")`,
		`| line_format "{{.a"`:                                      `line_format`,
		`| line_format "{{nothing .a}}"`:                            `nothing`,
		`| label_format a="{{"`:                                     `label a`,
		"| line_format `{{define \"x\"}}`":                          `unexpected EOF`,
		"| line_format `{{__loop__}}`":                              `function "__loop__" not defined`,
		"| line_format `{{if .a}}{{print __return__}}{{end}}`":      `function "__return__" not defined`,
		"| line_format `{{define \"x\"}}{{__call__ | len}}{{end}}`": `function "__call__" not defined`,
		"| label_format __error_details__=`x`":                      `__error_details__`,
	} {
		parsed, unwrap := parse(t, stages)
		if _, err := pipeline.Compile(parsed, unwrap, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v, not %s", stages, err, want)
		}
	}
}
