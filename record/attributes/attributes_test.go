package attributes_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"logstow/internal/test/testrand"
	"logstow/message"
	"logstow/message/parse"
	"logstow/record/attributes"
)

func text(name, value string) attributes.Member {
	return attributes.Member{Name: name, Value: attributes.AppendText(nil, value)}
}

func TestAppend(t *testing.T) {
	t.Parallel()
	nested, dropped := attributes.AppendMap(nil, []attributes.Member{text("b", "2"), text("a", "1"), text("b", "3"), text("$bytes", "x")})
	if dropped != 1 {
		t.Errorf("%d dropped of equal names, want 1", dropped)
	}
	set := attributes.Set{
		Own: []attributes.Member{
			text("http.route", `/a "b"`), text(attributes.OwnName("resource"), "own"),
			{Name: "n", Value: attributes.AppendInt(nil, -5)},
			{Name: "d", Value: attributes.AppendDouble(nil, 3)},
			{Name: "nan", Value: attributes.AppendDouble(nil, math.NaN())},
			{Name: "ok", Value: attributes.AppendBool(nil, true)},
			{Name: "raw", Value: attributes.AppendText(nil, "\xff")},
			{Name: "list", Value: attributes.AppendArray(nil, [][]byte{attributes.AppendInt(nil, 1), attributes.AppendNull(nil)})},
			{Name: "map", Value: nested},
			text("line", "a\n\tb\x7f\x01é"), text("http.route", "second"),
		},
		Resource: attributes.NewGroup([]attributes.Member{text("k8s.pod.name", "p"), text("host", "h")}),
		Stream:   attributes.NewGroup([]attributes.Member{text("job", "j")}),
	}
	got, cut := set.Append(nil)
	want := `{"$cut":1,"attribute.resource":"own","d":3.0,"http.route":"/a \"b\"","line":"a\n\tb\u007f\u0001é","list":[1,null],` +
		`"map":{"$$bytes":"x","a":"1","b":"2"},"n":-5,"nan":{"$double":"NaN"},"ok":true,"raw":{"$bytes":"/w=="},` +
		`"resource":{"host":"h","k8s.pod.name":"p"},"stream":{"job":"j"}}`
	if string(got) != want || cut != 1 {
		t.Errorf("%s, %d cut, want %s, 1 cut", got, cut, want)
	}
	if !attributes.Valid(got) {
		t.Error("it is not valid")
	}
	if got, cut := (&attributes.Set{}).Append([]byte("x")); string(got) != "x" || cut != 0 {
		t.Errorf("no attributes are %q", got)
	}
}

// Names of everything else have a prefix, and every name has a form of its own.
func TestOwnName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"a": "a", "": "", "resource": "attribute.resource", "attribute.resource": "attribute.attribute.resource", "attribute.a": "attribute.a",
		"stream": "attribute.stream", "scope": "attribute.scope", "trace_id": "attribute.trace_id", "$cut": "$$cut", "$$cut": "$$$cut", "$x": "$x",
	} {
		if got := attributes.OwnName(name, "trace_id"); got != want {
			t.Errorf("%q becomes %q, want %q", name, got, want)
		}
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	var many []attributes.Member
	for i := range 10_000 {
		many = append(many, text(fmt.Sprintf("a%05d", i), "v"))
	}
	many = append(many, text("trace_id", "5b8efff798038103d269b633813fc60c"))
	long := strings.Repeat("é\n", 100_000)
	var quotes []attributes.Member
	for i := range 100 {
		quotes = append(quotes, text(fmt.Sprintf("%03d", i)+strings.Repeat(`"`, 1000), "v"))
	}
	for name, c := range map[string]struct {
		set   attributes.Set
		cut   int
		holds string
	}{
		"many":        {attributes.Set{Own: many}, 10_001 - attributes.MaxCount, `"trace_id":"5b8e`},
		"long":        {attributes.Set{Own: []attributes.Member{text("a", long), text("b", long), text("span_id", "1f")}}, 2, `"span_id":"1f"`},
		"long shared": {attributes.Set{Own: []attributes.Member{text("b", "kept")}, Resource: attributes.NewGroup([]attributes.Member{text("a", long), text("c", "kept")})}, 1, `"c":"kept"`},
		"long name":   {attributes.Set{Own: []attributes.Member{text(strings.Repeat("n", 1<<20), "v")}}, 1, `nn":"v"`},
		"bad name":    {attributes.Set{Own: []attributes.Member{text("n\xff", "v")}}, 1, `"n":"v"`},
		"quotes":      {attributes.Set{Own: []attributes.Member{text(strings.Repeat(`"`, 1000), strings.Repeat(`"`, 70_000))}}, 1, `…"`},
		"long names":  {attributes.Set{Own: quotes}, 68, `099\"`},
		"cut before":  {attributes.Set{Cut: 3}, 3, `{"$cut":3}`},
		"no string": {attributes.Set{Own: []attributes.Member{
			{Name: "l", Value: attributes.AppendArray(nil, [][]byte{attributes.AppendText(nil, long)})}, text("b", "kept"),
		}}, 1, `"b":"kept"`},
	} {
		got, cut := c.set.Append(nil)
		if !attributes.Valid(got) || cut != c.cut || !strings.Contains(string(got), c.holds) || !strings.Contains(string(got), fmt.Sprintf(`"$cut":%d`, cut)) {
			t.Errorf("%s: %d bytes, %d cut, want %d; valid: %v: %.200s", name, len(got), cut, c.cut, attributes.Valid(got), got)
		}
	}
}

