package output_test

import (
	"bytes"
	"testing"

	"logstow/query/output"
)

// Control bytes are escapes, wherever the pieces that are written end.
func TestVisibleWriter(t *testing.T) {
	t.Parallel()
	const text = "a\tb\n\x1b[31mé日\xe2\x80\xaex\xff\xe2\x80\u0085\U0001f600\n"
	const want = "a\tb\n\\x1b[31mé日\\u202ex\\xff\\xe2\\x80\\u0085\U0001f600\n"
	for size := 1; size <= len(text); size++ {
		var out bytes.Buffer
		w := output.NewVisibleWriter(&out)
		for rest := []byte(text); len(rest) > 0; {
			n, err := w.Write(rest[:min(size, len(rest))])
			if err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if out.String() != want {
			t.Errorf("pieces of %d bytes: %q, want %q", size, out.String(), want)
		}
	}
}
