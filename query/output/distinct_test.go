package output_test

import (
	"bytes"
	"testing"

	"logstow/query"
	"logstow/query/output"
)

func TestDistinct(t *testing.T) {
	t.Parallel()
	values := []query.DistinctValue{{Text: []byte("a, \"b\"\n\x1b\t"), Count: 2}, {Text: []byte("1.50"), Bare: true, Count: 1}, {Text: []byte("é\xff"), Count: 3}}
	for _, c := range []struct {
		format   string
		terminal bool
		want     string
	}{
		{output.Text, false, "a, \"b\"\\n\x1b\\t\n1.50\né\xff\n"},
		{output.Pretty, true, "a, \"b\"\\n\\x1b\\t\n1.50\né\\xff\n"},
		{output.JSON, true, `{"value":"a, \"b\"\n\u001b\t","count":2}` + "\n" + `{"value":1.50,"count":1}` + "\n" + `{"value":"é\ufffd","count":3}` + "\n"},
		{output.CSV, false, "value,count\n\"a, \"\"b\"\"\n\x1b\t\",2\n1.50,1\né\xff,3\n"},
		{output.CSV, true, "value,count\n\"a, \"\"b\"\"\n\\x1b\t\",2\n1.50,1\né\\xff,3\n"},
	} {
		var out bytes.Buffer
		w, err := output.NewDistinctWriter(&out, c.format, c.terminal)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range values {
			if err := w.Write(v); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil || out.String() != c.want {
			t.Errorf("%s, terminal %v: %q, want %q, %v", c.format, c.terminal, out.String(), c.want, err)
		}
	}
	for _, format := range []string{output.Template, "xml"} {
		if _, err := output.NewDistinctWriter(&bytes.Buffer{}, format, false); err == nil {
			t.Errorf("%s is a format", format)
		}
	}
}
