package match_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"logstow/internal/test/querytest"
	"logstow/message/parse"
	"logstow/query/match"
	"logstow/record"
)

// byMessage matches records of an instance whose message, as logged, is one of some.
type byMessage struct {
	instance string
	messages []string
	seen     *[]string
}

func (m byMessage) Matches(_, instance string, _ *parse.Parser, _ *record.Columns, message []byte) bool {
	*m.seen = append(*m.seen, string(message))
	return instance == m.instance && slices.ContainsFunc(m.messages, func(text string) bool { return bytes.Equal(message, []byte(text)) })
}

// A condition on records is checked behind the others, of messages as logged.
func TestRecordFilter(t *testing.T) {
	t.Parallel()
	records := querytest.Messages("one", "two\nlines", "three", "two")
	var seen []string
	filter := func(instance string, messages ...string) *match.RecordFilter {
		return &match.RecordFilter{Instanced: true, New: func() match.RecordMatcher { return byMessage{instance, messages, &seen} }}
	}
	sel := &match.Selection{From: time.Unix(-1, 0), To: time.Unix(1, 0), Patterns: []string{"t"}, Substring: true, Records: filter("pod-1", "one", "two\nlines", "three")}
	if got := scanned(t, sel, records); len(got) != 2 {
		t.Errorf("found %q", got)
	}
	if want := []string{"two\nlines", "three", "two"}; !slices.Equal(seen, want) {
		t.Errorf("checked %q, want %q", seen, want)
	}
	sel.Records = filter("pod-2", "three")
	if got := scanned(t, sel, records); len(got) != 0 {
		t.Errorf("found %q of another instance", got)
	}
	m, err := match.Compile(match.Selection{From: sel.From, To: sel.To, Records: sel.Records})
	if err != nil {
		t.Fatal(err)
	}
	if !m.Instanced() || m.TimeAndLevelOnly() || m.ColumnsSuffice() {
		t.Error("metadata or columns decide a condition on records")
	}
}
