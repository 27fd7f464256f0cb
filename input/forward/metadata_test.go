package forward_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"logstow/input/forward"
	"logstow/internal/test/inputtest"
	"logstow/record/attributes"
)

// Metadata of an event, which are in an array with its time, become attributes with their types.
func TestMetadata(t *testing.T) {
	t.Parallel()
	var deep any = 1
	for range 30 {
		deep = []any{deep}
	}
	at := eventTime{second, 1}
	for name, c := range map[string]struct {
		when any
		want string
	}{
		"no array":     {at, ""},
		"time alone":   {[]any{at}, ""},
		"empty":        {[]any{at, ordered{}}, ""},
		"nil":          {[]any{at, nil}, ""},
		"no map":       {[]any{at, "x"}, ""},
		"types":        {[]any{at, ordered{"s", "a\"\n", "i", -1, "u", uint64(math.MaxUint64), "f", 1.0, "g", float32(0.1), "n", nil, "b", true}}, `{"b":true,"f":1.0,"g":0.1,"i":-1,"n":null,"s":"a\"\n","u":18446744073709551615}`},
		"bytes":        {[]any{at, ordered{"b", []byte("\xff"), "e", msgpack.RawMessage{0xd5, 9, 'a', 'b'}, "t", at, "nan", math.NaN()}}, `{"b":{"$bytes":"/w=="},"e":{"$bytes":"YWI="},"nan":{"$double":"NaN"},"t":"2026-11-18T11:06:40.000000001Z"}`},
		"nested":       {[]any{at, ordered{"otlp", ordered{"trace_id", "5b", "a", []any{1, ordered{"x", 2}}}, "resource", "r"}}, `{"attribute.resource":"r","otlp":{"a":[1,{"x":2}],"trace_id":"5b"}}`},
		"keys":         {[]any{at, ordered{1, 2, nil, 3, 1.5, 4}}, `{"1":2,"1.5":4,"null":3}`},
		"equal names":  {[]any{at, ordered{"a", 1, "a", 2}}, `{"$cut":1,"a":1}`},
		"deep":         {[]any{at, ordered{"d", deep}}, `{"d":` + strings.Repeat("[", 16) + `"` + strings.Repeat("[", 14) + "1" + strings.Repeat("]", 14) + `"` + strings.Repeat("]", 16) + `}`},
		"too large":    {[]any{at, ordered{"a", strings.Repeat("x", 100_000), "b", 1}}, `{"$cut":2}`},
		"more behind":  {[]any{at, ordered{"a", 1}, "x"}, `{"a":1}`},
		"rejected one": {[]any{77, ordered{"a", 1}}, `{"a":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := inputtest.NewSink()
			server, _ := serve(t, forward.Options{Options: options(s)})
			conn := dial(t, server)
			one := pack(t, []any{c.when, ordered{"log", "a"}})
			inputtest.Write(t, conn, pack(t, []any{"app", slices.Concat(one, pack(t, []any{at, ordered{"log", "b"}}), one), chunk("a")}))
			acknowledged(t, conn, "a")
			got := s.Wait(t, 3)
			for i, want := range []string{c.want, "", c.want} {
				if string(got[i].Attributes) != want || want != "" && !attributes.Valid(got[i].Attributes) || i == 1 && string(got[i].Message) != "b" {
					t.Errorf("%d: %.300s %s, want %s", i, got[i].Attributes, got[i].Message, want)
				}
			}
		})
	}
}
