package pipeline_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"logstow/internal/test/testrand"
	"logstow/logql/labels"
	"logstow/logql/pipeline"
	"logstow/logql/syntax"
)

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// randomObject is a JSON object whose keys often collide.
func randomObject(r *rand.Rand, depth int) string {
	var b strings.Builder
	b.WriteByte('{')
	for i := range r.IntN(6) {
		if i > 0 {
			b.WriteString(pick(r, ",", " , "))
		}
		key := pick(r, "a", "b", "a_b", "a-b", "level", "level_extracted", "c", `\u0061`, "", "x y", "1")
		value := pick(r, `1`, `"x"`, `null`, `""`, `true`, `-2.5e3`, `"é\n\""`, `[{"a":1}]`, `"y"`)
		if depth > 0 && r.IntN(3) == 0 {
			value = randomObject(r, depth-1)
		}
		fmt.Fprintf(&b, `"%s"%s%s`, key, pick(r, ":", ": "), value)
	}
	return b.String() + "}"
}

func randomPairs(r *rand.Rand) string {
	var words []string
	for range r.IntN(8) {
		word := pick(r, "a", "b", "a_b", "a-b", "level", "level_extracted", "c", "1")
		if r.IntN(8) > 0 {
			word += "=" + pick(r, "1", "x", `"x y"`, `""`, "", `"é\n\""`, "5ms", `"open`, "p=q")
		}
		words = append(words, word)
	}
	return strings.Join(words, pick(r, " ", "\t", "\n"))
}

func damaged(r *rand.Rand, line string) string {
	if len(line) == 0 || r.IntN(4) > 0 {
		return line
	}
	b, i := []byte(line), r.IntN(len(line))
	switch r.IntN(3) {
	case 0:
		return string(b[:i])
	case 1:
		b[i] = pick(r, byte('"'), '{', '}', 'x', 0xff, ' ', '\\', ',')
	default:
		return string(slices.Delete(b, i, i+1))
	}
	return string(b)
}

// Parsers with needed labels find the same as without. Mistakes in a line are the same if __error__ is needed; otherwise they
// may remain unnoticed.
func TestNeeded(t *testing.T) {
	r := testrand.New(t)
	names := []string{"a", "b", "a_b", "c", "level", "level_extracted", "_1", "x_y", "a_a", "a_b_c", "b_level", "a_extracted"}
	for range 600 {
		stages := pick(r, `| json`, `| json a, b="a.b", c="c[0].a"`, `| logfmt`, `| logfmt --strict`, `| logfmt --keep-empty`, `| logfmt a, b="c"`,
			`| json | logfmt`, `| json | a = "1"`, `| json | b > 0`, `| logfmt | label_format c=a`, `| json | line_format "{{.a}} a=3 c=4" | logfmt`,
			"| pattern `<a>=<b> <c>`", "| regexp `(?P<a>a.)(?P<b>b?)`", `| unpack`, `| drop level | json`, `| json | keep a`, `| json | drop b | json`)
		needed := []string{}
		for range r.IntN(4) {
			needed = append(needed, pick(r, names...))
		}
		exact := r.IntN(2) == 0
		if exact {
			needed = append(needed, labels.Error)
		}
		all, some := compile(t, stages, nil).Processor(), compile(t, stages, needed).Processor()
		streams := []*pipeline.Stream{webStream(), {Labels: labels.New(labels.Label{Name: "a", Value: "base"})}}
		for range 30 {
			line := randomPairs(r)
			if strings.Contains(stages, "json") || r.IntN(10) == 0 {
				line = randomObject(r, 3)
			}
			line = damaged(r, line)
			stream := pick(r, streams...)
			kept, keptSome := all.Process(at, nil, []byte(line), stream), some.Process(at, nil, []byte(line), stream)
			if !exact && all.Get(labels.Error) == "JSONParserErr" {
				continue
			}
			if kept != keptSome {
				t.Fatalf("%s of %q with labels %q: kept is %v, without them %v", stages, line, needed, keptSome, kept)
			}
			if !kept {
				continue
			}
			for _, name := range needed {
				if got, want := some.Get(name), all.Get(name); got != want {
					t.Fatalf("%s of %q with labels %q: %s is %q, without them %q", stages, line, needed, name, got, want)
				}
			}
			if got, want := string(some.AppendGroup(nil, false, slices.Sorted(slices.Values(needed)))), string(all.AppendGroup(nil, false, slices.Sorted(slices.Values(needed)))); got != want {
				t.Fatalf("%s of %q: the group by %q is %q, not %q", stages, line, needed, got, want)
			}
			if !bytes.Equal(all.Line(), some.Line()) {
				t.Fatalf("%s of %q with labels %q: line is %q, without them %q", stages, line, needed, some.Line(), all.Line())
			}
		}
	}
}

