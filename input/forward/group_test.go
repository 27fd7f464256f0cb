package forward_test

import (
	"slices"
	"strings"
	"testing"

	"logstow/input/forward"
	"logstow/internal/test/inputtest"
	"logstow/record/attributes"
)

// begin is the event with which Fluent Bit's OTLP input begins a group.
func begin(body any) []any {
	return []any{[]any{-1, ordered{"schema", "otlp", "resource_id", 0, "scope_id", 0}}, body}
}

// Attributes of resource and scope, which Fluent Bit sends once for a group of events, are those of each event of the group.
func TestGroups(t *testing.T) {
	t.Parallel()
	at := eventTime{second, 1}
	a, b := []any{at, ordered{"log", "a"}}, []any{[]any{at, ordered{"x", 1, "resource", "own", "scope_name", "own"}}, ordered{"log", "b"}}
	end := []any{[]any{eventTime{1<<32 - 2, 0}, ordered{}}, ordered{}}
	both := begin(ordered{
		"resource",
		ordered{"attributes", ordered{"service.name", "shop", "n", 1}, "dropped_attributes_count", 2, "schema_url", ""},
		"scope",
		ordered{"schema_url", "s", "name", "lib", "version", "1", "attributes", ordered{"y", true}, "dropped_attributes_count", 3},
	})
	const ofBoth = `"resource":{"n":1,"service.name":"shop"},"resource_dropped_attributes_count":2,"scope":{"y":true},"scope_dropped_attributes_count":3,"scope_name":"lib","scope_schema_url":"s","scope_version":"1"`
	const ownB = `{"attribute.resource":"own","attribute.scope_name":"own",`
	resource := func(attributes ...any) []any {
		return begin(ordered{"resource", ordered{"attributes", ordered(attributes)}})
	}
	const ofB = `{"attribute.resource":"own","attribute.scope_name":"own","x":1}`
	for name, c := range map[string]struct {
		events []any
		want   []string
	}{
		"both":              {[]any{b, both, a, b, end, a, b}, []string{ofB, "{" + ofBoth + "}", ownB + ofBoth + `,"x":1}`, "", ofB}},
		"no end":            {[]any{both, a}, []string{"{" + ofBoth + "}"}},
		"end only":          {[]any{end, a, end, b}, []string{"", ofB}},
		"begin in a group":  {[]any{both, resource("r", 1), a, end, a}, []string{`{"resource":{"r":1}}`, ""}},
		"empty":             {[]any{begin(ordered{"resource", ordered{}, "scope", ordered{}}), a, begin(ordered{}), a}, []string{"", ""}},
		"no map":            {[]any{begin("x"), a, begin(nil), b, begin(1), a}, []string{"", ofB, ""}},
		"parts are no maps": {[]any{begin(ordered{"resource", 1, "scope", ordered{"attributes", 1}}), a}, []string{`{"$cut":2}`}},
		"unknown": {
			[]any{begin(ordered{"other", 1, 2, 3, "scope", ordered{"id", 1, "name", ordered{"a", 1}}}), a}, []string{`{"$cut":3,"scope_name":{"a":1}}`},
		},
		"repeated": {
			[]any{begin(ordered{"scope", ordered{"name", "a", "name", "b", "attributes", ordered{"a", 1}, "attributes", ordered{"b", 1}}, "scope", ordered{"name", "c"}}), a},
			[]string{`{"$cut":3,"scope":{"a":1},"scope_name":"a"}`},
		},
		"too large": {[]any{resource("a", strings.Repeat("x", 100_000)), a}, []string{`{"$cut":1}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := inputtest.NewSink()
			server, _ := serve(t, forward.Options{Options: options(s)})
			conn := dial(t, server)
			var packed []byte
			for _, e := range c.events {
				packed = append(packed, pack(t, e)...)
			}
			inputtest.Write(t, conn, pack(t, []any{"app", packed, chunk("a")}))
			acknowledged(t, conn, "a")
			inputtest.Write(t, conn, pack(t, []any{"app", pack(t, a), chunk("b")})) // a group ends with its message
			acknowledged(t, conn, "b")
			var got []string
			for _, r := range s.Wait(t, len(c.want)+1) {
				got = append(got, string(r.Attributes))
				if len(r.Attributes) > 0 && !attributes.Valid(r.Attributes) {
					t.Errorf("not valid: %s", r.Attributes)
				}
			}
			if want := append(c.want, ""); !slices.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}
