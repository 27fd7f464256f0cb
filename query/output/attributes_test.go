package output_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"logstow/internal/test/parquettest"
	"logstow/query/output"
)

// attributes have all kinds of values, all objects, and names that the formats have, too.
const attributes = `{"attribute.scope":"own","http.route":"/cart","level":5,"n":1.50,` +
	`"resource":{"host.name":"h","http.route":"/hidden"},"scope":{"name":"lib"},"stream":{"job":"shop"},"user":{"id":7,"name":"a b"}}`

// Every format has a place for attributes, but raw, and a record without them has none of it.
func TestAttributes(t *testing.T) {
	t.Parallel()
	const message = `{"msg":"hi","n":2,"a":3,"time":4}`
	quoted := strings.TrimSuffix(flatHead, `"message":`) + `"message":"{\"msg\":\"hi\",\"n\":2,\"a\":3,\"time\":4}"`
	for _, c := range []struct {
		opts output.Options
		want string
	}{
		{output.Options{Format: output.Raw}, message},
		{output.Options{Format: output.Text}, "2026-11-20T15:04:05.123456789Z\tERROR\tapp.log\t" + message + "\t" + attributes},
		{output.Options{Format: output.JSON}, quoted + `,"attributes":` + attributes + "}"},
		{output.Options{Format: output.Flat}, quoted + `,"scope":"own","http.route":"/cart","attribute.level":5,"n":1.50,"user.id":7,"user.name":"a b","job":"shop",` +
			`"name":"lib","host.name":"h","msg":"hi","a":3,"message.time":4}`},
		{output.Options{Format: output.Pretty}, prettyHead + `hi n=2 a=3 time=4 scope=own http.route=/cart level=5 n=1.50 user={"id":7,"name":"a b"} job=shop`},
		{output.Options{Format: output.JSON, Fields: []string{"n", "message.n", "host.name", "user.id", "attribute.level", "level"}}, `{"n":1.50,"message.n":2,"host.name":"h","user.id":7,"attribute.level":5,"level":"ERROR"}`},
		{output.Options{Format: output.CSV, Fields: []string{"job", "a"}}, "job,a\nshop,3"},
		{output.Options{Format: output.CSV}, "time,level,service,source,message\n2026-11-20T15:04:05.123456789Z,ERROR,api,app.log,\"" + strings.ReplaceAll(message, `"`, `""`) + `"`},
		{output.Options{Format: output.Template, Template: compiled(t, `{{.http.route}} {{field "host.name"}} {{field "message.n"}} {{field (print "jo" "b")}} {{attribute "n"}}{{attribute "a"}}`)}, "/cart h 2 shop 1.50"},
	} {
		if got := printedMatches(t, c.opts, matchOf(attributes, message)); got != c.want+"\n" {
			t.Errorf("%s:\n%s, want\n%s", c.opts.Format, got, c.want)
		}
	}
}

// Behind a message of several lines attributes are on its first line, or on its last one as text.
func TestAttributesOfLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ format, attributes, message, want string }{
		{output.Pretty, `{"a":1}`, "one\ntwo", prettyHead + "one a=1\n    two"},
		{output.Pretty, `{"a":1}`, "", prettyHead + "a=1"},
		{output.Pretty, `{"a":"x\ny\"","b c":"","d=e":"\u001b[2J"}`, `k="v\nw"`, prettyHead + `a="x\ny\"" "b c"="" "d=e"="\x1b[2J"` + "\n    k=v\n        w"},
		{output.Pretty, `{"resource":{"a":1},"scope":{"b":2}}`, "m", prettyHead + "m"},
		{output.Text, `{"a":1}`, "one\ntwo", "2026-11-20T15:04:05.123456789Z\tERROR\tapp.log\tone\n\ttwo\t{\"a\":1}"},
	} {
		if got := printedMatches(t, output.Options{Format: c.format}, matchOf(c.attributes, c.message)); got != c.want+"\n" {
			t.Errorf("%s of %s: %q, want %q", c.format, c.attributes, got, c.want+"\n")
		}
	}
}

