package recognize_test

import (
	"testing"

	"logstow/record/recognize"
)

func TestHasTime(t *testing.T) {
	t.Parallel()
	rules, err := recognize.Compile(recognize.RuleOptions{TimeRegexp: `at=(\S+ \S+)`})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		line string
		opts recognize.Options
		want bool
	}{
		{line: "2026-11-20 15:04:05,123 INFO x", want: true},
		{line: "  2026-11-20 15:04:05 x", want: true},
		{line: "Nov 20 15:04:05 host app: x", want: true},
		{line: "[20-Nov-2026 15:04:05 UTC] PHP Notice:  x", want: true},
		{line: "\x1b[32m2026-11-20 15:04:05\x1b[0m INFO x", want: true},
		{line: "# Time: 2026-11-20T15:04:05.123456Z", want: true},
		{line: "second line of a message"},
		{line: "End-Date: 2026-11-20  06:25:20"},
		{line: "\tat a.b.C.d(C.java:1)"},
		{line: ""},
		{line: "x at=2026-11-20 15:04:05 y"},
		{line: "x at=2026-11-20 15:04:05 y", opts: recognize.Options{Rules: rules}, want: true},
	} {
		if got := recognize.New(c.opts).HasTime([]byte(c.line)); got != c.want {
			t.Errorf("%q: %v", c.line, got)
		}
	}
}
