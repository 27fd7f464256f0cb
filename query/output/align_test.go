package output_test

import (
	"slices"
	"testing"

	"logstow/query/output"
)

func TestAlign(t *testing.T) {
	t.Parallel()
	table := [][]string{
		{"NAME", "COUNT", "LAST"},
		{"日本", "7", ""},
		{"a", "1000000", "long text"},
	}
	want := []string{
		"NAME    COUNT  LAST",
		"日本        7  ",
		"a     1000000  long text",
	}
	if got := output.Align(table, "COUNT"); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := output.Align([][]string{{"a", "b"}, {"cc", "d"}}, "b"); !slices.Equal(got, []string{"a   b", "cc  d"}) {
		t.Errorf("the last column to the right: %q", got)
	}
}
