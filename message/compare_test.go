package message_test

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"logstow/internal/test/testrand"
	"logstow/message"
)

func bare(text string) message.Value { return message.Value{Kind: message.Bare, Text: []byte(text)} }

func TestCompare(t *testing.T) {
	t.Parallel()
	quoted := func(text string) message.Value { return message.Value{Kind: message.String, Text: []byte(text)} }
	number := func(text string) message.Value { return message.Value{Kind: message.Number, Text: []byte(text)} }
	truth := func(text string) message.Value { return message.Value{Kind: message.Bool, Text: []byte(text)} }
	for _, c := range []struct {
		a, b message.Value
		want message.Order
	}{
		{number("9007199254740993"), number("9007199254740992.0"), message.Greater},
		{number("9007199254740993"), number("9007199254740993.0"), message.Equal},
		{number("18446744073709551615"), number("18446744073709551614"), message.Greater},
		{number("-9223372036854775808"), number("18446744073709551615"), message.Less},
		{number("123456789012345678901234567890"), number("123456789012345678901234567891"), message.Less},
		{number("1e999"), number("1e998"), message.Greater},
		{number("-1e-999"), number("0"), message.Less},
		{number("0.1"), number("0.1000000000000000055511151231257827"), message.Less},
		{number("-0"), number("0.0"), message.Equal},
		{bare("007"), bare("7"), message.Equal},
		{bare("007"), number("7"), message.Equal},
		{bare("007"), quoted("7"), message.Less},
		{bare("007"), quoted("007"), message.Equal},
		{quoted("7"), number("7"), message.Incomparable},
		{bare("x"), number("7"), message.Incomparable},
		{bare("true"), truth("true"), message.Same},
		{truth("false"), truth("true"), message.Different},
		{truth("true"), quoted("true"), message.Incomparable},
		{message.Value{}, message.Value{}, message.Incomparable},
		{message.Value{Kind: message.Null, Text: []byte("null")}, message.Value{Kind: message.Null, Text: []byte("null")}, message.Incomparable},
		{message.Value{Kind: message.Composite, Text: []byte("[]")}, message.Value{Kind: message.Composite, Text: []byte("[]")}, message.Incomparable},
	} {
		back := c.want
		if back <= message.Greater {
			back = message.Greater - back
		}
		if got, other := message.Compare(c.a, c.b), message.Compare(c.b, c.a); got != c.want || other != back {
			t.Errorf("%s and %s: %d, %d the other way round; want %d, %d", c.a.Text, c.b.Text, got, other, c.want, back)
		}
	}
}

// Numbers compare as those of math/big do.
func TestCompareAsBigRationals(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	digits := func(most int) string {
		b := make([]byte, 1+rnd.IntN(most))
		for i := range b {
			b[i] = "0001234567899"[rnd.IntN(13)]
		}
		return string(b)
	}
	var last string
	number := func() string {
		if rnd.IntN(3) == 0 && last != "" { // a neighbour
			b := []byte(last)
			if i := rnd.IntN(len(b)); '0' <= b[i] && b[i] <= '9' {
				b[i] = '0' + byte(rnd.IntN(10))
			}
			return string(b)
		}
		text := []string{"", "-"}[rnd.IntN(2)] + digits(25)
		if rnd.IntN(2) == 0 {
			text += "." + digits(25)
		}
		if rnd.IntN(3) == 0 {
			text += []string{"e", "E", "e+", "e-"}[rnd.IntN(4)] + digits(3)
		}
		last = text
		return text
	}
	for range 100_000 {
		a, b := number(), number()
		x, okX := new(big.Rat).SetString(a)
		y, okY := new(big.Rat).SetString(b)
		if !okX || !okY {
			t.Fatal(a, b)
		}
		if got, want := message.Compare(bare(a), bare(b)), message.Order(x.Cmp(y)+1); got != want {
			t.Fatalf("%s and %s: %d, want %d", a, b, got, want)
		}
		n, _ := bare(a).Decimal()
		if n.IsInteger() != x.IsInt() {
			t.Fatalf("%s is an integer: %v", a, n.IsInteger())
		}
	}
}

func TestNested(t *testing.T) {
	t.Parallel()
	array, _ := message.ParseJSON([]byte(`[ 1 , "a\"b" ,{"x":[2]}, null,[], true ]`))
	var got []string
	for v := range array.Elements() {
		got = append(got, fmt.Sprintf("%d:%s", v.Kind, v.Text))
	}
	if want := `3:1 4:a"b 6:{"x":[2]} 1:null 6:[] 2:true`; strings.Join(got, " ") != want {
		t.Errorf("%q, want %q", got, want)
	}
	object, _ := message.ParseJSON([]byte(`{"a":{"b":5},"c.d":6,"\u0065":7}`))
	got = nil
	for name, v := range object.Members() {
		got = append(got, fmt.Sprintf("%s=%s", name, v.Text))
	}
	if want := `a={"b":5} c.d=6 e=7`; strings.Join(got, " ") != want {
		t.Errorf("%q, want %q", got, want)
	}
	for name, want := range map[string]string{"a.b": "5", "c.d": "6", "e": "7", "x": ""} {
		if v := object.Member(name); string(v.Text) != want {
			t.Errorf("%s: %q, want %q", name, v.Text, want)
		}
	}
	if _, ok := message.ParseJSON(nil); ok || array.Member("a").Kind != message.Missing {
		t.Error("a value of nothing")
	}
	for range object.Elements() {
		t.Error("an object has elements")
	}
}
