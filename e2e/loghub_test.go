package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"logstow/internal/test/effort"
)

// realLog is the position of the time in the lines of one of the real files, by
// means that share nothing with the program: a regular expression and time.Parse.
type realLog struct {
	file   string
	find   *regexp.Regexp
	layout string
	year   bool // the layout has a year
}

func realLogs() []realLog {
	return []realLog{
		{"Android.log", regexp.MustCompile(`^\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}`), "01-02 15:04:05.000", false},
		{"Apache.log", regexp.MustCompile(`^\[\w{3} (\w{3} \d\d \d\d:\d\d:\d\d \d{4})\]`), "Jan 02 15:04:05 2006", true},
		{"HDFS.log", regexp.MustCompile(`^\d{6} \d{6}`), "060102 150405", true},
		{"Linux.log", regexp.MustCompile(`^\w{3} [ \d]\d \d\d:\d\d:\d\d`), "Jan _2 15:04:05", false},
		{"OpenSSH.log", regexp.MustCompile(`^\w{3} [ \d]\d \d\d:\d\d:\d\d`), "Jan _2 15:04:05", false},
		{"OpenStack.log", regexp.MustCompile(`^\S+ (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3})`), "2006-01-02 15:04:05.000", true},
		{"Spark.log", regexp.MustCompile(`^\d\d/\d\d/\d\d \d\d:\d\d:\d\d`), "06/01/02 15:04:05", true},
		{"Zookeeper.log", regexp.MustCompile(`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}`), "2006-01-02 15:04:05,000", true},
	}
}

// line is a line of a file with the time that it should be stored under.
type line struct {
	time time.Time
	text string
}

// lines reads a file and finds its lines' times. reference is the file's modification time.
func (l realLog) lines(t *testing.T, data []byte, reference time.Time) []line {
	t.Helper()
	var out []line
	var last time.Time
	for text := range strings.Lines(string(data)) {
		text = strings.TrimSuffix(text, "\n")
		if m := l.find.FindStringSubmatch(text); m != nil {
			at, err := time.Parse(l.layout, m[len(m)-1])
			if err != nil {
				t.Fatalf("%s: %q: %v", l.file, text, err)
			}
			if !l.year {
				at = at.AddDate(reference.Year()-at.Year(), 0, 0)
				if at.After(reference.Add(24 * time.Hour)) {
					at = at.AddDate(-1, 0, 0)
				}
			}
			last = at
		}
		if last.IsZero() {
			t.Fatalf("%s: the first line has no time", l.file)
		}
		out = append(out, line{last, text})
	}
	return out
}

// joined is the lines with their newlines, stably sorted by time, of those in [from, to).
func joined(lines []line, from, to time.Time) string {
	sorted := slices.Clone(lines)
	slices.SortStableFunc(sorted, func(a, b line) int { return a.time.Compare(b.time) })
	var b strings.Builder
	for _, l := range sorted {
		if !l.time.Before(from) && l.time.Before(to) {
			b.WriteString(l.text)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// TestRealLogs sends each of the real files through both stores, in few and in
// many segments, and wants every line back, whole and by windows.
func TestRealLogs(t *testing.T) {
	effort.Need(t, effort.Full, "real logs through both stores")
	t.Parallel()
	dir := loghub(t)
	for _, l := range realLogs() {
		t.Run(l.file, func(t *testing.T) {
			t.Parallel()
			onBothStores(t, func(t *testing.T, s target) { l.roundTrip(t, s, dir) })
		})
	}
}

func (l realLog) roundTrip(t *testing.T, s target, dir string) {
	path := filepath.Join(dir, l.file)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := l.lines(t, data, info.ModTime().UTC())
	all := joined(lines, time.Time{}, time.Now().AddDate(10, 0, 0))

	s.must(t, "shipper", "run", "--once", "--service", "few", path)
	s.must(t, "shipper", "run", "--once", "--service", "many", "--flush-size", "4KiB", "--bucket", "5m", path)
	for _, service := range []string{"few", "many"} {
		for _, plan := range []string{"auto", "index"} {
			got := s.must(t, "logq", "query", "-s", service, "--from", "2000-01-01", "--to", "2100-01-01", "-o", "raw", "--plan", plan)
			same(t, fmt.Sprintf("%s by %s", service, plan), all, string(got))
		}
	}
	l.checkTimes(t, s, lines)
	for _, from := range windows(lines) {
		to := from.Add(2 * time.Minute)
		r := s.command(t, nil, "logq", "query", "-s", "many", "--from", from.Format(time.RFC3339Nano), "--to", to.Format(time.RFC3339Nano), "-o", "raw")
		want := joined(lines, from, to)
		if status := min(len(want), 1); r.status != 1-status {
			t.Errorf("%s: status %d\n%s", from, r.status, r.errs)
		}
		same(t, from.String(), want, string(r.out))
	}
}

// checkTimes compares the stored times with the lines' own.
func (l realLog) checkTimes(t *testing.T, s target, lines []line) {
	t.Helper()
	sorted := slices.Clone(lines)
	slices.SortStableFunc(sorted, func(a, b line) int { return a.time.Compare(b.time) })
	out := s.must(t, "logq", "query", "-s", "few", "--from", "2000-01-01", "--to", "2100-01-01", "-o", "json")
	decoder := json.NewDecoder(bytes.NewReader(out))
	for i, want := range sorted {
		var got struct {
			Time time.Time
		}
		if err := decoder.Decode(&got); err != nil {
			t.Fatalf("line %d of the JSON output: %v", i+1, err)
		}
		if !got.Time.Equal(want.time) {
			t.Fatalf("%q: stored under %v, want %v", want.text, got.Time, want.time)
		}
	}
}

// windows are the starts of two-minute windows worth looking at: around some
// lines, and across the hour, day, month and year edges next to them.
func windows(lines []line) []time.Time {
	var out []time.Time
	for _, i := range []int{0, len(lines) / 3, len(lines) / 2, len(lines) - 1} {
		at := lines[i].time
		hour := at.Truncate(time.Hour)
		day := at.Truncate(24 * time.Hour)
		month := time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC)
		out = append(out, at, at.Add(-time.Minute), hour.Add(-time.Minute), day.Add(-time.Minute), month.Add(-time.Minute))
	}
	out = append(out, time.Date(lines[0].time.Year(), 12, 31, 23, 59, 0, 0, time.UTC))
	slices.SortFunc(out, time.Time.Compare)
	return slices.CompactFunc(out, time.Time.Equal)
}

// same compares outputs and shows the first line that differs.
func same(t *testing.T, what, want, got string) {
	t.Helper()
	if want == got {
		return
	}
	w, g := strings.SplitAfter(want, "\n"), strings.SplitAfter(got, "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			t.Errorf("%s: line %d of %d is %q, want %q of %d", what, i+1, len(g), g[i], w[i], len(w))
			return
		}
	}
	t.Errorf("%s: %d lines, want %d", what, len(g), len(w))
}
