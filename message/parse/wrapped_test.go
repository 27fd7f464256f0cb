package parse_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"logstow/message/parse"
)

// The fields of a line that a JSON message wraps are found; the message's own are behind message.
func TestWrapped(t *testing.T) {
	t.Parallel()
	access := `10.0.0.7 - ann [20/Nov/2026:15:04:05 +0000] "GET /a?b HTTP/1.1" 500 12 "-" "curl \"8\""`
	quoted := func(s string) string {
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for _, c := range []struct{ message, name, want string }{
		{`{"log":` + quoted(`{"status":500,"user":{"name":"é\"ann"}}`+"\n") + `,"status":1,"pod":"x"}`, "status", "500"},
		{`{"log":` + quoted(`{"status":500,"user":{"name":"é\"ann"}}`) + `}`, "user.name", `é"ann`},
		{`{"log":` + quoted(`{"status":500}`) + `,"status":1,"pod":"x"}`, "message.status", "1"},
		{`{"log":` + quoted(`{"status":500}`) + `,"pod":"x"}`, "message.status", "500"},
		{`{"log":` + quoted(`{"level":"high"}`) + `}`, "message.message.level", "high"},
		{`{"log":` + quoted(`{"status":500}`) + `,"status":1,"pod":"x"}`, "pod", "x"},
		{`{"log":` + quoted(`{"status":500}`) + `}`, "log", `{"status":500}`},
		{`{"log":` + quoted(`{"status":null}`) + `,"status":1}`, "status", "null"},
		{`{"k":{"log":"x"},"a":[1],"message":` + quoted(access) + `,"status":1}`, "status", "500"},
		{`{"message":` + quoted(access) + `}`, "path", "/a"},
		{`{"message":` + quoted(access) + `}`, "user_agent", `curl "8"`},
		{`{"message":` + quoted(access+"\n") + `}`, "ip", "10.0.0.7"},
		{`{"message":` + quoted(access) + `,"user":"eve"}`, "message.user", "eve"},
		{`{"body":` + quoted(`level=info user="a b" n=5`) + `,"n":6}`, "n", "5"},
		{`{"body":` + quoted(`level=info user="a b" n=5`) + `,"n":6}`, "user", "a b"},
		{`{"log":` + quoted("I1120 15:04:05.123456   7 main.go:5] \"done\" pod=\"x\"") + `}`, "pod", "x"},
		{`{"log":` + quoted("I1120 15:04:05.123456   7 main.go:5] \"done\" pod=\"x\"") + `}`, "line", "5"},
		{`{"log":"\u007b\u0022a\u0022:1}"}`, "a", "1"},
		{`{"log":"status=\"a b\" n=1","status":1}`, "status", "a b"},
		{`{"log":"status=500\n","status":1}`, "status", "500"},
		{`{"log":"msg=\"` + strings.Repeat("text ", 200) + `\" status=500","status":1}`, "status", "500"},
		{`{"log":"a=1 ` + strings.Repeat("b", 600) + `=2 status=500","status":1}`, "status", "500"},
		// What is no line stays a text.
		{`{"status":200,"message":"status=ok so far"}`, "status", "200"},
		{`{"status":200,"message":"status=\"a b\" so n=1"}`, "status", "200"},
		{`{"x":1,"body":"n=5","n":6}`, "n", "6"},
		{`{"status":200,"message":"upstream replied status=500"}`, "status", "200"},
		{`{"status":200,"message":"[warn] x"}`, "status", "200"},
		{`{"status":200,"log":"","message":"status=500"}`, "status", "500"},
		{`{"status":200,"log":"text","message":"status=500"}`, "status", "200"},
		{`{"status":200,"log":{"status":5}}`, "log.status", "5"},
		{`{"status":200,"log":5,"message":"status=500"}`, "status", "500"},
		{`{"status":200,"logs":"status=500"}`, "status", "200"},
		{`{"status":200,"a":{"log":"status=500"}}`, "status", "200"},
		{`{"status":200,"a":"\"log\":\"status=500\""}`, "status", "200"},
		{`{"status":200,"message":{"status":5}}`, "message.status", "5"},
		{`{"status":200}`, "message.status", "200"},
		{`status=200`, "message.message.status", "200"},
		{`x {"log":"status=500","status":200}`, "status", "200"},
		{`{"status":200,"log":"status=500`, "status", "200"},
		{access, "message.status", "500"},
	} {
		s := parse.Auto().Splitter("none", c.name)
		s.Split(nil, []byte(`{"log":"status=1 ip=2 pod=3 user=4 n=5"}`))
		s.Value(1)
		s.Split(nil, []byte(c.message))
		if got := string(s.Value(1).Text); got != c.want {
			t.Errorf("%s of %s: %s, want %s", c.name, c.message, got, c.want)
		}
		if v := s.Value(0); v.Text != nil {
			t.Errorf("none of %s: %s", c.message, v.Text)
		}
		checkSplitter(t, parse.Auto(), []byte(c.message))
	}
	var names []string
	s := parse.Auto().Splitter()
	s.Split(nil, []byte(`{"log":"{\"a\":1,\"b\":2}","b":3}`))
	for name, v := range s.All() {
		names = append(names, name+" "+string(v.Text))
	}
	if got, want := fmt.Sprintf("%q", names), `["a 1" "b 2" "log {\"a\":1,\"b\":2}" "b 3"]`; got != want {
		t.Errorf("all fields: %s, want %s", got, want)
	}
	for range s.All() {
		break // the rest is not yielded
	}
}

// The prefix message. is for captures, too.
func TestOwnCaptures(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`pattern '<level> <message.x> <y>'`, `regexp '(?P<level>\S+) \S+ (?P<y>\S+)'`} {
		p, err := parse.Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		s := p.Splitter("message.level", "message.message.y", "message.none")
		s.Split(nil, []byte("a b c"))
		if got := fmt.Sprintf("%s %s %s", s.Value(0).Text, s.Value(1).Text, s.Value(2).Text); got != "a c " {
			t.Errorf("%s: %s", text, got)
		}
		if p.NameInMessage("message.level") || !p.NameInMessage("message.none") {
			t.Errorf("%s: the names of captures are in no message", text)
		}
	}
	if p := parse.Auto(); p.NameInMessage("message.status") || !p.NameInMessage("message.took") || p.TextInMessage("message.user_agent", "a b#") != p.TextInMessage("user_agent", "a b#") {
		t.Error("what messages contain depends on the prefix")
	}
}
