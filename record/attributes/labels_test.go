package attributes_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"logstow/internal/test/testrand"
	"logstow/record/attributes"
)

// slowLabels are the label attributes by the documented rules.
func slowLabels(t *testing.T, text string) map[string]string {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var all map[string]any
	if err := decoder.Decode(&all); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, group := range []string{attributes.Resource, attributes.Stream} {
		members, _ := all[group].(map[string]any)
		for name, v := range members {
			switch v := v.(type) {
			case string, json.Number, bool:
				if s := fmt.Sprint(v); s != "" && len(s) <= attributes.MaxLabel && (group == attributes.Stream || attributes.IsLabel(name)) {
					found[name] = s
				}
			}
		}
	}
	return found
}

func TestLabels(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	values := []string{
		`"p1"`, `"p2"`, `"{\"stream\":{\"a\":\"no\"}"`, `""`, `7`, `1.5`, `true`, `null`, `["x"]`, `{"k":"v"}`,
		`{"stream":{"inner":"no"}}`, `{"resource":{"k8s.pod.name":"no"}}`, `"` + strings.Repeat("x", 1025) + `"`, `"é\n\u0001"`,
	}
	names := []string{"a", "k8s.pod.name", "k8s.namespace.name", "q\"q", "resource", "service.name", "stream", "zone"}
	object := func() string {
		var members []string
		for _, name := range names {
			if rnd.IntN(2) == 0 {
				key, _ := json.Marshal(name)
				members = append(members, string(key)+":"+values[rnd.IntN(len(values))])
			}
		}
		return "{" + strings.Join(members, ",") + "}"
	}
	var finder attributes.Labels
	last := `{"a":"x"}`
	for range 20_000 {
		text := last // often, records of one resource follow each other
		if rnd.IntN(3) == 0 {
			var members []string
			for _, name := range []string{"a", "http.route", "resource", "scope", "stream", "trace_id"} {
				switch rnd.IntN(4) {
				case 0:
				case 1:
					members = append(members, `"`+name+`":`+values[rnd.IntN(len(values))])
				default:
					members = append(members, `"`+name+`":`+object())
				}
			}
			if text = "{" + strings.Join(members, ",") + "}"; !attributes.Valid([]byte(text)) {
				continue
			}
		}
		last = text
		got, want := finder.Of([]byte(text)), slowLabels(t, text)
		if got == "" {
			if len(want) > 0 {
				t.Fatalf("%s\nno labels, want %v", text, want)
			}
			continue
		}
		var decoded map[string]string
		if err := json.Unmarshal([]byte(got), &decoded); err != nil || fmt.Sprint(decoded) != fmt.Sprint(want) || !attributes.ValidLabels(got) {
			t.Fatalf("%s\nhas labels %s, want %v (%v)", text, got, want, err)
		}
		name := names[rnd.IntN(len(names))]
		delete(want, name)
		decoded = nil
		if without := attributes.WithoutLabels(got, []string{name}); without != "" {
			if err := json.Unmarshal([]byte(without), &decoded); err != nil {
				t.Fatal(err)
			}
		}
		if len(decoded) != len(want) {
			t.Fatalf("%s without %s is %v", got, name, decoded)
		}
	}
}

// Of many labels, those whose names come first count; combinations that are forgotten are found again.
func TestManyLabels(t *testing.T) {
	t.Parallel()
	var finder attributes.Labels
	for round := range 2 {
		for i := range 3000 {
			var members []attributes.Member
			for k := range 40 {
				members = append(members, attributes.Member{Name: fmt.Sprintf("n%02d", k), Value: attributes.AppendText(nil, fmt.Sprint(i))})
			}
			set := attributes.Set{Stream: attributes.NewGroup(members)}
			text, _ := set.Append(nil)
			got := finder.Of(text)
			if strings.Count(got, ":") != attributes.MaxLabels || !strings.Contains(got, fmt.Sprintf(`"n31":"%d"`, i)) {
				t.Fatalf("round %d: %s", round, got)
			}
		}
	}
}

func TestLabeler(t *testing.T) {
	t.Parallel()
	labeler, err := attributes.NewLabeler([]string{"team", "app.*"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ in, want string }{
		{`{"a":1}`, `{"a":1}`},
		{`{"a":1,"team":"x"}`, `{"a":1,"stream":{"team":"x"}}`},
		{`{"team":"x"}`, `{"stream":{"team":"x"}}`},
		{`{"app.id":7,"resource":{"app.name":"n","host":"h"},"stream":{"job":"j"}}`, `{"resource":{"host":"h"},"stream":{"app.id":7,"app.name":"n","job":"j"}}`},
		{`{"resource":{"app.name":"n"}}`, `{"stream":{"app.name":"n"}}`},
		{`{"app.list":["a"],"app.map":{"x":"y"},"app.none":null}`, `{"app.list":["a"],"app.map":{"x":"y"},"app.none":null}`},
		{`{"resource":{"team":"second"},"team":"first"}`, `{"resource":{"team":"second"},"stream":{"team":"first"}}`},
		{`{"stream":{"team":"own"},"team":"other"}`, `{"stream":{"team":"own"},"team":"other"}`},
		{`{"$cut":2,"team":"x"}`, `{"$cut":2,"stream":{"team":"x"}}`},
		{`{"attribute.stream":"s","team":"x"}`, `{"attribute.stream":"s","stream":{"team":"x"}}`},
	} {
		got := labeler.Apply([]byte(c.in))
		if string(got) != c.want || !attributes.Valid(got) {
			t.Errorf("%s became %s, want %s", c.in, got, c.want)
		}
	}
	all, err := attributes.NewLabeler([]string{"*"})
	if err != nil {
		t.Fatal(err)
	}
	if got := all.Apply([]byte(`{"span_id":"1","trace_id":"2"}`)); strings.Contains(string(got), attributes.Stream) {
		t.Errorf("identifiers became labels: %s", got)
	}
	if none, err := attributes.NewLabeler(nil); none != nil || err != nil {
		t.Errorf("%v, %v", none, err)
	}
}
