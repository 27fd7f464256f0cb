package message_test

import (
	"bytes"
	"strings"
	"testing"

	"logstow/message"
)

// setSeeds are messages in which a Set and a Finder may disagree.
var setSeeds = []string{
	`{"a":1,"b":"x","c":{"d":null,"a":true},"e":[1,{"a":2}]}`,
	`{"b":"a","a":1,"a":2}`,
	`{"c.d":1,"c":{"d":2}}`,
	`{"c":{"d":{"d":1}},"c.d":2}`,
	`{"c":{"x":1},"c.d":2}`,
	`{"a":x"b":5,"b":1}`,
	`{"a":"\u0041\"b\":1","b":"\\"}`,
	`{"\u0061":1,"a":2}`,
	`{"a":1 "b":2}`,
	`{,"a":1,}`,
	`{"0":"0"":":0 "":0}`,
	`{"a":01,"b":-0.5e+3,"c":tru}`,
	`{"a":{"b":1`,
	`{"a":1} tail`,
	` {"a":1} `,
	`a=1 b="x y" {"c":1}`,
	`a=1 b="x \"y\" c=2" c.d=5 e="open`,
	`"a=1" b="x"a=2 =3 status=`,
	`=3 a=1`,
	`{"c":{"e":{"x":1 y},"d":2}}`,
	strings.Repeat(`{"a":`, 8) + "1" + strings.Repeat("}", 8),
	strings.Repeat(`{"a":`, 9) + "1" + strings.Repeat("}", 9),
	"xa=1\ta=2 a=3\nb=", "a= a=2 .d=3 c.=4", `a="\"" b="\`, `a=1"b=2" c=3`,
	`{"":1,".d":2,"c":{"":3}}`,
	`{}`, `{`, ``, `[]`,
}

// checkSet compares a Set with a Finder of each name, whether it finds out forms or not. The second message is found with what the Set remembers of
// the first.
func checkSet(t *testing.T, first, second []byte) (found bool) {
	t.Helper()
	found = checkSetForm(t, false, first, second)
	if also := checkSetForm(t, true, first, second); also != found {
		t.Errorf("%q is found: %v, with its form: %v", second, found, also)
	}
	return found
}

func checkSetForm(t *testing.T, form bool, first, second []byte) (found bool) {
	t.Helper()
	names := []string{"a", "b", "c", "c.d", "c.d.d", "e", "", "c.", ".d", "status", `a"b`}
	s := message.NewSet(names)
	if form {
		s.CheckForm()
	}
	values := make([]message.Value, len(names))
	for _, msg := range [][]byte{first, second} {
		if found = s.Find(msg, values); !found {
			continue
		}
		for i, name := range names {
			want := message.NewFinder(name).Find(msg)
			if got := values[i]; got.Kind != want.Kind || !bytes.Equal(got.Text, want.Text) {
				t.Errorf("%q of %q is %d %q, want %d %q", name, msg, got.Kind, got.Text, want.Kind, want.Text)
			}
		}
	}
	return found
}

func TestSet(t *testing.T) {
	t.Parallel()
	found := 0
	for _, first := range setSeeds {
		for _, second := range setSeeds {
			if checkSet(t, []byte(first), []byte(second)) {
				found++
			}
		}
	}
	// Nine are objects, nine neither objects nor end with one.
	if want := 18 * len(setSeeds); found != want {
		t.Errorf("%d messages were walked, want %d", found, want)
	}
}

func FuzzSet(f *testing.F) {
	for i, m := range setSeeds {
		f.Add([]byte(m), []byte(setSeeds[len(setSeeds)-1-i]))
	}
	f.Fuzz(func(t *testing.T, first, second []byte) { checkSet(t, first, second) })
}
