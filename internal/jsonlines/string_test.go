package jsonlines_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"logstow/internal/jsonlines"
)

// All commands print the same text as the same JSON string: those that encode values with jsonlines too.
func FuzzAppendString(f *testing.F) {
	f.Add("<a href=\"x\">&amp;\\</a>\b\f\n\r\t\x00\x1b[31m\x7f\u0085\u009b\u00a0é\u2028\u2029\u202e\u2066\ufeff\ufffd\U0001f600\xff\xc3")
	f.Fuzz(func(t *testing.T, text string) {
		got := jsonlines.AppendString([]byte("x"), []byte(text))[1:]
		var want bytes.Buffer
		if err := jsonlines.Write(&want, text); err != nil || string(got)+"\n" != want.String() {
			t.Errorf("%q is %s, and %s of jsonlines, %v", text, got, &want, err)
		}
		var back string
		if err := json.Unmarshal(got, &back); err != nil || back != strings.ToValidUTF8(text, "\ufffd") && utf8.ValidString(text) {
			t.Errorf("%q is %s, %q: %v", text, got, back, err)
		}
	})
}

func TestAppendString(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"<b>&'":                   `"<b>&'"`,
		"\"\\/\b\f\n\r\t":         `"\"\\/\b\f\n\r\t"`,
		"\x00\x1b\x7f\u009b":      `"\u0000\u001b\u007f\u009b"`,
		"\u202e\u2066\u2028":      `"\u202e\u2066\u2028"`,
		"\xff\ufffd":              `"\ufffd\ufffd"`,
		"é\u00a0\ufeff\U0001f600": "\"é\u00a0\ufeff\U0001f600\"",
	} {
		if got := jsonlines.AppendString(nil, []byte(text)); string(got) != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}