// A parser whose needed labels are all of the stream does not read the line.
func TestNothingNeeded(t *testing.T) {
	for _, stages := range []string{`| json`, `| logfmt --strict`, `| json | drop __error__`} {
		p := compile(t, stages, []string{"level"}).Processor()
		if got := result(p, `x="`, webStream()); got != `x=" {}` {
			t.Errorf("%s reads a line for the label level: %s", stages, got)
		}
	}
}

// Members that look like a needed one, and are not the first that becomes the label.
func TestQuickMembers(t *testing.T) {
	for line, want := range map[string]string{
		`{"x":1,"a_b":2}`:                 "2",
		`{"a-b":1,"a_b":2}`:               "1",
		`{" a_b":1,"a_b":2}`:              "1",
		`{"a":{"b":1},"a_b":2}`:           "1",
		`{"x":"a_b","a_b":2}`:             "2",
		`{"x":"\"a_b\":1","a_b":2}`:       "2",
		`{"\u0061_b":1,"a_b":2}`:          "1",
		`{"x":{"a_b":1},"a_b":2}`:         "2",
		`{"x":[{"a_b":1}],"a_b":2}`:       "2",
		`{"x":1},"a_b":2}`:                "",
		`{"a_b":null,"a_b":2}`:            "2",
		`{"a_b":"","a_b":2}`:              "",
		`{"a_b":[1],"a_b":{"c":1},"y":3}`: "",
		`{"a_b" : 2}`:                     "2",
	} {
		for _, needed := range [][]string{{"a_b"}, nil} {
			p := compile(t, `| json`, needed).Processor()
			p.Process(at, nil, []byte(line), webStream())
			if got := p.Get("a_b"); got != want {
				t.Errorf("a_b of %s with needed labels %q is %q, not %q", line, needed, got, want)
			}
		}
	}
}

// slowJSON flattens a valid object, with the first of equal names.
func slowJSON(t *testing.T, line string, taken map[string]bool) map[string]string {
	found, seen := map[string]string{}, map[string]bool{}
	var flatten func(prefix string, object []byte)
	flatten = func(prefix string, object []byte) {
		d := json.NewDecoder(bytes.NewReader(object))
		if _, err := d.Token(); err != nil {
			t.Fatal(err)
		}
		for d.More() {
			key, _ := d.Token()
			var value json.RawMessage
			if err := d.Decode(&value); err != nil {
				t.Fatal(err)
			}
			part := strings.TrimSpace(key.(string))
			if prefix == "" && part != "" && part[0] >= '0' && part[0] <= '9' {
				part = "_" + part
			}
			name := prefix + regexp.MustCompile(`[^a-zA-Z0-9_]`).ReplaceAllString(part, "_")
			switch {
			case name == "" || value[0] == '[' || value[0] == 'n':
				continue
			case value[0] == '{':
				flatten(name+"_", value)
				continue
			}
			if taken[name] {
				name += "_extracted"
			}
			text := string(value)
			if value[0] == '"' {
				_ = json.Unmarshal(value, &text)
			}
			if !seen[name] {
				found[name] = text
			}
			seen[name] = true
		}
	}
	flatten("", []byte(line))
	return found
}

func TestJSONAgainstSlowFlattening(t *testing.T) {
	r := testrand.New(t)
	p, stream := compile(t, `| json`, nil).Processor(), webStream()
	taken := map[string]bool{"service_name": true, "level": true, "instance": true, "detected_level": true, "source": true}
	for range 5000 {
		line := randomObject(r, 4)
		p.Process(at, nil, []byte(line), stream)
		_, _, got := p.Labels()
		if want := slowJSON(t, line, taken); !maps.Equal(labelMap(got), want) {
			t.Fatalf("labels of %s are %v, not %v", line, got, want)
		}
	}
}

