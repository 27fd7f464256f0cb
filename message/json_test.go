package message_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"logstow/message"
)

func TestMembers(t *testing.T) {
	t.Parallel()
	for object, want := range map[string][]string{
		`{}`:      nil,
		`{"a":1}`: {`a`, `1`},
		` { `:     nil,
		`{ "a\"b" : "c\\" ,"d":{"e":["}"]},"f":[1,{"]":2}], "g":-1.5e3 }x`: {`a\"b`, `"c\\"`, `d`, `{"e":["}"]}`, `f`, `[1,{"]":2}]`, `g`, `-1.5e3`},
		`{"a":true,"b":`:  {`a`, `true`},
		`{"a":null,"b":}`: {`a`, `null`},
		`{"a":"x`:         nil,
		`{"a":[1`:         nil,
		`{"a" 1}`:         nil,
		`{"a`:             nil,
	} {
		var got []string
		m := message.Object([]byte(object))
		for name, value, ok := m.Next(); ok; name, value, ok = m.Next() {
			got = append(got, string(name), string(value))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", object, diff)
		}
	}
}

func TestUnescape(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`plain`:                   "plain",
		`\"\\\/\b\f\n\r\t`:        "\"\\/\b\f\n\r\t",
		`\u0041\u00e9\u20AC`:      "Aé€",
		`\ud83d\ude00`:            "😀",
		`\ud83d`:                  `\ud83d`,
		`\ude00\ud83d x`:          `\ude00\ud83d x`,
		`\u12`:                    `\u12`,
		`\u00zz`:                  `\u00zz`,
		`\x`:                      `\x`,
		`end\`:                    `end\`,
		strings.Repeat(`\"a`, 50): strings.Repeat(`"a`, 50),
		`a` + "\xff" + `\n` + "é": "a\xff\né",
		strings.Repeat("a", 40) + `\n` + strings.Repeat("b", 40): strings.Repeat("a", 40) + "\n" + strings.Repeat("b", 40),
	} {
		if got := message.Unescape([]byte("before "), []byte(text)); string(got) != "before "+want {
			t.Errorf("%s: %q", text, got)
		}
		if got := message.UnescapeInPlace([]byte(text)); string(got) != want {
			t.Errorf("%s: %q in place", text, got)
		}
	}
}

// What is a JSON string to encoding/json is the same here, and the members of an
// object are all there.
func FuzzAgainstJSON(f *testing.F) {
	f.Add([]byte(`{"a\u0041":"\ud83d\ude00 \n\"","b":[1,{"c":"]"}],"d":-1e5}`))
	f.Add([]byte(`{"a":"\\","b":{}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		names := 0
		m := message.Object(append([]byte("{"), text...))
		for _, _, ok := m.Next(); ok; _, _, ok = m.Next() {
			names++
		}
		if names > len(text) {
			t.Fatalf("%d names in %d bytes", names, len(text))
		}
		var fields map[string]json.RawMessage
		if len(text) == 0 || text[0] != '{' || json.Unmarshal(text, &fields) != nil {
			return
		}
		seen := make(map[string]bool)
		m = message.Object(text)
		for name, value, ok := m.Next(); ok; name, value, ok = m.Next() {
			var want string
			quoted := append(append([]byte{'"'}, name...), '"')
			if err := json.Unmarshal(quoted, &want); err != nil {
				t.Fatalf("name %q: %v", name, err)
			}
			seen[want] = true
			if utf8.Valid(name) && !bytes.Contains(bytes.ToLower(name), []byte(`\ud`)) {
				if got := message.Unescape(nil, name); string(got) != want {
					t.Fatalf("%q is %q, want %q", name, got, want)
				}
			}
			if !json.Valid(value) {
				t.Fatalf("%q is no value", value)
			}
		}
		if len(seen) != len(fields) {
			t.Fatalf("%q: %d names, want %d", text, len(seen), len(fields))
		}
	})
}
