package where_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/field/where"
	"logstow/message/parse"
	"logstow/record"
)

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// A name is an attribute if there is one; attribute("NAME") and attribute.NAME are nothing else, message.NAME is never one.
func TestAttributes(t *testing.T) {
	t.Parallel()
	r := where.Record{
		Level: record.Warn, Attributes: []byte(`{"http.route":"/cart","level":"own","n":1,"resource":{"k8s.pod.name":"p","n":2}}`),
		Message: []byte(`n=3 m=4`),
	}
	for expr, want := range map[string]bool{
		`n == 1`: true, `message.n == 3`: true, `attribute.n == 1`: true, `attribute("n") == 1`: true, `attribute("n") == 3`: false,
		`m == 4`: true, `has(attribute.m)`: false, `has(attribute("m"))`: false, `k8s.pod.name == "p"`: true, `attribute("k8s.pod.name") == "p"`: true,
		`http.route startsWith "/"`: true, `level == "warn"`: true, `field("level") == "own"`: true, `attribute.level == "own"`: true, `attribute("level") == "own"`: true,
		`has(message.level)`: false, `resource.k8s.pod.name == "p"`: true, `let attribute = 5; attribute("n") == 1 and attribute == 5`: true,
	} {
		p, err := where.Compile(expr, now)
		if err != nil {
			t.Errorf("%s: %v", expr, err)
		} else if got := p.Evaluator().Holds(&r); got != want {
			t.Errorf("%s: %t", expr, got)
		}
	}
}

// field("NAME") and message.NAME are fields of the message, also by the names of columns.
func TestColumnsAndFields(t *testing.T) {
	t.Parallel()
	r := where.Record{
		Time: now.UnixNano(), Level: record.Warn, Service: "api", Source: []byte("app.log"), Instance: "pod-3",
		Message: []byte(`{"time":"later","level":"info","service":{"name":"inner"},"source":7,"instance":{"id":9},"log":"{\"level\":\"loud\"}"}`),
	}
	for expr, want := range map[string]bool{
		`level == "warn"`: true, `field("level") == "loud"`: true, `message.level == "info"`: true, `field("level") == "warn"`: false,
		`time == "2026-11-20T12:00:00Z"`: true, `field("time") == "later"`: true, `message.time startsWith "lat"`: true,
		`service == "api"`: true, `service.name == "inner"`: true, `field("service.name") == "inner"`: true, `field("service")["name"] == "inner"`: true,
		`source == "app.log"`: true, `field("source") == 7`: true, `message.source > 6`: true, `$env["source"] == "app.log"`: true,
		`instance == "pod-3"`: true, `instance in ["pod-1", "pod-2"]`: false, `instance contains "3"`: true, `instance matches "^pod-.$"`: true,
		`instance < "pod-4" and not (instance != "pod-3")`: true, `has(instance)`: true, `instance.id == 9`: true, `message.instance.id == 9`: true,
		`field("instance.id") == 9`: true, `has(field("instance"))`: true, `let instance = 5; instance == 5`: true, `instance == nil`: false,
		`has(field("instances"))`: false, `level in ["warn"]`: true, `field("level") in ["loud"]`: true, `"loud" == field("level")`: true,
		`lower(level) == "warn"`: true, `lower(field("level")) == "loud"`: true, `let level = 5; level == 5`: true, `field("level") > "warn"`: false,
	} {
		p, err := where.Compile(expr, now)
		if err != nil {
			t.Errorf("%s: %v", expr, err)
		} else if got := p.Evaluator().Holds(&r); got != want {
			t.Errorf("%s: %t", expr, got)
		}
	}
	p, err := where.Compile(`level == "warn" and field("level") == "loud" and has(time)`, now)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Fields(); !slices.Equal(got, []string{"level"}) || len(p.Uses()) != 1 || !slices.Contains(p.Required(parse.Auto()), "loud") {
		t.Errorf("%q, %v, %q", got, p.Uses(), p.Required(parse.Auto()))
	}
}

