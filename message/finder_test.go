package message_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"logstow/internal/test/testrand"
	"logstow/message"
)

func TestFind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		message, name string
		kind          message.Kind
		text          string
	}{
		{`{"a":1,"b":"x"}`, "b", message.String, "x"},
		{`{"a":1,"b":"x"}`, "a", message.Number, "1"},
		{`{"a":1}`, "c", message.Missing, ""},
		{`{"a":{"b":{"c":true}}}`, "a.b.c", message.Bool, "true"},
		{`{"a.b":{"c":null}}`, "a.b.c", message.Null, "null"},
		{`{"a.b.c":-1.5e3}`, "a.b.c", message.Number, "-1.5e3"},
		{`{"a":{"x":1},"a.b":2}`, "a.b", message.Number, "2"},
		{`{"a":"{\"b\":1}","b":2}`, "b", message.Number, "2"},
		{`{"a":[{"b":1}],"b":[1,2]}`, "b", message.Composite, "[1,2]"},
		{`{"a":"q\"\\\n\u00e9\ud83d\ude00\ud83d\q"}`, "a", message.String, "q\"\\\n\u00e9\U0001f600\\ud83d\\q"},
		{`{"\u0061b":1}`, "ab", message.Number, "1"},
		{`  { "a" : "x" , "b" : 7 }  `, "b", message.Number, "7"},
		{`<34>1 host app - {"a":1}`, "a", message.Number, "1"},
		{`set {x} then {"a":1}`, "a", message.Number, "1"},
		{`{"a":oops,"b":1}`, "a", message.Bare, "oops"},
		{`{"a":1,"a":2}`, "a", message.Number, "1"},
		{`{"a" :1,"a":2}`, "a", message.Number, "1"},
		{`{"b":"a","a":2}`, "a", message.Number, "2"},
		{`{"a":1,"b":"x …[logstow: cut 9 bytes]`, "a", message.Number, "1"},
		{`{"a":1,"b":"x …[logstow: cut 9 bytes]`, "b", message.Missing, ""},
		{`{}`, "a", message.Missing, ""},
		{``, "a", message.Missing, ""},
		{`level=info status=500 msg="a b=c" took=1.5s`, "status", message.Bare, "500"},
		{`level=info status=500 msg="a b=c" took=1.5s`, "msg", message.String, "a b=c"},
		{`level=info status=500 msg="a b=c" took=1.5s`, "b", message.Missing, ""},
		{`level=info status=500 msg="a b=c" took=1.5s`, "took", message.Bare, "1.5s"},
		{`at=error code="H\"12" x`, "code", message.String, `H"12`},
		{`http.status=5`, "http.status", message.Bare, "5"},
		{`xstatus=1 status=2`, "status", message.Bare, "2"},
		{`a=`, "a", message.Bare, ""},
		{`a="open`, "a", message.Bare, `"open`},
	} {
		v := message.NewFinder(c.name).Find([]byte(c.message))
		if v.Kind != c.kind || string(v.Text) != c.text {
			t.Errorf("%s in %s: kind %d, %q; want %d, %q", c.name, c.message, v.Kind, v.Text, c.kind, c.text)
		}
	}
}

// What encoding/json finds is found.
func TestFindAsEncodingJSON(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	var build func(depth int) any
	build = func(depth int) any {
		switch n := rnd.IntN(7); {
		case n < 2 && depth < 4:
			m := map[string]any{}
			for i := range rnd.IntN(4) {
				m[fmt.Sprintf("k%d", i)] = build(depth + 1)
			}
			return m
		case n == 2:
			return rnd.IntN(1000)
		case n == 3:
			return nil
		case n == 4:
			return rnd.IntN(2) == 0
		case n == 5 && depth < 4:
			return []any{build(depth + 1), "}"}
		}
		return []string{"", "x", `q"`, "\\", "{", "é\n", "<&>"}[rnd.IntN(7)]
	}
	for range 20000 {
		all := map[string]any{"k0": build(0), "k1": build(0)}
		text, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		name, at := "", any(all)
		for range 1 + rnd.IntN(3) {
			key := fmt.Sprintf("k%d", rnd.IntN(3))
			if name != "" {
				name += "."
			}
			name += key
			m, _ := at.(map[string]any)
			var ok bool
			if at, ok = m[key]; !ok {
				at = message.Missing
			}
		}
		v := message.NewFinder(name).Find(text)
		ok := false
		switch want := at.(type) {
		case message.Kind:
			ok = v.Kind == message.Missing
		case nil:
			ok = v.Kind == message.Null
		case string:
			ok = v.Kind == message.String && string(v.Text) == want
		case int:
			d, is := v.Decimal()
			n, _ := d.Int64()
			ok = v.Kind == message.Number && is && n == int64(want)
		case bool:
			b, is := v.Truth()
			ok = v.Kind == message.Bool && is && b == want
		default:
			raw, _ := json.Marshal(at)
			ok = v.Kind == message.Composite && bytes.Equal(raw, v.Text)
		}
		if !ok {
			t.Fatalf("%s in %s: kind %d, %q; want %v", name, text, v.Kind, v.Text, at)
		}
	}
}

func FuzzFind(f *testing.F) {
	f.Add([]byte(`{"a":{"b":"\u00e9"}}`), "a.b")
	f.Add([]byte(`x {"a":[1]} a="\"`), "a")
	f.Add([]byte(`a=b c="`), "c")
	f.Fuzz(func(_ *testing.T, msg []byte, name string) {
		v := message.NewFinder(name).Find(msg)
		v.Decimal()
		v.Truth()
	})
}

func BenchmarkFind(b *testing.B) {
	msg := []byte(`{"time":"2026-11-20T15:04:05.123Z","level":"info","logger":"api.orders","msg":"request done","method":"GET","path":"/v1/orders/1234567","status":200,"duration_ms":12.5,"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736"}`)
	for _, name := range []string{"status", "trace_id", "none"} {
		b.Run(name, func(b *testing.B) {
			f := message.NewFinder(name)
			b.SetBytes(int64(len(msg)))
			b.ReportAllocs()
			for b.Loop() {
				f.Find(msg)
			}
		})
	}
}
