package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"logstow/internal/cli"
	"logstow/query/patterns"
	"logstow/store/local"
)

// emptyStore makes a store without records.
func emptyStore(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	s, err := local.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Of a local time that occurs twice, --after takes the first and --before the second, as --from and --to do.
func TestPatternsRepeatedHour(t *testing.T) {
	t.Parallel()
	dir := emptyStore(t)
	now := func() time.Time { return time.Date(2026, 10, 25, 12, 0, 0, 0, time.UTC) }
	for _, c := range []struct{ flags, before, after string }{
		{"--before 02:30", "to 2026-10-25T02:30:00+01:00", "from 2026-10-25T02:30:00+01:00"},
		{"--after 02:30", "to 2026-10-25T02:30:00+02:00", "from 2026-10-25T02:30:00+02:00"},
		{"--before 02:30 --after 02:45+01:00", "to 2026-10-25T02:30:00+01:00", "from 2026-10-25T02:45:00+01:00"},
	} {
		var out, errs bytes.Buffer
		args := append(strings.Fields("logq patterns --tz Europe/Berlin --from 01:00 --explain --store"), dir)
		run(t.Context(), append(args, strings.Fields(c.flags)...), environment{
			stdout: &out, stderr: &errs, getenv: func(string) string { return "" }, now: now, tempDir: t.TempDir(),
		})
		if !strings.Contains(errs.String(), c.before) || !strings.Contains(errs.String(), c.after) {
			t.Errorf("%s: printed\n%s", c.flags, &errs)
		}
	}
}

// Without --to the second of two ranges ends now, and not an hour later as a range otherwise does: its rate
// would be too low.
func TestPatternsEndNow(t *testing.T) {
	t.Parallel()
	dir := emptyStore(t)
	now := func() time.Time { return time.Date(2026, 11, 20, 15, 4, 5, 0, time.UTC) }
	var out, errs bytes.Buffer
	status := run(t.Context(), []string{"logq", "patterns", "--store", dir, "--utc", "--since", "3h", "--after", "1 hour ago", "--explain"}, environment{
		stdout: &out, stderr: &errs, getenv: func(string) string { return "" }, now: now, tempDir: t.TempDir(),
	})
	const want = `logq: before: from 2026-11-20T12:04:05Z to 2026-11-20T14:04:05Z (2h)
logq: after: from 2026-11-20T14:04:05Z to 2026-11-20T15:04:05Z (1h)
`
	if status != cli.NoMatch || !strings.HasPrefix(errs.String(), want) {
		t.Errorf("status %d, printed\n%s", status, &errs)
	}
}

// What the templates are based on is reported.
func TestPatternsNotes(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 15, 4, 5, 0, time.UTC)
	both := [2]uint64{5, 6}
	for _, c := range []struct {
		result  patterns.Result
		compare bool
		printed int
		want    string // the beginning of each
	}{
		{patterns.Result{Records: both}, false, 1, ""},
		{patterns.Result{}, true, 0, ""}, // no records match
		{patterns.Result{Records: both, Coarse: true}, false, 1, "templates are coarse"},
		{patterns.Result{Records: both, Coarse: true, Ungrouped: [2]uint64{3, 4}}, true, 1, "templates are coarse|no template for 7 records"},
		{patterns.Result{Records: both}, true, 0, "nothing changed: 5 records before and 6 after"},
		{patterns.Result{Records: [2]uint64{5}}, true, 1, "no records after 2026-11-20T15:04:05Z"},
		{patterns.Result{Records: [2]uint64{0, 5}}, true, 1, "no records before 2026-11-20T15:04:05Z"},
	} {
		r := &patternsRequest{request: &request{compared: []span{{to: at}, {from: at}}}}
		r.compare = c.compare
		r.note(&c.result, c.printed)
		want := strings.FieldsFunc(c.want, func(r rune) bool { return r == '|' })
		if !slices.EqualFunc(r.notes, want, strings.HasPrefix) {
			t.Errorf("%+v: %q, want %q", c, r.notes, want)
		}
	}
}

func TestWrap(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"", 5, ""},
		{"abc de", 0, "abc de"},
		{"abc de", 6, "abc de"},
		{"abc de", 5, "abc|de"},
		{"abc de fg", 6, "abc de|fg"},
		{"abcdefgh", 3, "abcdefgh"},
		{"abcdefgh ij kl", 3, "abcdefgh|ij|kl"},
		{"äöü äöü", 4, "äöü|äöü"},
		{"日本 日本", 5, "日本|日本"},
		{"日本 日本", 4, "日本|日本"},
		{"日本語 x", 4, "日本語|x"},
	} {
		if got := strings.Join(wrap(c.text, c.width), "|"); got != c.want {
			t.Errorf("%q in %d: %q, want %q", c.text, c.width, got, c.want)
		}
	}
}
