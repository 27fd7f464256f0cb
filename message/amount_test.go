package message_test

import (
	"testing"

	"logstow/exact"
	"logstow/message"
)

// Numbers, and numbers with units, in seconds and bytes.
func TestAmount(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind message.Kind
		text string
		want string // "" for no number
	}{
		{message.Number, "12.5", "12.5"},
		{message.Bare, "-3", "-3"},
		{message.String, "3", ""},
		{message.String, "154ms", "0.154"},
		{message.Bare, "1m2.5s", "62.5"},
		{message.Bare, "-20us", "-0.00002"},
		{message.Bare, "17ns", "0.000000017"},
		{message.String, "3KiB", "3072"},
		{message.String, "1.5 MB", "1500000"},
		{message.Bare, "200w", "120960000"},
		{message.Bare, "ms", ""},
		{message.Bare, "12 apples", ""},
		{message.Bool, "true", ""},
		{message.Null, "null", ""},
	} {
		n, ok := message.Value{Kind: c.kind, Text: []byte(c.text)}.Amount()
		want, isNumber := exact.Parse([]byte(c.want))
		if ok != isNumber || ok && n.Compare(want) != 0 {
			t.Errorf("%v %q: %v %v, want %q", c.kind, c.text, n.Float(), ok, c.want)
		}
	}
}
