package pipeline_test

import (
	"testing"

	fields "logstow/message/parse"
)

const accessLine = `192.0.2.7 - - [20/Nov/2026:15:04:05 +0000] "GET /cart?id=7 HTTP/1.1" 503 17`

// Fields of text are labels of the lowest precedence, which any stage may read.
func TestTextFields(t *testing.T) {
	t.Parallel()
	auto, none := fields.Auto(), ""
	pattern, err := fields.Compile("pattern '<level> <service> <source> <a.b> <x>'")
	if err != nil {
		t.Fatal(err)
	}
	line := "warn shop file 7 \xff"
	all := func() []string { return []string{""} }
	for _, c := range []struct {
		parser             *fields.Parser
		stages, line, want string
		found              string
		read               []string // "" is all
	}{
		{auto, ``, accessLine, `{}`, `{bytes="17", ip="192.0.2.7", method="GET", path="/cart", protocol="HTTP/1.1", query="id=7", status="503", time="20/Nov/2026:15:04:05 +0000"}`, all()},
		{auto, `| status >= 500 | status < 600`, accessLine, `{}`, `{status="503"}`, []string{"status"}},
		{auto, `| status = 200`, accessLine, "-", none, all()},
		{auto, ``, accessLine, `{}`, `{}`, nil},
		{nil, `| status = 503`, accessLine, "-", none, all()},
		{auto, `| status=""`, `{"status":7}`, `{}`, `{}`, all()},
		{auto, `| drop path, query, protocol, time, ip, method | label_format size=bytes`, accessLine, `{size="17"}`, `{status="503"}`, all()},
		{auto, `| status != "" | regexp "(?P<status>nothing)(?P<path>x)" | status=""`, accessLine, `{}`, `{}`, []string{"status", "path"}},
		{auto, `| keep path`, accessLine, `{}`, `{path="/cart"}`, all()},
		{auto, `| regexp "(?P<path>/cart[^ ]*)" | keep path`, accessLine, `{path="/cart?id=7"}`, `{}`, all()},
		{auto, `| regexp "(?P<path>nothing)" | keep path`, accessLine, `{}`, `{}`, all()},
		{auto, `| logfmt | keep pod, severity`, `E1120 15:04:05.123456 7 pods.go:7] "Pod" pod=dns`, `{pod="dns"}`, `{severity="E"}`, all()},
		{pattern, ``, line, `{}`, `{a_b="7", level_extracted="warn", service_extracted="shop", source_extracted="file", x="�"}`, all()},
		{pattern, `| regexp "(?P<level>[a-z]+)"`, line, `{level_extracted="warn"}`, `{a_b="7", service_extracted="shop", source_extracted="file", x="�"}`, all()},
	} {
		stream := webStream()
		stream.Parser = c.parser
		p := compile(t, c.stages, nil).Processor()
		switch {
		case c.read == nil:
		case c.read[0] == "":
			p.ReadFields()
		default:
			p.ReadFields(c.read...)
		}
		for range 2 { // values are those of the record, not of the one before
			if kept := p.Process(at, nil, []byte(c.line), stream); kept != (c.want != "-") {
				t.Errorf("%s: kept %v", c.stages, kept)
			}
			if _, _, parsed := p.Labels(); c.want != "-" && parsed.String() != c.want {
				t.Errorf("%s: parsed %s, want %s", c.stages, parsed, c.want)
			}
			if found := p.Fields().String(); c.want != "-" && found != c.found {
				t.Errorf("%s: fields %s, want %s", c.stages, found, c.found)
			}
		}
	}
}
