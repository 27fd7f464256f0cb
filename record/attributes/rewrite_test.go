package attributes_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"logstow/record/attributes"
)

func TestRewrite(t *testing.T) {
	t.Parallel()
	const text = `{"a":"x\n","attribute.scope":"o","b":[1,{"c":"y"}],"d":-1.5,"map":{"in":{"$bytes":"/w=="},"nan":{"$double":"NaN"}},"ok":true,` +
		`"resource":{"h.i":"z","no":null},"trace_id":"5b"}`
	var seen []string
	same := attributes.Rewrite([]byte(text), func(name, value []byte) []byte {
		seen = append(seen, fmt.Sprintf("%s=%q", name, value))
		return value
	})
	if want := `a="x\n" scope="o" b="1" b.c="y" d="-1.5" map.in="\xff" h.i="z" trace_id="5b"`; strings.Join(seen, " ") != want || string(same) != text {
		t.Errorf("%s, want %s; unchanged: %s", seen, want, same)
	}
	got := attributes.Rewrite([]byte(text), func(name, value []byte) []byte {
		switch string(name) {
		case "a":
			return []byte("\xfe")
		case "trace_id":
			return value
		}
		return fmt.Appendf(nil, `"%s"`, value)
	})
	want := `{"a":{"$bytes":"/g=="},"attribute.scope":"\"o\"","b":["\"1\"",{"c":"\"y\""}],"d":"\"-1.5\"","map":{"in":{"$bytes":"Iv8i"},"nan":{"$double":"NaN"}},` +
		`"ok":true,"resource":{"h.i":"\"z\"","no":null},"trace_id":"5b"}`
	if string(got) != want || !attributes.Valid(got) {
		t.Errorf("%s, want %s", got, want)
	}
}

// What grows beyond the limit is cut as at first, and cuts add up.
func TestRewriteGrowth(t *testing.T) {
	t.Parallel()
	set := attributes.Set{
		Own:      []attributes.Member{text("a", strings.Repeat("x", 80_000)), text("b", "1"), text("trace_id", "5b")},
		Resource: attributes.NewGroup([]attributes.Member{text("c", "2"), text("$bytes", "3")}),
	}
	encoded, _ := set.Append(nil)
	got := attributes.Rewrite(encoded, func(name, value []byte) []byte {
		if string(name) == "trace_id" || string(name) == "$$bytes" {
			return value
		}
		return bytes.Repeat([]byte("\n"), 1<<20)
	})
	if !attributes.Valid(got) || !bytes.HasPrefix(got, []byte(`{"$cut":4,"a":"\n`)) || !bytes.Contains(got, []byte(`"trace_id":"5b"}`)) || !bytes.Contains(got, []byte(`{"$$bytes":"3","c"`)) {
		t.Errorf("%d bytes: %.50s", len(got), got)
	}
}

func TestSelection(t *testing.T) {
	t.Parallel()
	const text = `{"$cut":1,"attribute.scope":"o","empty":{},"http":{"headers":{"a":"1","b":"2"},"status":200},"k8s.io/x":"3","l":["4"],` +
		`"raw":{"$bytes":"/w=="},"resource":{"host.name":"h","http":"r"},"span_id":"1f","trace_id":"5b"}`
	for _, c := range []struct{ keep, drop, want string }{
		{"", "nothing", text},
		{"*", "", text},
		{"", "*", `{"$cut":1,"span_id":"1f","trace_id":"5b"}`},
		{"", "* trace_id", `{"$cut":1,"span_id":"1f"}`},
		{"scope", "", `{"$cut":1,"attribute.scope":"o","span_id":"1f","trace_id":"5b"}`},
		{"http", "*.a", `{"$cut":1,"http":{"headers":{"b":"2"},"status":200},"resource":{"http":"r"},"span_id":"1f","trace_id":"5b"}`},
		{"http.*.?", "", `{"$cut":1,"http":{"headers":{"a":"1","b":"2"}},"span_id":"1f","trace_id":"5b"}`},
		{"k8s* raw", "trace_id span_id", `{"$cut":1,"k8s.io/x":"3","raw":{"$bytes":"/w=="}}`},
		{"resource", "resource.http", `{"$cut":1,"resource":{"host.name":"h"},"span_id":"1f","trace_id":"5b"}`},
		{"host.name empty", "", `{"$cut":1,"empty":{},"resource":{"host.name":"h"},"span_id":"1f","trace_id":"5b"}`},
		{"*", "resource http.headers l", `{"$cut":1,"attribute.scope":"o","empty":{},"http":{"status":200},"k8s.io/x":"3","raw":{"$bytes":"/w=="},"span_id":"1f","trace_id":"5b"}`},
	} {
		s, err := attributes.NewSelection(strings.Fields(c.keep), strings.Fields(c.drop))
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Apply([]byte(text)); string(got) != c.want || !attributes.Valid(got) {
			t.Errorf("keep %q, drop %q:\n got %s\nwant %s", c.keep, c.drop, got, c.want)
		}
	}
	if s, err := attributes.NewSelection(nil, nil); s != nil || err != nil {
		t.Errorf("%v, %v", s, err)
	}
	all, _ := attributes.NewSelection([]string{"b"}, nil)
	if got := all.Apply([]byte(`{"a":"1"}`)); got != nil {
		t.Errorf("nothing is %q", got)
	}
	for _, bad := range []string{"", strings.Repeat("?", attributes.MaxName+1)} {
		if _, err := attributes.NewSelection(nil, []string{bad}); err == nil {
			t.Errorf("%.10q is a glob", bad)
		}
	}
}