func TestValid(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{}`, ``, `-`, `{"a":1,}`, `{"b":1,"a":1}`, `{"a":1,"a":1}`, `{"a": 1}`, `{"a":1} `, `{"a":01}`, `{"a":-01}`, `{"a":nil}`, `{"a":"\/"}`, `{"a":"\u0041"}`, `{"a":"\u001F"}`,
		"{\"a\":\"\t\"}", "{\"a\":\"\x7f\"}", "{\"a\":\"\xff\"}", `{"a":[1,]}`, `{"a":[1 ,2]}`, `{"a":{"c":1,"b":2}}`, `{"a"}`, `{"a":`, `{"a":"`, `{"a":"\`, `{"a":"\u00`, `["a"]`,
		`{"a":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, `{"a":"` + strings.Repeat("x", attributes.MaxSize) + `"}`,
	} {
		if attributes.Valid([]byte(text)) {
			t.Errorf("%.100s is valid", text)
		}
	}
}

// Reading finds all that was written: by name, those of the record first, then those of the stream, the scope and the resource.
func TestAll(t *testing.T) {
	t.Parallel()
	set := attributes.Set{
		Own:      []attributes.Member{text("b", "own"), text("attribute.scope", "own scope")},
		Resource: attributes.NewGroup([]attributes.Member{text("b", "resource"), text("r", "1")}),
		Scope:    attributes.NewGroup([]attributes.Member{text("b", "scope")}),
		Stream:   attributes.NewGroup([]attributes.Member{text("b", "stream")}),
	}
	encoded, _ := set.Append(nil)
	var got []string
	for name, v := range attributes.All(encoded) {
		got = append(got, name+"="+string(v.Text))
	}
	if want := "scope=own scope b=own b=stream b=scope b=resource r=1"; strings.Join(got, " ") != want {
		t.Errorf("%q, want %s", got, want)
	}
	got = nil
	for s := range attributes.Strings([]byte(`{"a":["x",{"b":"y\n"}],"c":1,"d":"z"}`)) {
		got = append(got, string(s))
	}
	if strings.Join(got, "|") != "x|y\n|z" {
		t.Errorf("strings are %q", got)
	}
}

// Any attributes are encoded validly, as JSON that other programs read, and from which they can be rebuilt.
func TestRandom(t *testing.T) {
	t.Parallel()
	r := testrand.New(t)
	word := func() string {
		const letters = "ab.$\"\\\n\x00\x7f\xffé/"
		b := make([]byte, r.IntN(6))
		for i := range b {
			b[i] = letters[r.IntN(len(letters))]
		}
		return string(b)
	}
	for range 2000 {
		set, want := attributes.Set{}, map[string]string{}
		for range r.IntN(10) {
			name, value := strings.ToValidUTF8(word(), ""), strings.ToValidUTF8(word(), "")
			if _, twice := want[attributes.OwnName(name)]; !twice {
				want[attributes.OwnName(name)] = value
				set.Own = append(set.Own, text(attributes.OwnName(name), value))
			}
		}
		encoded, cut := set.Append(nil)
		if len(want) == 0 {
			continue
		}
		got := map[string]string{}
		if err := json.Unmarshal(encoded, &got); err != nil || !attributes.Valid(encoded) || cut > 0 || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%q became %s, %d cut, %v", want, encoded, cut, err)
		}
	}
}

// Attributes of a forged segment may be nested as deep as they are long.
func TestDeep(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"a":[`, attributes.MaxSize/6)
	for _, text := range []string{deep, deep + `"x"` + strings.Repeat("]}", attributes.MaxSize/6)} {
		for range attributes.Strings([]byte(text)) {
			t.Errorf("a string %d deep is found", attributes.MaxSize/3)
		}
		for range attributes.All([]byte(text)) { //nolint:revive // must end
		}
	}
}

func FuzzValid(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":"\n"}],"c":{"$bytes":"/w=="},"resource":{"x":true}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		for range attributes.Strings(append([]byte("{"), text...)) { //nolint:revive // must not fail
		}
		valid := attributes.Valid(text)
		if valid && !json.Valid(text) {
			t.Fatalf("%q is no JSON", text)
		}
		if !valid {
			return
		}
		set := attributes.Set{}
		members := message.Object(text)
		for name, v, ok := members.Next(); ok; name, v, ok = members.Next() {
			set.Own = append(set.Own, attributes.Member{Name: string(message.Unescape(nil, name)), Value: v})
		}
		if again, cut := set.Append(nil); cut == 0 && string(again) != string(text) {
			t.Fatalf("%q is written as %q", text, again)
		}
	})
}

// Bytes and doubles without a form in JSON are found under the names of their attributes.
func TestAllScalars(t *testing.T) {
	t.Parallel()
	text := `{"attribute.scope":"own","b":{"$bytes":"AAE="},"m":{"b":{"$bytes":"/w=="},"n":{"x":1}},"nan":{"$double":"NaN"},"resource":{"b":{"$bytes":"Ag=="},"r":1},"resource.own":2}`
	if !attributes.Valid([]byte(text)) {
		t.Fatal("not valid")
	}
	var got []string
	for name, v := range attributes.All([]byte(text)) {
		if !v.IsObject() {
			got = append(got, name+"="+string(v.Text))
		}
	}
	want := "scope=own b=AAE= m.b=/w== m.n.x=1 nan=NaN resource.own=2 b=Ag== r=1"
	if strings.Join(got, " ") != want {
		t.Errorf("%s, want %s", strings.Join(got, " "), want)
	}
	splitter := parse.Auto().Splitter("b", "m.b", "nan", "resource.own", "r")
	splitter.Split([]byte(text), nil)
	var values []string
	for _, v := range splitter.Values() {
		values = append(values, string(v.Text))
	}
	if want := "AAE= /w== NaN 2 1"; strings.Join(values, " ") != want {
		t.Errorf("%s, want %s", strings.Join(values, " "), want)
	}
}
