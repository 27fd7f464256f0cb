package message_test

import (
	"encoding/json"
	"strings"
	"testing"

	"logstow/message"
)

func FuzzAppendString(f *testing.F) {
	f.Add("a\"b\\c\n\r\t\x00\x1f\x7fé\u2028\xff\xc3")
	f.Fuzz(func(t *testing.T, text string) {
		quoted := message.AppendString([]byte("x"), text)
		var got string
		if err := json.Unmarshal(quoted[1:], &got); err != nil {
			t.Fatalf("%q is %s: %v", text, quoted, err)
		}
		if want := strings.ToValidUTF8(strings.Map(func(r rune) rune { return r }, text), "\ufffd"); got != want {
			t.Fatalf("%q is %q, want %q", text, got, want)
		}
		if other := message.AppendString([]byte("x"), []byte(text)); string(other) != string(quoted) {
			t.Fatalf("%q is %s as bytes, %s as a string", text, other, quoted)
		}
	})
}