func FuzzRewrite(f *testing.F) {
	f.Add([]byte(`{"$cut":2,"a":[1,{"b":"\n"}],"c":{"$bytes":"/w=="},"resource":{"x":true}}`), "*a*")
	f.Fuzz(func(t *testing.T, text []byte, glob string) {
		change := func(_, value []byte) []byte { return append([]byte("<\n"), value...) }
		selection, err := attributes.NewSelection([]string{glob}, []string{"b"})
		if err != nil {
			return
		}
		got := [][]byte{attributes.Rewrite(text, change), selection.Apply(text), attributes.Rewrite(text, func(_, v []byte) []byte { return v })}
		if !attributes.Valid(text) {
			return
		}
		for i, b := range got {
			if len(b) > 0 && !attributes.Valid(b) && string(b) != "{}" {
				t.Errorf("%d: %q became %q", i, text, b)
			}
		}
		if !bytes.Equal(got[2], text) {
			t.Errorf("%q became %q", text, got[2])
		}
	})
}

func TestAppendJSON(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	for _, c := range []struct {
		in, want string
		dropped  int
	}{
		{`"a\/\u00e9\n\u0041"`, `"a/é\nA"`, 0},
		{"\"\xff\"", `{"$bytes":"/w=="}`, 0},
		{`""`, `""`, 0},
		{`"`, `"\""`, 0},
		{``, `""`, 0},
		{`12345678901234567890123`, `12345678901234567890123`, 0},
		{`1.50`, `1.50`, 0},
		{`-1e5`, `-1e5`, 0},
		{`01`, `"01"`, 0},
		{`NaN`, `"NaN"`, 0},
		{`true`, `true`, 0},
		{`null`, `null`, 0},
		{`tru`, `"tru"`, 0},
		{`{ "b" : [ 1 , {} ], "a" : {"$bytes":"x"}, "b":2 }`, `{"a":{"$$bytes":"x"},"b":[1,{}]}`, 1},
		{`{"a":1,}`, `"{\"a\":1,}"`, 0},
		{`[1,]`, `"[1,]"`, 0},
		{`[ ]`, `[]`, 0},
		{deep, strings.Repeat("[", 16) + `"` + deep[16:len(deep)-16] + `"` + strings.Repeat("]", 16), 0},
	} {
		got, dropped := attributes.AppendJSON(nil, []byte(c.in))
		encoded, _ := (&attributes.Set{Resource: attributes.NewGroup([]attributes.Member{{Name: "n", Value: got}})}).Append(nil)
		if string(got) != c.want || dropped != c.dropped || !attributes.Valid(encoded) {
			t.Errorf("%s: %s, %d dropped, want %s", c.in, got, dropped, c.want)
		}
	}
}

func FuzzAppendJSON(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":"\n"}],"c":{"$bytes":"/w=="},"resource":{"x":true}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, _ := attributes.AppendJSON(nil, raw)
		if text, cut := (&attributes.Set{Own: []attributes.Member{{Name: "n", Value: got}}}).Append(nil); cut == 0 && !attributes.Valid(text) {
			t.Errorf("%q becomes %q", raw, text)
		}
	})
}
