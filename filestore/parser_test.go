package filestore_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"logstow/query"
)

// Lines under a directive of W3C's format have the fields that it names, also where the directive changes, and lines of other
// files have theirs.
func TestDirectives(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	var text strings.Builder
	text.WriteString("#Fields: date time cs-method sc-status\n")
	for i := range 200 { // several runs
		fmt.Fprintf(&text, "2026-11-20 10:%02d:00 GET %d\n", i%60, 200+i%2*300)
	}
	text.WriteString("#Fields: date time sc-status cs-method\n2026-11-20 09:00:00 503 PUT\n")
	add(t, s, "iis.log", strings.NewReader(text.String()))
	add(t, s, "app.log", strings.NewReader("2026-11-20T10:00:00Z {\"status\":500,\"method\":\"x\"}\n"))
	for where, want := range map[string]int{
		`status >= 500`: 102, `method == "PUT"`: 1, `method == "GET"`: 200, `method == "x"`: 1,
	} {
		if got := selected(t, s, query.Selection{Where: []string{where}}); len(got) != want {
			t.Errorf("%s: %d records, want %d", where, len(got), want)
		}
	}
	if all := found(t, s); !slices.IsSorted(cut(all)) {
		t.Error("not in the order of time")
	}
}

// cut are the times of found records.
func cut(lines []string) (times []string) {
	for _, line := range lines {
		at, _, _ := strings.Cut(line, " ")
		times = append(times, at)
	}
	return times
}
