package input_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"logstow/input"
	"logstow/input/multiline"
	"logstow/internal/test/inputtest"
	"logstow/internal/test/testrand"
	"logstow/process"
	"logstow/record/attributes"
)

// Docker's attrs become the attributes of the records whose lines they are on.
func TestDockerAttributes(t *testing.T) {
	t.Parallel()
	line := func(text, attrs string) string {
		return fmt.Sprintf(`{"log":%q,"stream":"stdout",%s"time":"2026-11-20T11:00:01Z"}`+"\n", text, attrs)
	}
	const a, b = `"attrs":{"z":"\u0031","a":"x\"","resource":"r"},`, `"attrs":{"b":1,"b":2},`
	const encodedA, encodedB = `{"a":"x\"","attribute.resource":"r","z":"1"}`, `{"$cut":1,"b":1}`
	text := line("one\n", "") + line("two in ", a) + line("parts\n", a) + line("first\n", a) + line("\tat second\n", a) + line("\tat of another\n", b) + line("three\n", b) +
		line("four\n", `"attrs":{"a":1,},`) + line("five\n", `"attrs":"none",`) + line("six\n", `"attrs":{},`) + "damaged\n"
	var got []string
	s := inputtest.NewSink()
	readAll(t, input.Options{Sink: s, Now: noon, Lines: input.Lines{Multiline: multiline.Options{Start: regexp.MustCompile(`^\S`)}}}, text)
	for _, r := range s.Wait(t, 9) {
		got = append(got, fmt.Sprintf("%s %s", r.Message, r.Attributes))
	}
	want := []string{
		"one ", "two in parts " + encodedA, "first\n\tat second " + encodedA, "\tat of another " + encodedB, "three " + encodedB,
		`four {"attrs":"{\"a\":1,}"}`, "five ", "six ", "damaged ",
	}
	slices.Sort(got) // those of streams are in any order
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Any attributes within the limits are what the sink gets, byte for byte, also if records are processed and nothing applies to them.
func TestAttributesUnchanged(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	rules, err := process.New(process.Options{
		Redact: []string{"card"}, Drop: []process.Rule{{Contains: []string{"never"}, Where: `never == "seen"`}}, DropAttributes: []string{"never"}, RateLimit: 1e9,
	})
	if err != nil {
		t.Fatal(err)
	}
	word := func() string {
		const letters = "ab.$\"\\\n\x00\x7f\xffé/"
		b := make([]byte, rnd.IntN(20))
		for i := range b {
			b[i] = letters[rnd.IntN(len(letters))]
		}
		return string(b)
	}
	var value func(depth int) []byte
	value = func(depth int) []byte {
		switch n := rnd.IntN(9); {
		case n == 0 && depth < 6:
			return attributes.AppendArray(nil, [][]byte{value(depth + 1), value(depth + 1)})
		case n == 1 && depth < 6:
			m, _ := attributes.AppendMap(nil, []attributes.Member{{Name: word(), Value: value(depth + 1)}, {Name: word(), Value: value(depth + 1)}})
			return m
		case n == 2:
			return attributes.AppendInt(nil, rnd.Int64N(1000))
		case n == 3:
			return attributes.AppendDouble(nil, rnd.NormFloat64()/0.0001)
		case n == 4:
			return attributes.AppendBool(nil, depth%2 == 0)
		case n == 5:
			return attributes.AppendNull(nil)
		}
		return attributes.AppendText(nil, word())
	}
	members := func(prefix string) (all []attributes.Member) {
		for i := range rnd.IntN(12) {
			all = append(all, attributes.Member{Name: fmt.Sprint(prefix, i, strings.ToValidUTF8(word(), "")), Value: value(0)})
		}
		return all
	}
	for _, processor := range []input.Processor{nil, process.NewSwitch(nil), rules} {
		s := inputtest.NewSink()
		r := receiver(t, input.Options{Sink: s, Process: processor})
		var events []input.Event
		for range 300 {
			set := attributes.Set{Own: members("o"), Resource: attributes.NewGroup(members("r")), Scope: attributes.NewGroup(members("s")), Stream: attributes.NewGroup(members("t"))}
			encoded, cut := set.Append(nil)
			if cut > 0 || len(encoded) > 0 && !attributes.Valid(encoded) {
				t.Fatalf("%d cut: %s", cut, encoded)
			}
			events = append(events, input.Event{Attributes: encoded, Message: []byte("m")})
		}
		if err := r.Receive(t.Context(), "", events); err != nil {
			t.Fatal(err)
		}
		for i, got := range s.Wait(t, len(events)) {
			if string(got.Attributes) != string(events[i].Attributes) {
				t.Fatalf("%s became %s", events[i].Attributes, got.Attributes)
			}
		}
	}
}

// Attributes count like messages for the size of a request.
func TestAttributesCount(t *testing.T) {
	t.Parallel()
	r := receiver(t, input.Options{Sink: inputtest.NewSink()})
	long := attributes.AppendText(nil, strings.Repeat("x", 60<<10))
	set := attributes.Set{Own: []attributes.Member{{Name: "a", Value: long}}}
	encoded, _ := set.Append(nil)
	events := make([]input.Event, input.MaxReceive/len(encoded)+1)
	for i := range events {
		events[i] = input.Event{Attributes: encoded}
	}
	if err := r.Receive(t.Context(), "", events); err == nil {
		t.Error("too much is accepted")
	}
	if err := r.Receive(t.Context(), "", events[1:]); err != nil {
		t.Error(err)
	}
}
