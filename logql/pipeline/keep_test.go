package pipeline_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
	"logstow/logql/pipeline"
	fields "logstow/message/parse"
)

// manyLabels is a line of about 1,000 labels, the most that a record may have.
func manyLabels(r *rand.Rand, form string) string {
	var b strings.Builder
	for i := range 990 + r.IntN(20) {
		fmt.Fprintf(&b, form, i)
	}
	return b.String()
}

// randomLine is a line for the parsers of randomFilter.
func randomLine(r *rand.Rand) string {
	switch r.IntN(60) {
	case 0:
		return "{" + manyLabels(r, `"n%d":1,`) + `"a":1,"b":"x","level":"y"}`
	case 1:
		return manyLabels(r, "n%d=1 ") + "a=1 b=x level=y"
	}
	switch r.IntN(4) {
	case 0:
		return damaged(r, randomPairs(r))
	case 1: // fields of text
		return fmt.Sprintf("%d;%s;%s", r.IntN(3), pick(r, "x", "y", "info", ""), pick(r, "1", "x", "a b"))
	}
	return damaged(r, randomObject(r, 2))
}

// randomFilter is stages that reject records, and others.
func randomFilter(r *rand.Rand) string {
	stages := make([]string, 1+r.IntN(5))
	for i := range stages {
		stages[i] = pick(r, `| json`, `| json`, `| logfmt`, `| logfmt --strict`, `| logfmt --keep-empty`, `| logfmt a, c="b"`, `| json a, b="a.b", c="c[0].a"`,
			"| pattern `<a>,<b>:<_>`", "| regexp `(?P<a>\\d)(?P<level>\\D)?`", `| unpack`, `| decolorize`,
			`| a=~".+"`, `| a_b="x"`, `| a > 0`, `| level="info"`, `| level_extracted="y"`, `| b="x" or a=1`, `| __error__=""`, `| __error__!=""`, `| __error_details__=~".*1000.*"`,
			`|~ "[xy]"`, `!= "null"`, `| keep a, level`, `| drop b, level`, `| drop a="1"`, `| label_format a=b`, `| label_format level=a`,
			`| line_format "{{.a}} x"`, `| label_format b="{{.a}}"`)
	}
	return strings.Join(stages, " ")
}

// A keeper keeps the records that stages keep, with their lines and the labels of the stream, also those with mistakes. What processors
// learn of lines makes no difference.
func TestKeeper(t *testing.T) {
	effort.Need(t, effort.Test, "takes a second")
	t.Parallel()
	r := testrand.New(t)
	text, err := fields.Compile("pattern '<a>;<level>;<b>'")
	if err != nil {
		t.Fatal(err)
	}
	kept := 0
	for range 400 {
		stream := webStream()
		stream.Parser = []*fields.Parser{nil, fields.Auto(), text}[r.IntN(3)]
		stages := randomFilter(r)
		parsed, _ := parse(t, stages)
		f, err := pipeline.CompileFilter(parsed)
		if err != nil {
			t.Fatalf("%s: %v", stages, err)
		}
		p := compile(t, stages, nil)
		processor := func() *pipeline.Processor {
			one := p.Processor()
			one.ReadFields()
			return one
		}
		keeper, learned := f.Keeper(), processor()
		for range 60 {
			line := randomLine(r)
			want := result(processor(), line, stream)
			if got := result(learned, line, stream); got != want {
				t.Fatalf("%s\n%s\n%s, want\n%s", stages, line, got, want)
			}
			keeps := keeper.Process(at, nil, []byte(line), stream)
			if keeps != (want != "-") {
				t.Fatalf("%s\n%s\nkept: %v, want\n%s", stages, line, keeps, want)
			}
			if !keeps {
				continue
			}
			kept++
			one := processor()
			one.Process(at, nil, []byte(line), stream)
			wantStream, _, _ := one.Labels()
			if s, _, _ := keeper.Labels(); string(keeper.Line()) != string(one.Line()) || s.String() != wantStream.String() {
				t.Fatalf("%s\n%s\nline %s %s, want %s %s", stages, line, keeper.Line(), s, one.Line(), wantStream)
			}
		}
	}
	if kept < 1000 {
		t.Errorf("%d records kept: the stages do not show much", kept)
	}
}

// Lines that go on otherwise than those before, whose names and places of values are the same.
func TestShapes(t *testing.T) {
	t.Parallel()
	values := []string{`1`, `"x"`, `.5`, `1.2.3`, `-1`, `1e3`, `1-`, `tru`, `true`, `null`, ``, ` 1`, `  "y"`, `"x\"y"`, `"x\\"`, `"open`, `{"c":2}`, `{}`, `{"c":.5}`, `[1,2]`, `[`, `{`}
	for _, stages := range []string{`| json`, `| json | a > 0`, `| json | b=~".*"`} {
		p := compile(t, stages, nil)
		learned := p.Processor()
		for _, end := range []string{`,"b":3}`, `}`, `,"b":"z"} rest`, `]`, ``, `,}`, `,"b":{"d":"e"},"f":1}`} {
			for range 2 {
				for _, value := range values {
					line := `{"a":` + value + end
					want := result(p.Processor(), line, webStream())
					if got := result(learned, line, webStream()); got != want {
						t.Fatalf("%s of %s: %s, want %s", stages, line, got, want)
					}
				}
			}
		}
	}
}
