package match

import (
	"testing"
	"time"

	"logstow/record"
)

// A template is found in texts however JSON escapes them, and searched by one of its words.
func TestTemplates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		template, message string
		want              bool
	}{
		{`say "hi" to <_>/b\c`, `{"msg":"say \"hi\" to a\/b\\c"}`, true},
		{`say "hi" to <_>/b\c`, `{"msg":"say \"hi\" to a/b\\c"}`, true},
		{`say "hi" to <_>`, `say "hi" to a`, true},
		{`<_> and>more`, `{"msg":"\u0061 \u0061nd\u003emore"}`, true},
		{`a b <_>`, `{"msg":"a\tb\u0020c"}`, true},
		{`<_> über <_>`, `{"msg":"1 \u00fcber 2"}`, true},
		{`first <_>`, "first line\nsecond line", true},
		{`second <_>`, "first line\nsecond line", false},
		{`say <_>`, `{"msg":"SAY hi"}`, false},
		{`"msg" <_>`, `{"msg":"a"}`, false},
	} {
		from := time.Unix(0, 0)
		m, err := Compile(Selection{From: from, To: from.Add(time.Hour), Templates: []string{c.template}, IgnoreCase: true})
		if err != nil {
			t.Fatal(err)
		}
		if m.FieldsOf("").anchors.unescaped == nil {
			t.Errorf("%q: all records are examined", c.template)
		}
		text := record.AppendText(nil, record.Record{Time: 1, Message: []byte("another one")})
		text = record.AppendText(text, record.Record{Time: 2, Message: []byte(c.message)})
		found := 0
		if err := NewScanner(m).Scan(text, m.AllChecks("x", "pod-1"), func(int, int, *record.Columns) { found++ }); err != nil {
			t.Fatal(err)
		}
		if found == 1 != c.want {
			t.Errorf("%q, %s: found %d", c.template, c.message, found)
		}
	}
}
