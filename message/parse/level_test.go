package parse_test

import (
	"strings"
	"testing"

	"logstow/internal/ansi"
	"logstow/message/parse"
	"logstow/record"
)

func TestLevel(t *testing.T) {
	t.Parallel()
	const access = `192.0.2.7 - - [20/Nov/2026:15:04:05 +0000] "GET /500 HTTP/1.1" STATUS 99`
	gelf := func(level string) string {
		return `{"version":"1.1","host":"a","level":` + level + `,"short_message":"x"}`
	}
	for _, c := range []struct {
		parser, message string
		want            record.Level
	}{
		{"auto", strings.Replace(access, "STATUS", "101", 1), record.Info},
		{"auto", strings.Replace(access, "STATUS", "200", 1), record.Info},
		{"auto", strings.Replace(access, "STATUS", "399", 1), record.Info},
		{"auto", strings.Replace(access, "STATUS", "400", 1), record.Warn},
		{"auto", strings.Replace(access, "STATUS", "499", 1), record.Warn},
		{"auto", strings.Replace(access, "STATUS", "500", 1), record.Error},
		{"auto", strings.Replace(access, "STATUS", "599", 1), record.Error},
		{"auto", strings.Replace(access, "STATUS", "600", 1), record.None},
		{"auto", strings.Replace(access, "STATUS", "000", 1), record.None},
		{"auto", strings.Replace(access, "STATUS", "5000", 1), record.None},
		{"auto", strings.Replace(access, "STATUS", "-", 1), record.None},
		{"none", strings.Replace(access, "STATUS", "500", 1), record.None},
		{"auto", samples()["ingress"], record.Error},
		{"auto", samples()["envoy"], record.Info},
		{"auto", samples()["haproxy"], record.Info},
		{"auto", strings.Replace(samples()["haproxy"], " 200 ", " 404 ", 1), record.Warn},
		{"auto", strings.Replace(samples()["haproxy"], " 200 ", " -1 ", 1), record.None},
		{"auto", strings.Replace(samples()["alb"], " 200 ", " 503 ", 1), record.Error},
		{"auto", strings.Replace(samples()["envoy"], " 204 ", " 0 ", 1), record.None},
		{"auto", samples()["klog"], record.Info},
		{"auto", "W" + samples()["klog"][1:], record.Warn},
		{"auto", "E" + samples()["klog"][1:], record.Error},
		{"auto", "F" + samples()["klog"][1:], record.Fatal},
		{"auto", samples()["text"], record.None},
		{"auto", `level=warn status=500`, record.None},
		{"auto", gelf("0"), record.Fatal},
		{"auto", gelf("2"), record.Fatal},
		{"auto", gelf("3"), record.Error},
		{"auto", gelf("4"), record.Warn},
		{"auto", gelf("6"), record.Info},
		{"auto", gelf("7"), record.Debug},
		{"auto", gelf("8"), record.None},
		{"auto", gelf(`"3"`), record.None},
		{"auto", `{"level":3,"host":"a","version":"1.1"}`, record.None},
		{"auto", `{"level":3,"a":{"host":"a","version":"1.1","short_message":"x"}}`, record.None},
		{"auto", `{"level":10,"msg":"x"}`, record.Trace},
		{"auto", `{"level":20,"msg":"x"}`, record.Debug},
		{"auto", `{"msg":"x","level":30}`, record.Info},
		{"auto", `{"level":40,"msg":"x"}`, record.Warn},
		{"auto", `{"level":50,"level":10}`, record.Error},
		{"auto", `{"level":60,"msg":"x"}`, record.Fatal},
		{"auto", `{"level":70}`, record.None},
		{"auto", `{"level":300}`, record.None},
		{"auto", `{"level":-1}`, record.None},
		{"auto", `{"status":500}`, record.None},
		{"auto", `{"level"`, record.None},
		{"auto", ``, record.None},
		{`pattern '<_> <status> <x>'`, "a 404 b", record.Warn},
		{`pattern '<level>: <_>'`, "error: 404", record.Error},
		{`pattern '<level>: <status>'`, "what: 503", record.Error},
		{`pattern '<level>: <status>'`, "info: 503", record.Info},
		{`pattern '<a>: <b>'`, "error: 503", record.None},
		{`regexp 'code=(?P<status>\d+)'`, "x code=404", record.Warn},
		{`regexp 'code=(?P<status>\d+)'`, "x", record.None},
	} {
		p, err := parse.Compile(c.parser)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := p.Leveler().Level([]byte(c.message)); got != c.want || ok != (c.want != record.None) {
			t.Errorf("%s: level of %s is %s, %t; want %s", c.parser, c.message, got, ok, c.want)
		}
	}
}

