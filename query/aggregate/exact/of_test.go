package exact_test

import (
	"testing"

	"logstow/field"
	"logstow/query/aggregate/exact"
)

// Numbers, and numbers with units, in seconds and bytes.
func TestOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind field.Kind
		text string
		want string // "" for no number
	}{
		{field.Number, "12.5", "12.5"},
		{field.Bare, "-3", "-3"},
		{field.String, "3", ""},
		{field.String, "154ms", "0.154"},
		{field.Bare, "1m2.5s", "62.5"},
		{field.Bare, "-20us", "-0.00002"},
		{field.Bare, "17ns", "0.000000017"},
		{field.String, "3KiB", "3072"},
		{field.String, "1.5 MB", "1500000"},
		{field.Bare, "200w", "120960000"},
		{field.Bare, "ms", ""},
		{field.Bare, "12 apples", ""},
		{field.Bool, "true", ""},
		{field.Null, "null", ""},
	} {
		n, ok := exact.Of(field.Value{Kind: c.kind, Text: []byte(c.text)})
		want, isNumber := exact.Parse([]byte(c.want))
		if ok != isNumber || ok && n.Compare(want) != 0 {
			t.Errorf("%v %q: %v %v, want %q", c.kind, c.text, n.Float(), ok, c.want)
		}
	}
}