func TestGroups(t *testing.T) {
	line := `{"a":"1","empty":"","level":"w"}`
	for _, c := range []struct {
		stages  string
		needed  []string
		without bool
		names   []string
		want    string
	}{
		{`| json`, nil, false, []string{"a", "empty", "level", "nowhere", "source"}, `{a="1", empty="", level="info", source="stdout"}`},
		{`| json`, nil, false, nil, `{}`},
		{`| json`, nil, true, nil, `{a="1", empty="", instance="i-1", level="info", level_extracted="w", service_name="web"}`},
		{`| json`, nil, true, []string{"a", "level"}, `{empty="", instance="i-1", level_extracted="w", service_name="web"}`},
		{`| json | source = "stdout"`, nil, true, []string{"a", "level"}, `{empty="", instance="i-1", level_extracted="w", service_name="web", source="stdout"}`},
		{`| json`, []string{"detected_level"}, true, []string{"a", "level"}, `{detected_level="info", instance="i-1", service_name="web"}`},
		{`| json | drop instance | label_format level="x", source="y"`, nil, true, nil, `{a="1", empty="", level="x", level_extracted="w", service_name="web", source="y"}`},
		{`| json | keep a`, nil, true, nil, `{a="1"}`},
		{`| logfmt`, nil, true, []string{"instance"}, `{level="info", service_name="web"}`},
	} {
		p := compile(t, c.stages, c.needed).Processor()
		for range 2 {
			if !p.Process(at, nil, []byte(line), webStream()) {
				t.Fatal("not kept:", c.stages)
			}
			got := p.Group(c.without, c.names)
			if got.String() != c.want {
				t.Errorf("%s: group of %v %q is %s, not %s", c.stages, c.without, c.names, got, c.want)
			}
			if key := p.AppendGroup([]byte("x"), c.without, c.names); string(key) != "x"+string(got.AppendKey(nil)) {
				t.Errorf("%s: key %q is not that of %s", c.stages, key, got)
			}
		}
	}
}

// What a processor returned stays valid, and is one slice for equal labels.
func TestLabelsStay(t *testing.T) {
	p, stream := compile(t, `| json | drop level`, nil).Processor(), webStream()
	process := func(line string) (s, parsed labels.Labels) {
		b := []byte(line)
		p.Process(at, nil, b, stream)
		s, _, parsed = p.Labels()
		clear(b)
		return s, parsed
	}
	s1, first := process(`{"a":"x","b":"é\n"}`)
	s2, second := process(`{"a":"x","b":"é\n"}`)
	_, third := process(`{"a":"y"}`)
	if &first[0] != &second[0] || &s1[0] != &s2[0] {
		t.Error("equal labels are made twice")
	}
	if first.String() != "{a=\"x\", b=\"é\\n\"}" || third.String() != `{a="y"}` || s1.String() != `{instance="i-1", service_name="web"}` {
		t.Error("labels changed:", first, third, s1)
	}
}

func TestStreamsAlternate(t *testing.T) {
	p := compile(t, `| json`, nil).Processor()
	one, two := webStream(), &pipeline.Stream{Labels: labels.New(labels.Label{Name: "a", Value: "base"})}
	for range 3 {
		if got := result(p, `{"a":1,"level":2}`, one); got != `{"a":1,"level":2} {a="1", level_extracted="2"}` {
			t.Error(got)
		}
		if got := result(p, `{"a":1,"level":2}`, two); got != `{"a":1,"level":2} {a_extracted="1", level="2"}` {
			t.Error(got)
		}
	}
}

