package pipeline_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"logstow/logql/labels"
	"logstow/logql/pipeline"
)

// manyMembers are n members of an object.
func manyMembers(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"k%d":%d`, i, i)
	}
	return b.String()
}

// The results stay right where a processor removes names.
func TestManyNames(t *testing.T) {
	for _, stages := range []string{`| json | label_format z="{{.a | lower}}"`, `| logfmt | label_format z="{{.a | lower}}"`} {
		p := compile(t, stages, nil).Processor()
		stream := webStream()
		for i := range 60_000 {
			line := fmt.Sprintf(`{"a":"X","k%d":1,"level":2}`, i)
			if strings.Contains(stages, "logfmt") {
				line = fmt.Sprintf(`a=X k%d=1 level=2`, i)
			}
			want := fmt.Sprintf(`%s {a="X", k%d="1", level_extracted="2", z="x"}`, line, i)
			if i%3000 == 0 {
				stream = webStream()
			}
			if got := result(p, line, stream); got != want {
				t.Fatalf("record %d is %s, not %s", i, got, want)
			}
		}
	}
}

func TestManyStreams(t *testing.T) {
	p := compile(t, `| json`, nil).Processor()
	for i := range 5000 {
		name := fmt.Sprintf("s%d", i%3)
		stream := &pipeline.Stream{Labels: labels.New(labels.Label{Name: name, Value: "x"})}
		if got, want := result(p, `{"s0":1}`, stream) == `{"s0":1} {s0_extracted="1"}`, i%3 == 0; got != want {
			t.Fatalf("record %d is wrong", i)
		}
	}
}

// Equal work of two processors of one pipeline does not interfere; the race detector finds state they share.
func TestProcessorsInParallel(t *testing.T) {
	compiled := compile(t, `| json | a =~ "x.*" | line_format "{{.a | upper}}" | label_format b="{{.a | lower}}"`, nil)
	done := make(chan string, 4)
	for range cap(done) {
		go func() {
			p, got := compiled.Processor(), ""
			for range 200 {
				got = result(p, `{"a":"xY"}`, webStream())
			}
			done <- got
		}()
	}
	for range cap(done) {
		if got := <-done; got != `XY {a="xY", b="xy"}` {
			t.Error(got)
		}
	}
}

func TestAllocations(t *testing.T) {
	names := []string{"b", "level"}
	for stages, line := range map[string]string{
		`|= "x" != "y" |~ "x+1"`:                            `{"a":"x1","b":2}`,
		`| json`:                                            `{"a":"x1","b":2,"level":"w","o":{"c":"é\n"}}`,
		`| json | b >= 2 | a =~ "x."`:                       `{"a":"x1","b":2}`,
		`| json b, a="o.c"`:                                 `{"a":"x1","b":2,"o":{"c":"d"}}`,
		`| logfmt | b >= 2`:                                 `a=x1 b=2`,
		`| logfmt | took > 5ms`:                             `took=7ms`,
		"| pattern `<a> <b>`":                               `x y`,
		`| json | line_format "{{.a}}-{{.b}}" | drop a`:     `{"a":"x1","b":2}`,
		`| json | label_format c=a, d="{{.a}}!" | keep d,b`: `{"a":"x1","b":2}`,
		`| decolorize |= ip("10.0.0.0/8") or "red"`:         "\x1b[31mred\x1b[0m",
	} {
		p, stream, text, key := compile(t, stages, nil).Processor(), webStream(), []byte(line), []byte(nil)
		n := testing.AllocsPerRun(100, func() {
			if !p.Process(at, nil, text, stream) {
				t.Errorf("%s of %s is not kept", stages, line)
			}
			p.Labels()
			p.Get("a")
			key = p.AppendGroup(key[:0], false, names)
			key = p.AppendGroup(key[:0], true, names)
		})
		if n > 0 {
			t.Errorf("%s of %s allocates %v times", stages, line, n)
		}
	}
}

func fuzzed(f *testing.F, stages string, seeds ...string) {
	for _, s := range seeds {
		f.Add(s)
	}
	all := compile(f, stages, nil).Processor()
	some := compile(f, stages, []string{"a", "a_b", labels.Error}).Processor()
	stream := webStream()
	f.Fuzz(func(t *testing.T, line string) {
		if all.Process(at, nil, []byte(line), stream) != some.Process(at, nil, []byte(line), stream) {
			t.Fatal("needed labels change which records are kept")
		}
		for _, name := range []string{"a", "a_b", labels.Error} {
			if all.Get(name) != some.Get(name) {
				t.Errorf("%s is %q, %q if it is needed", name, all.Get(name), some.Get(name))
			}
		}
		_, _, parsed := all.Labels()
		for i, l := range parsed {
			if !utf8.ValidString(l.Value) || l.Name == "" || i > 0 && parsed[i-1].Name >= l.Name {
				t.Errorf("label %d of %v is invalid", i, parsed)
			}
			if stream.Labels.Get(l.Name) != "" {
				t.Errorf("the stream has the label %s too", l.Name)
			}
		}
	})
}

func FuzzJSON(f *testing.F) {
	fuzzed(f, `| json`, jsonLine, `{"a":{"b":1},"a_b":2}`, `{"a":"\ud800"}`, `{"a":[}`, "{\"\xff\":\"\xff\"}")
}

func FuzzJSONPaths(f *testing.F) {
	fuzzed(f, `| json a="b.c[0]", a_b="[1]"`, jsonLine, `{"b":{"c":[1]}}`, `[1,2`, `{"b":{"c":[`)
}

func FuzzLogfmt(f *testing.F) {
	fuzzed(f, `| logfmt --strict`, logfmtLine, `a="\"`, `a=b=c`, "a=\xff")
}

func FuzzPattern(f *testing.F) {
	fuzzed(f, "| pattern `<a> <_> <a_b>x<c>` | decolorize", plainLine, "\x1b[", "\x1b]\x1b", "a b cxd")
}

func FuzzUnpack(f *testing.F) {
	fuzzed(f, "| unpack | logfmt", `{"_entry":"a=1","b":"c"}`, `{"_entry":"`, `{"a":"x","_entry":"a_b=2"}`)
}

// No template that is a line's text or has a line as data panics, or makes a long text.
func FuzzTemplate(f *testing.F) {
	f.Add(`{{.a | lower}} {{range .}}{{.}}{{end}}`, `a=1`)
	f.Add(`{{repeat 1000000 "x"}}{{printf "%5d" 1}}`, ``)
	f.Add(`{{regexReplaceAll .a .b "$0"}}{{date "2006" now}}{{fromJson __line__}}`, `{"a":1}`)
	f.Add(`{{alignLeft 5 .a}}{{substr 1 2 .a}}{{indent 2 .a}}{{trunc -1 .a}}{{round .a 2}}{{index . "a"}}`, `a=x`)
	f.Fuzz(func(t *testing.T, template, line string) {
		stages, _ := parse(t, `| logfmt`)
		p, err := compileFormat(stages, template)
		if err != nil {
			return
		}
		proc := p.Processor()
		if !proc.Process(at, nil, []byte(line), webStream()) || len(proc.Line()) > 4<<20+len(line) {
			t.Errorf("%q of %q makes %d bytes", template, line, len(proc.Line()))
		}
	})
}
