package main

import (
	"strings"
	"testing"
	"time"
)

// Pretty times have dates where a range or a record is not of today, in the zone of what is printed.
func TestDates(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	day := answersNow()
	put(t, dir+"/store", "web", day.AddDate(0, 0, -1), `23:59:59 INFO app.log before midnight`)
	put(t, dir+"/store", "web", day, `00:00:01 INFO app.log after midnight`, `00:20:00 INFO app.log later`)
	put(t, dir+"/store", "late", day, `23:50:00 INFO app.log today`)
	put(t, dir+"/store", "late", day.AddDate(0, 0, 1), `00:10:00 INFO app.log ahead`)
	const web, clock = "2026-11-20 00:00:01.000 INFO  web app.log: after midnight\n", "00:00:01.000 INFO  web app.log: after midnight\n"
	for _, c := range []struct{ now, line, want string }{
		{"00:05:00", "query -s web --since 2m", "00:20:00.000 INFO  web app.log: later\n"},
		{"00:05:00", "query -s web --from 00:00 after", clock},
		{"00:05:00", "query -s web --since 1h after", web}, // the range begins yesterday
		{"00:05:00", "query -s web --since 1h midnight", "2026-11-19 23:59:59.000 INFO  web app.log: before midnight\n" + web},
		{"23:00:00", "query -s web --from 2026-11-20 after", clock},
		{"23:00:00", "query -s web --from 2026-11-20 --to 2026-11-21 after", clock},
		{"23:59:00", "query -s late", "23:50:00.000 INFO  late app.log: today\n2026-11-21 00:10:00.000 INFO  late app.log: ahead\n"},
		{"12:00:00", "query -s web --from 2026-11-19 --to 2026-11-20 midnight", "2026-11-19 23:59:59.000 INFO  web app.log: before midnight\n"},
	} {
		clock, err := time.Parse(time.TimeOnly, c.now)
		if err != nil {
			t.Fatal(err)
		}
		now := day.Truncate(24 * time.Hour).Add(clock.Sub(clock.Truncate(24 * time.Hour)))
		var out, errs strings.Builder
		env := environment{stdout: &out, stderr: &errs, now: func() time.Time { return now }, tempDir: t.TempDir(), getenv: func(name string) string {
			return map[string]string{"LOGSTOW_STORE": dir + "/store"}[name]
		}}
		status := run(t.Context(), append([]string{"logq"}, append(strings.Fields(c.line), "--utc", "-o", "pretty")...), env)
		if out.String() != c.want || (status == 0) != (c.want != "") {
			t.Errorf("at %s: %s: status %d, %q, want %q; %s", c.now, c.line, status, out.String(), c.want, errs.String())
		}
	}
}