func TestW3C(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, file, want string }{
		{
			"IIS",
			"#Software: Microsoft Internet Information Services 10.0\n" +
				"#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) cs(Referer) sc-status sc-substatus sc-win32-status time-taken\n" +
				"2026-11-20 15:04:05 192.0.2.1 GET /cart id=7 443 - 2001:db8::7 Mozilla/5.0+(X11) https://shop.example/ 500 19 13 1834\r",
			"date=2026-11-20|time=15:04:05|s_ip=192.0.2.1|method=GET|path=/cart|query=id=7|s_port=443|ip=2001:db8::7|user_agent=Mozilla/5.0+(X11)|referer=https://shop.example/|status=500|sc_substatus=19|sc_win32_status=13|duration=1834",
		},
		{"no directive", "2026-11-20 15:04:05 GET", ""},
		{"other fields later", "#Fields: time c-ip\n#Fields: cs-version sc-bytes cs(Cookie) X-Forwarded-For cs-username\nHTTP/1.1 12 a=b 10.0.0.1 ann", "protocol=HTTP/1.1|bytes=12|cs_cookie=a=b|x_forwarded_for=10.0.0.1|user=ann"},
		{"fewer columns, tabs", "#Fields: time c-ip sc-status\n15:04:05\t10.0.0.1", "time=15:04:05|ip=10.0.0.1"},
		{"more columns", "#Fields: time\n15:04:05 10.0.0.1", "time=15:04:05"},
		{"cut", "#Fields: time c-ip sc-status\n15:04:05 10.0 …[logstow: cut 9 bytes]", "time=15:04:05"},
		{"a cut directive", "#Fields: time c-ip\n#Fields: time sc-st …[logstow: cut 9 bytes]\n1 2", "time=1|ip=2"},
		{"a directive without columns", "#Fields: time c-ip\n#Fields: \n1 2", "time=1|ip=2"},
		{"other text", "#Fields: time c-ip\n #Fields: a b\n1 2", "time=1|ip=2"},
		{"CR LF", "#Fields: time c-ip\r\n1 -\r", "time=1"},
		{"control characters", "#Fields: time\n#Fields: a \u0081\n1 2", "time=1"},
		{"quotes", "#Fields: ' a'\n1 2", "'=1|a'=2"},
		{"too long", "#Fields: time\n#Fields: " + strings.Repeat("column ", 150) + "\n1 2", "time=1"},
		{"empty", "#Fields: time c-ip sc-status\n", ""},
		{"a comment", "#Fields: time c-ip sc-status\n#Remark: a b c", ""},
	} {
		p, err := parse.Compile("none")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		lines := strings.Split(c.file, "\n")
		for i, line := range lines {
			if w3c, ok := parse.Header("", []byte(line), false); ok {
				p = w3c
			}
			if i < len(lines)-1 {
				continue
			}
			stored, err := parse.CompileStored(p.Stored())
			if err != nil {
				t.Fatal(err)
			}
			s := stored.Splitter()
			s.Split(nil, []byte(line))
			for name, v := range s.All() {
				got = append(got, name+"="+string(v.Text))
			}
		}
		if strings.Join(got, "|") != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func FuzzW3C(f *testing.F) {
	f.Add("#Fields: date cs(User-Agent) x-", "2026-11-20 a+b\t-")
	f.Add("#Fields: ' '", "#1 2")
	f.Add("#Fields: a \u0081", "1 2")
	f.Fuzz(func(t *testing.T, directive, line string) {
		p, ok := parse.Header("", []byte(directive), false)
		if !ok {
			return
		}
		checkStored(t, p)
		checkSplitter(t, p, []byte(line))
		rest := string(ansi.Strip(nil, []byte(line)))
		for _, v := range fieldsInOrder(p, line) {
			at := strings.Index(rest, v)
			if at < 0 || len(v) == 0 || v == "-" || strings.ContainsAny(v, "\t\n") || strings.Contains(v, " ") && !strings.Contains(line, "\t") {
				t.Fatalf("%q of %q", v, line)
			}
			rest = rest[at+len(v):]
		}
	})
}

func fieldsInOrder(p *parse.Parser, line string) (texts []string) {
	s := p.Splitter()
	s.Split(nil, []byte(line))
	for _, v := range s.All() {
		texts = append(texts, string(v.Text))
	}
	return texts
}