// What was found in an attribute stands out, also if it is in the part that is left out.
func TestHighlightAttributes(t *testing.T) {
	t.Parallel()
	const on, off = "\x1b[1;31m", "\x1b[0m"
	for _, c := range []struct{ format, attributes, want string }{
		{output.Text, `{"x":"abc"}`, `{"x":"a` + on + "b" + off + `c"}`},
		{output.Pretty, `{"x":"abc"}`, `x=a` + on + "b" + off + "c"},
		{output.Pretty, `{"x":"a b"}`, `x="a ` + on + "b" + off + `"`},
		{output.Pretty, `{"x":"` + strings.Repeat("a", 50) + "b" + strings.Repeat("a", 50) + `"}`, "x=" + strings.Repeat("a", 15) + "…" + strings.Repeat("a", 15) + on + "b" + off + strings.Repeat("a", 15) + "…" + strings.Repeat("a", 14)},
	} {
		got := printedMatches(t, output.Options{Format: c.format, Color: true, Highlight: places, Width: len(prettyHead) + 66}, matchOf(c.attributes, "m"))
		plain := strings.NewReplacer("\x1b[38;5;244m", "", off, "")
		if got = plain.Replace(got); !strings.HasSuffix(got, plain.Replace(c.want)+"\n") {
			t.Errorf("%s of %s: %q, want %q", c.format, c.attributes, got, c.want)
		}
	}
}

// The columns of Parquet include attributes, unless others are named.
func TestParquetAttributes(t *testing.T) {
	t.Parallel()
	file := printedMatches(t, output.Options{Format: output.Parquet}, matchOf(`{"a":{"b":1}}`, "x"), match("y"), matchOf(`{forged`, "z"))
	got := parquettest.Read(t, "../..", []byte(file))
	var values []any
	for _, row := range got.Rows {
		values = append(values, row["attributes"])
	}
	if diff := cmp.Diff([]any{`{"a":{"b":1}}`, nil, `"{forged"`}, values); diff != "" || got.Types[6] != "attributes BYTE_ARRAY STRING OPTIONAL" {
		t.Errorf("%q (-want +got)\n%s", got.Types, diff)
	}
	file = printedMatches(t, output.Options{Format: output.Parquet, Fields: []string{"a.b", "attributes"}}, matchOf(`{"a":{"b":1}}`, "attributes=x"))
	if got := parquettest.Read(t, "../..", []byte(file)); len(got.Types) != 2 || got.Rows[0]["a.b"] != "1" || got.Rows[0]["attributes"] != "x" {
		t.Errorf("named: %+v", got)
	}
}

// Whatever stands in the place of attributes, no format fails, JSON stays JSON, and nothing steers a terminal.
func FuzzAttributes(f *testing.F) {
	f.Add(attributes, "x")
	for _, forged := range []string{"{}", "{", "[1", `{"a"`, `{"a":`, `{"a":}`, `{"stream":{`, `{"stream":{"a":`, `{"a":[`, "\x1b[2J", `{"a":"` + "\u009b\u202e" + `"}`, "{\"\xff\":1}", "--", `{"resource":}`, `{"a":"\`} {
		f.Add(forged, `{"attributes":1,"a":2}`)
	}
	f.Fuzz(func(t *testing.T, text, message string) {
		if strings.ContainsAny(text, "\t\n") {
			return // it would be another column
		}
		m := matchOf(text, message)
		for _, format := range []string{output.JSON, output.Flat} {
			line := []byte(printedMatches(t, output.Options{Format: format}, m))
			if !json.Valid(line) || bytes.Count(line, []byte("\n")) != 1 || !utf8.Valid(line) {
				t.Fatalf("%s of %q: %q", format, text, line)
			}
		}
		for _, opts := range []output.Options{
			{Format: output.Raw, Terminal: true},
			{Format: output.Text, Terminal: true},
			{Format: output.Text, Terminal: true, Fields: []string{"a", "level"}},
			{Format: output.Pretty},
			{Format: output.JSON},
			{Format: output.Flat, Terminal: true},
		} {
			for _, r := range printedMatches(t, opts, m) {
				if r < 0x20 && r != '\n' && r != '\t' || 0x7f <= r && r <= 0x9f || r == 0x202e {
					t.Fatalf("%s of %q and %q has %q", opts.Format, text, message, r)
				}
			}
		}
	})
}