func TestHolds(t *testing.T) {
	t.Parallel()
	json := where.Record{
		Time: now.UnixNano(), Level: record.Warn, Service: "api", Source: []byte("app.log"), Instance: "pod-3",
		Message: []byte(`{"status":500,"ms":12.5,"user":"ann","http":{"path":"/a/b"},"ok":true,"tags":["x","y"],"none":null,"big":9007199254740993,"id":"12"}`),
	}
	logfmt := where.Record{Level: record.None, Service: "api", Source: []byte("-"), Message: []byte(`status=500 user=ann id=12 msg="all good"`)}
	plain := where.Record{Level: record.Error, Message: []byte("plain text")}
	for _, c := range []struct {
		expr                string
		json, logfmt, plain bool
	}{
		{`status >= 500`, true, true, false},
		{`status < 500`, false, false, false},
		{`500 <= status`, true, true, false},
		{`status == 500.0`, true, true, false},
		{`status != 200`, true, true, false},
		{`status == "500"`, false, true, false},
		{`id == 12`, false, true, false},
		{`id == "12"`, true, true, false},
		{`ms > 12 and ms < 13`, true, false, false},
		{`ms == -12.5`, false, false, false},
		{`user == "ann"`, true, true, false},
		{`"ann" == user`, true, true, false},
		{`user in ["bob", "ann"]`, true, true, false},
		{`user not in ["bob", "ann"]`, false, false, false},
		{`user not in ["bob", "eve"]`, true, true, false},
		{`status in [200, 500]`, true, true, false},
		{`http.path startsWith "/a"`, true, false, false},
		{`http.path endsWith "b" && http.path contains "a/"`, true, false, false},
		{`http.path matches "^/[a-z]/b$"`, true, false, false},
		{`ok`, true, false, false},
		{`not ok`, false, false, false},
		{`ok == true`, true, false, false},
		{`none == nil`, true, false, false},
		{`none != nil`, false, false, false},
		{`user != nil`, true, true, false},
		{`missing > 1 or level == "error"`, false, false, true},
		{`not (missing > 1)`, false, false, false},
		{`big == 9007199254740993`, true, false, false},
		{`big == 9007199254740992`, false, false, false},
		{`level >= "warning"`, true, false, true},
		{`level == "-"`, false, true, false},
		{`level in ["critical", "err"]`, false, false, true},
		{`time >= "2026-11-20T12:00:00Z"`, true, false, false},
		{`service == "api" and source == "app.log"`, true, false, false},
		{`field("http.path") == "/a/b"`, true, false, false},
		{`$env["user"] == "ann"`, true, true, false},
		{`message contains "good"`, false, true, false},
		{`message == "plain text"`, false, false, true},
		{`msg == "all good"`, false, true, false},
		{`id == user`, false, false, false},
		{`status == status`, true, true, false},
		{`true`, true, true, true},
		// Values that are computed.
		{`len(user) == 3`, true, true, false},
		{`status / 100 == 5`, true, true, false},
		{`(ms + status) ** 2 == 262656.25 and 2 ** 0.5 < 1.5`, true, false, false},
		{`status + 1 == 501 and user == "ann"`, true, true, false},
		{`upper(http.path) == "/A/B"`, true, false, false},
		{`"x" in tags`, true, false, false},
		{`any(tags, # == "y")`, true, false, false},
		{`let s = status; s % 2 == 0 && s > 400`, true, true, false},
		{`(user ?? "nobody") == "nobody"`, false, false, true},
		{`status > 400 ? user == "ann" : false`, true, true, false},
		{`http?.path == "/a/b"`, true, false, false},
		{`len(field("http.path")) == 4`, true, false, false},
		{`(ok == true) == true`, true, false, false},
		{`tags[0] == "x" and tags[-1] == "y" and tags[2] == nil`, false, false, false},
		{`tags[0] == "x" and tags[-1] == "y" and not has(tags[2])`, true, false, false},
		{`len(tags[1:]) == 1 and user[:-1] == "an"`, true, false, false},
		{`count(tags, # > "x") == 1 and first(filter(tags, # > "x")) == "y"`, true, false, false},
		{`join(map(tags, upper(#)), "-") == "X-Y"`, true, false, false},
		{`status in 500..599`, true, true, false},
		{`400 < status <= 500`, true, true, false},
		{`int(id) == 12 and type(id) == "string"`, true, false, false},
		{`int(id) == 12`, true, true, false},
		{`big + 1 == 9007199254740994 and big % 2 == 1`, true, false, false},
		{`big in [9007199254740992, 9007199254740994]`, false, false, false},
		{`user | upper() | hasPrefix("AN")`, true, true, false},
		{`let u = user; let n = len(u); u == "ann" and n == 3`, true, true, false},
		{`if status == 500 { user == "ann" } else { true }`, true, true, false},
		{`max(status, ms, 501) == 501 and min([3, 1, 2]) == 1`, true, false, false},
	} {
		p, err := where.Compile(c.expr, now)
		if err != nil {
			t.Errorf("%s: %v", c.expr, err)
			continue
		}
		e := p.Evaluator()
		for range 2 {
			if got := [3]bool{e.Holds(&json), e.Holds(&logfmt), e.Holds(&plain)}; got != [3]bool{c.json, c.logfmt, c.plain} {
				t.Errorf("%s: JSON, logfmt, plain: %v", c.expr, got)
			}
		}
	}
}

