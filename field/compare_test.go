package field_test

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"logstow/field"
	"logstow/internal/test/testrand"
)

func bare(text string) field.Value { return field.Value{Kind: field.Bare, Text: []byte(text)} }

func TestDecimal(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{"0": 0, "-7": -7, "007": 7, "1.5": 1.5, "1e3": 1000, "123456789012345678901": 123456789012345678901} {
		if n, ok := bare(text).Decimal(); !ok || n.Float() != want || string(n.Append(nil)) != strings.TrimLeft(text, "0")+strings.Repeat("0", strings.Count(text, "0")/len(text)) {
			t.Errorf("%s: %v %v %s", text, n.Float(), ok, n.Append(nil))
		}
	}
	for _, text := range []string{"", "-", "1.", ".5", "1e", "0x10", "1_000", "NaN", "Inf", "1.5s", "+1", "--1", "1e1000000000", "1 "} {
		if n, ok := bare(text).Decimal(); ok {
			t.Errorf("%q: %v", text, n.Float())
		}
	}
	for text, want := range map[string]string{
		"0": "0 whole integer", "-0": "0 whole integer", "9223372036854775807": "9223372036854775807 whole integer",
		"-9223372036854775808": "-9223372036854775808 whole integer", "9223372036854775808": "large whole integer",
		"18446744073709551615": "large whole integer", "18446744073709551616": "large integer", "-9223372036854775809": "large integer",
		"1.0": "large integer", "20e-1": "large integer", "1.5": "large", "1e999": "large integer", "0.0": "large integer",
	} {
		n, ok := bare(text).Decimal()
		got := "large"
		if i, ok := n.Int64(); ok {
			got = fmt.Sprint(i)
		}
		if n.Whole() {
			got += " whole"
		}
		if n.IsInteger() {
			got += " integer"
		}
		if !ok || got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	quoted := func(text string) field.Value { return field.Value{Kind: field.String, Text: []byte(text)} }
	number := func(text string) field.Value { return field.Value{Kind: field.Number, Text: []byte(text)} }
	truth := func(text string) field.Value { return field.Value{Kind: field.Bool, Text: []byte(text)} }
	for _, c := range []struct {
		a, b field.Value
		want field.Order
	}{
		{number("9007199254740993"), number("9007199254740992.0"), field.Greater},
		{number("9007199254740993"), number("9007199254740993.0"), field.Equal},
		{number("18446744073709551615"), number("18446744073709551614"), field.Greater},
		{number("-9223372036854775808"), number("18446744073709551615"), field.Less},
		{number("123456789012345678901234567890"), number("123456789012345678901234567891"), field.Less},
		{number("1e999"), number("1e998"), field.Greater},
		{number("-1e-999"), number("0"), field.Less},
		{number("0.1"), number("0.1000000000000000055511151231257827"), field.Less},
		{number("-0"), number("0.0"), field.Equal},
		{bare("007"), bare("7"), field.Equal},
		{bare("007"), number("7"), field.Equal},
		{bare("007"), quoted("7"), field.Less},
		{bare("007"), quoted("007"), field.Equal},
		{quoted("7"), number("7"), field.Incomparable},
		{bare("x"), number("7"), field.Incomparable},
		{bare("true"), truth("true"), field.Same},
		{truth("false"), truth("true"), field.Different},
		{truth("true"), quoted("true"), field.Incomparable},
		{field.Value{}, field.Value{}, field.Incomparable},
		{field.Value{Kind: field.Null, Text: []byte("null")}, field.Value{Kind: field.Null, Text: []byte("null")}, field.Incomparable},
		{field.Value{Kind: field.Composite, Text: []byte("[]")}, field.Value{Kind: field.Composite, Text: []byte("[]")}, field.Incomparable},
	} {
		back := c.want
		if back <= field.Greater {
			back = field.Greater - back
		}
		if got, other := field.Compare(c.a, c.b), field.Compare(c.b, c.a); got != c.want || other != back {
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
		if got, want := field.Compare(bare(a), bare(b)), field.Order(x.Cmp(y)+1); got != want {
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
	array, _ := field.ParseJSON([]byte(`[ 1 , "a\"b" ,{"x":[2]}, null,[], true ]`))
	var got []string
	for v := range array.Elements() {
		got = append(got, fmt.Sprintf("%d:%s", v.Kind, v.Text))
	}
	if want := `3:1 4:a"b 6:{"x":[2]} 1:null 6:[] 2:true`; strings.Join(got, " ") != want {
		t.Errorf("%q, want %q", got, want)
	}
	object, _ := field.ParseJSON([]byte(`{"a":{"b":5},"c.d":6,"\u0065":7}`))
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
	if _, ok := field.ParseJSON(nil); ok || array.Member("a").Kind != field.Missing {
		t.Error("a value of nothing")
	}
	for range object.Elements() {
		t.Error("an object has elements")
	}
}
