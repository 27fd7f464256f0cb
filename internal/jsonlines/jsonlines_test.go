package jsonlines_test

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"logstow/internal/jsonlines"
)

func TestReader(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"a line\nanother\n", "a line\nanother\n"},
		{`[{"a":1},{"b":[2,{"c":"]}"}]}]`, "{\"a\":1}\n{\"b\":[2,{\"c\":\"]}\"}]}\n"},
		{"\ufeff [\r\n  {\r\n    \"a\": 1,\r\n    \"b\": \"x  \\\"}\\\\\"\r\n  },\r\n  {}\r\n]\r\n", "{\"a\": 1,\"b\": \"x  \\\"}\\\\\"}\n{}\n"},
		{`[{"a":1}][{"b":2}]`, "{\"a\":1}\n{\"b\":2}\n"},
		{"[{\"a\":1}]\nan end\n", "{\"a\":1}\nan end\n"},
		{"[{\"a\":1}]\n[error] x\n", "{\"a\":1}\n[error] x\n"},
		{`[{"a":1},{"b":`, "{\"a\":1}\n{\"b\":"},
		{"[error] x\n", "[error] x\n"},
		{"[[1]]\n", "[[1]]\n"},
		{"[", "["},
		{" \n\n", " \n\n"},
		{"\xef\xbb", "\xef\xbb"},
		{"\ufeffx", "\ufeffx"},
		{strings.Repeat(" ", 5000) + "[{}]", strings.Repeat(" ", 5000) + "[{}]"},
	} {
		for name, r := range map[string]io.Reader{
			"whole": strings.NewReader(c.in), "bytes": iotest.OneByteReader(strings.NewReader(c.in)),
			"with its end": iotest.DataErrReader(strings.NewReader(c.in)), "halves": iotest.HalfReader(strings.NewReader(c.in)),
		} {
			got, err := io.ReadAll(jsonlines.Reader(r))
			if string(got) != c.want || err != nil {
				t.Errorf("%s, %q: %q, want %q; error %v", name, c.in, got, c.want, err)
			}
		}
	}
}

// What was read is passed on without waiting for more.
func TestReaderDoesNotWait(t *testing.T) {
	t.Parallel()
	in, out := io.Pipe()
	defer func() { _ = out.Close() }()
	r := jsonlines.Reader(in)
	for _, c := range []struct{ in, want string }{{"[{\"a\":1},", "{\"a\":1}\n"}, {"{}", "{}\n"}, {"]\nx", "x"}, {"yz", "yz"}} {
		go func() { _, _ = io.WriteString(out, c.in) }()
		p := make([]byte, 100)
		n, err := r.Read(p)
		if string(p[:n]) != c.want || err != nil {
			t.Errorf("%q: %q, %v", c.in, p[:n], err)
		}
	}
}