func TestRequired(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string][]string{
		`code >= 500`:                              {"code"},
		`code != 500`:                              {"code"},
		`code == nil`:                              {"code"},
		`status >= 500`:                            nil, // a column of access logs
		`user == "ann" and a == "é"`:               {"ann", "a", "é"},
		`user == "a'b" and user == "é"`:            nil, // may be escaped
		`message == "é'"`:                          {"é'"},
		`(status ?? 1) == 500`:                     nil,
		`has(a.b)`:                                 {"b"},
		`not has(a.b)`:                             nil,
		`not (a == "x" and b == "y")`:              nil,
		`a not contains "x" and a not in [1]`:      {"a", "a"},
		`a.b == "x y" and c in [1]`:                {"b", "x y", "c"},
		`a == "x" or b == "y"`:                     nil,
		`not (a == "x")`:                           {"a"},
		`a contains "t" && b startsWith "s" && !c`: {"a", "t", "b", "s"},
		`a == "q\"" and b == "p/q"`:                {"a", "b"},
		`level == "error" and source == "x"`:       nil,
		`message == "x"`:                           {"x"},
		`"v" == a and len(b) > 1`:                  {"a", "v"},
		`a == b`:                                   {"a", "b"},
		`let a = 1; a == b`:                        nil,
		`a == -1`:                                  {"a"},
	} {
		p, err := where.Compile(expr, now)
		if err != nil {
			t.Errorf("%s: %v", expr, err)
			continue
		}
		if !slices.Equal(p.Required(parse.Auto()), want) {
			t.Errorf("%s: %q, want %q", expr, p.Required(parse.Auto()), want)
		}
	}
}

// With captures neither names nor the ends of values are in the message as such.
func TestRequiredByParser(t *testing.T) {
	t.Parallel()
	for parser, want := range map[string]string{
		"auto":                  `["code" "a'b" "k"] [[{a'b true}]]`,
		"none":                  `["code" "a'b" "k"] [[{a'b true}]]`,
		"pattern <code>-<k.k>;": `["a'b"] [[{a'b false}]]`,
		"regexp (?P<code>.)":    `["a'b" "k"] [[{a'b false}]]`,
	} {
		p, err := where.Compile(`code == "a'b" and k.k > 1`, now)
		if err != nil {
			t.Fatal(err)
		}
		fields, err := parse.Compile(parser)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%q %v", p.Required(fields), p.Groups(fields)); got != want {
			t.Errorf("%s: %s, want %s", parser, got, want)
		}
	}
}

func TestGroups(t *testing.T) {
	t.Parallel()
	whole := func(texts ...string) (group []where.Text) {
		for _, text := range texts {
			group = append(group, where.Text{Value: text, Whole: true})
		}
		return group
	}
	part := func(text string) []where.Text { return []where.Text{{Value: text}} }
	many := func(n int) string { return strings.TrimSuffix(strings.Repeat(`"x", `, n), ", ") }
	for expr, want := range map[string][][]where.Text{
		`a == "x"`:                                         {whole("x")},
		`"x" == a and b contains "y"`:                      {whole("x"), part("y")},
		`a == "x" or b.c == "y"`:                           {whole("x", "y")},
		`a == "x" or b == "y" or c == "z"`:                 {whole("x", "y", "z")},
		`a in ["x", "y"]`:                                  {whole("x", "y")},
		`a in ["x"] || a startsWith "y"`:                   {append(whole("x"), part("y")...)},
		`(a == "x" and b == "y") or c == "z"`:              {whole("x", "z"), whole("y", "z")},
		`a == "x" and (b == "y" or c == "z")`:              {whole("x"), whole("y", "z")},
		`a == "x" or b == 1`:                               nil,
		`a == "x" or level == "error"`:                     nil,
		`a == "x" or not (b == "y")`:                       nil,
		`a not in ["x"]`:                                   nil,
		`a in ["x", "q\"", "y"]`:                           nil,
		`a in ["x", 1]`:                                    nil,
		`a in []`:                                          nil,
		`"x" in a`:                                         nil,
		`"x" contains a`:                                   nil,
		`source in ["x"] or source == "y"`:                 nil,
		`a != "x"`:                                         nil,
		`a in [` + many(17) + `]`:                          nil,
		`a in [` + many(9) + `] or b in [` + many(9) + `]`: nil,
	} {
		p, err := where.Compile(expr, now)
		if err != nil {
			t.Errorf("%s: %v", expr, err)
			continue
		}
		if diff := cmp.Diff(want, p.Groups(parse.Auto())); diff != "" {
			t.Errorf("%s: %s", expr, diff)
		}
	}
}