func TestSamples(t *testing.T) {
	for _, c := range []struct {
		stages, line string
		value        float64
		keep         bool
		err          string
	}{
		{`| logfmt | unwrap n`, `n=2.5`, 2.5, true, ""},
		{`| logfmt | unwrap n`, `n=-1e3`, -1000, true, ""},
		{`| logfmt | unwrap n`, `m=1`, 0, false, ""},
		{`| logfmt | unwrap n`, `n=`, 0, false, ""},
		{`| logfmt | unwrap n`, `n=x`, 0, true, "SampleExtractionErr"},
		{`| logfmt | unwrap n | __error__ = ""`, `n=x`, 0, false, "SampleExtractionErr"},
		{`| logfmt | unwrap n | __error__ = ""`, `n=7`, 7, true, ""},
		{`| logfmt | unwrap n | n > 5 | m = "1"`, `n=7 m=1`, 7, true, ""},
		{`| logfmt | unwrap n | n > 5 | m = "1"`, `n=7 m=2`, 0, false, ""},
		{`| logfmt | unwrap duration(n)`, `n=1m30s`, 90, true, ""},
		{`| logfmt | unwrap duration_seconds(n)`, `n=-1500ms`, -1.5, true, ""},
		{`| logfmt | unwrap duration(n)`, `n=1y2w3d4h`, (365+14+3)*86400 + 4*3600, true, ""},
		{`| logfmt | unwrap duration(n)`, `n=-1.5d`, -1.5 * 86400, true, ""},
		{`| logfmt | unwrap duration(n)`, `n=5`, 0, true, "SampleExtractionErr"},
		{`| logfmt | unwrap duration(n)`, `n=1d-4h`, 0, true, "SampleExtractionErr"},
		{`| logfmt | unwrap duration(n)`, `n=1w-2d`, 0, true, "SampleExtractionErr"},
		{`| logfmt | unwrap duration(n)`, `n=NaNd`, 0, true, "SampleExtractionErr"},
		{`| logfmt | unwrap duration(n)`, `n=d`, 0, true, "SampleExtractionErr"},
		{`| logfmt | unwrap duration(n)`, `n=1d2w`, 0, true, "SampleExtractionErr"},
		{`| logfmt | unwrap bytes(n)`, `n=5KB`, 5000, true, ""},
		{`| logfmt | unwrap bytes(n)`, `n="1.5 KiB"`, 1536, true, ""},
		{`| logfmt | unwrap bytes(n)`, `n=3g`, 3e9, true, ""},
		{`| logfmt | unwrap bytes(n)`, `n=1eib`, 1 << 60, true, ""},
		{`| logfmt | unwrap bytes(n)`, `n=7`, 7, true, ""},
		{`| logfmt | unwrap bytes(n)`, `n=7x`, 0, true, "SampleExtractionErr"},
		{`| logfmt | unwrap bytes(n)`, `n=-7`, 0, true, "SampleExtractionErr"},
		{`| logfmt | unwrap bytes(n)`, `n=99EB`, 0, true, "SampleExtractionErr"},
		{`| json | unwrap n`, `{"n":"12"}`, 12, true, ""},
		{`| unwrap level`, `x`, 0, true, "SampleExtractionErr"},
	} {
		p := compile(t, c.stages, []string{"__error__"}).Processor()
		if !p.Process(at, nil, []byte(c.line), webStream()) {
			t.Errorf("%s of %s is not kept", c.stages, c.line)
			continue
		}
		value, keep := p.Sample()
		if value != c.value || keep != c.keep || p.Get(labels.Error) != c.err {
			t.Errorf("%s of %s is %v, %v, %q, not %v, %v, %q", c.stages, c.line, value, keep, p.Get(labels.Error), c.value, c.keep, c.err)
		}
	}
	p := compile(t, `| logfmt`, nil).Processor()
	p.Process(at, nil, []byte("n=1"), webStream())
	if _, keep := p.Sample(); keep {
		t.Error("a pipeline without unwrap has a sample")
	}
	if _, err := pipeline.Compile(nil, &syntax.Unwrap{Label: "a", Filters: []*syntax.LabelFilter{{Condition: &syntax.IPCondition{Range: "x"}}}}, nil); err == nil {
		t.Error("an invalid filter behind unwrap is no error")
	}
}

// labelMap is labels as a map.
func labelMap(ls labels.Labels) map[string]string {
	m := map[string]string{}
	for _, l := range ls {
		m[l.Name] = l.Value
	}
	return m
}