// Whatever is required of a record that matches is in it.
func FuzzRequired(f *testing.F) {
	f.Add(`status >= 500 and user == "ann"`, []byte(`{"status":500,"user":"ann"}`))
	f.Add(`a contains "x" and b.c == 1`, []byte(`{"a":"xx","b":{"c":1}}`))
	f.Add(`message == "x"`, []byte(`x`))
	f.Add(`user == "ann" and path contains "a"`, []byte(`192.0.2.7 - ann [20/Nov/2026:15:04:05 +0000] "GET /a\x22\x61 HTTP/1.1" 200 99 "-" "x"`))
	f.Add(`query endsWith "#b"`, []byte(`10.0.1.2:33317 [20/Nov/2026:15:04:05.655] in s/1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 "GET /i?a=#23b HTTP/1.1"`))
	f.Add(`a in ["x", "y"] or b.c startsWith "z"`, []byte(`{"a":"x"}`))
	f.Add(`a == "x" || b == "y" && c contains "z"`, []byte(`a=q b=y c=zz`))
	f.Fuzz(func(t *testing.T, expr string, message []byte) {
		p, err := where.Compile(expr, now)
		if err != nil {
			return
		}
		if strings.Contains(string(message), `\u`) || !p.Evaluator().Holds(&where.Record{Message: message}) {
			return
		}
		for _, text := range p.Required(parse.Auto()) {
			if !strings.Contains(string(message), text) {
				t.Errorf("%s holds for %q, which lacks %q", expr, message, text)
			}
		}
		for _, group := range p.Groups(parse.Auto()) {
			if !slices.ContainsFunc(group, func(t where.Text) bool { return strings.Contains(string(message), t.Value) }) {
				t.Errorf("%s holds for %q, which lacks all of %+v", expr, message, group)
			}
		}
	})
}

func BenchmarkHolds(b *testing.B) {
	r := where.Record{Message: []byte(`{"time":"2026-11-20T15:04:05.123Z","level":"info","logger":"api.orders","msg":"request done","method":"GET","path":"/v1/orders/1234567","status":200,"duration_ms":12.5,"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736"}`)}
	for _, expr := range []string{`status >= 500`, `status >= 500 and method == "GET"`, `len(method) > 7`} {
		b.Run(expr, func(b *testing.B) {
			p, err := where.Compile(expr, now)
			if err != nil {
				b.Fatal(err)
			}
			e := p.Evaluator()
			b.ReportAllocs()
			for b.Loop() {
				e.Holds(&r)
			}
		})
	}
}

// Instances and services whose records cannot match are found by the parts of an expression that are about nothing else.
func TestOfOrigins(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]string{ // the instances of which it may be true, of a, b, c; "" are all
		`instance == "b"`: "b", `"b" == instance`: "b", `instance in ["a", "c"]`: "a c", `instance not in ["a"]`: "b c", `instance != "a"`: "b c",
		`instance matches "[ab]"`: "a b", `not (instance contains "a")`: "b c", `instance == "b" and status > 5`: "b", `status > 5 and instance == "b"`: "b",
		`instance == "b" or status > 5`: "all", `(instance == "a" and status > 5) or (instance == "b" and level == "warn")`: "a b",
		`instance == "a" and instance == "b"`: "none", `instance == "a" ? status > 5 : instance == "b"`: "all", `status > 5`: "all", `true`: "all",
		`service == "web" and instance == "c"`: "c", `service == "shop"`: "none", `level == "warn" and instance == "c"`: "c", `instance == source`: "all",
		`lower(instance) == "a"`: "a", `let x = instance; x == "a"`: "a", `field("instance") == "a"`: "all", `instance == "a" or true`: "all",
		`any(split(instance, ""), # == "b")`: "b", `instance == "d"`: "none", `instance < "c"`: "a b", `time > "2026-11-20" and instance >= "b"`: "b c",
	} {
		p, err := where.Compile(expr, now)
		if err != nil {
			t.Errorf("%s: %v", expr, err)
			continue
		}
		got := []string{}
		for _, instance := range []string{"a", "b", "c"} {
			if mayHold(p, "web", instance) {
				got = append(got, instance)
			}
		}
		switch want {
		case "none":
			want = ""
		case "all":
			want = "a b c"
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %s, want %s", expr, got, want)
		}
	}
	p, err := where.Compile(`instance == "x" and (instance in ["y", "z"] or instance contains "w" or field("instance") == "v")`, now)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Instances(); !slices.Equal(got, []string{"x", "y", "z"}) || !p.Instanced() {
		t.Errorf("%q, %t", got, p.Instanced())
	}
}
