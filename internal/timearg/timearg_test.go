package timearg_test

import (
	"strings"
	"testing"
	"time"

	"logstow/internal/timearg"
)

func clock() time.Time {
	return time.Date(2026, 11, 20, 15, 4, 5, 250e6, time.FixedZone("X", 3600))
}

func TestParse(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"now":                        "2026-11-20T15:04:05.25+01:00",
		"today":                      "2026-11-20T00:00:00+01:00",
		"Yesterday":                  "2026-11-19T00:00:00+01:00",
		"yesterday 15:04":            "2026-11-19T15:04:00+01:00",
		"tomorrow":                   "2026-11-21T00:00:00+01:00",
		"-2h":                        "2026-11-20T13:04:05.25+01:00",
		"-1d12h":                     "2026-11-19T03:04:05.25+01:00",
		"+30m":                       "2026-11-20T15:34:05.25+01:00",
		"2014-07-31T18:00:00Z":       "2014-07-31T18:00:00Z",
		"2014-07-31T18:00:00.5Z":     "2014-07-31T18:00:00.5Z",
		"2014-07-31T18:00:00,5Z":     "2014-07-31T18:00:00.5Z",
		"2014-07-31T18:00:00-02:00":  "2014-07-31T18:00:00-02:00",
		"2014-07-31 18:00Z":          "2014-07-31T18:00:00Z",
		"2014-07-31":                 "2014-07-31T00:00:00+01:00",
		"20140731":                   "2014-07-31T00:00:00+01:00",
		"2014-07-31 18:01":           "2014-07-31T18:01:00+01:00",
		"2014-07-31T18:01:02.125":    "2014-07-31T18:01:02.125+01:00",
		"15:04":                      "2026-11-20T15:04:00+01:00",
		"15:04:06":                   "2026-11-20T15:04:06+01:00",
		"2014-07-31T18:00:00+0100":   "2014-07-31T18:00:00+01:00",
		"2014-07-31T18:00:00 +0100":  "2014-07-31T18:00:00+01:00",
		"2014-07-31 18:00 -0230":     "2014-07-31T18:00:00-02:30",
		"2014-07-31 18:00 UTC":       "2014-07-31T18:00:00Z",
		"15:04 +0000":                "2026-11-20T15:04:00Z",
		"15:04Z":                     "2026-11-20T15:04:00Z",
		"yesterday 15:04 +02:00":     "2026-11-19T15:04:00+02:00",
		"1 hour ago":                 "2026-11-20T14:04:05.25+01:00",
		"an hour ago":                "2026-11-20T14:04:05.25+01:00",
		"2 Days  3 hours ago":        "2026-11-18T12:04:05.25+01:00",
		"0 hours 46 minutes ago":     "2026-11-20T14:18:05.25+01:00",
		"0 s ago":                    "2026-11-20T15:04:05.25+01:00",
		"90 min ago":                 "2026-11-20T13:34:05.25+01:00",
		"5min ago":                   "2026-11-20T14:59:05.25+01:00",
		"Now-1d12h":                  "2026-11-19T03:04:05.25+01:00",
		"30 s ago":                   "2026-11-20T15:03:35.25+01:00",
		"1 week ago":                 "2026-11-13T15:04:05.25+01:00",
		"1 month ago":                "2026-10-20T15:04:05.25+01:00",
		"2 years ago":                "2024-11-20T15:04:05.25+01:00",
		"1h30m ago":                  "2026-11-20T13:34:05.25+01:00",
		"Nov 21 12:00":               "2026-11-21T12:00:00+01:00",
		"Nov 21 23:00":               "2025-11-21T23:00:00+01:00",
		"nov 19":                     "2026-11-19T00:00:00+01:00",
		"November 9 23:00:01.5":      "2026-11-09T23:00:01.5+01:00",
		"9 Nov 23:00 +0000":          "2026-11-09T23:00:00Z",
		"Dec 31":                     "2025-12-31T00:00:00+01:00",
		"Feb 29":                     "2024-02-29T00:00:00+01:00",
		"Nov 21, 2027 23:00":         "2027-11-21T23:00:00+01:00",
		"Nov 21 23:00:05 2025":       "2025-11-21T23:00:05+01:00",
		"21 Nov 2025":                "2025-11-21T00:00:00+01:00",
		"20/Nov/2026:15:04:05":       "2026-11-20T15:04:05+01:00",
		"20/Nov/2026:15:04:05 -0700": "2026-11-20T15:04:05-07:00",
		"1406829600":                 "2014-07-31T18:00:00Z",
		"1406829600.5":               "2014-07-31T18:00:00.5Z",
		"1406829600500":              "2014-07-31T18:00:00.5Z",
		"1406829600500000":           "2014-07-31T18:00:00.5Z",
		"1406829600500000001":        "2014-07-31T18:00:00.500000001Z",
	} {
		got, err := timearg.Parse(s, clock())
		expect, _ := time.Parse(time.RFC3339Nano, want)
		if err != nil || !got.Equal(expect) {
			t.Errorf("%q: %s, %v; want %s", s, got.Format(time.RFC3339Nano), err, want)
		}
	}
	for _, bad := range []string{
		"", "5", "2h", "-", "--2h", "-2", "now 15:04", "25:00", "2014-13-01", "2014-02-30", "yesterday noon",
		"1406829600500.5", "-1406829600", "14068296x0", "9999999999999999999",
		"ago", "hour ago", "1 ago", "1 fortnight ago", "0 fortnights ago", "1 hour", "x hours ago", "Nov 31", "Foo 3", "Nov", "15:04 +9900", "+0100", "2014-07-31 +0100",
	} {
		if got, err := timearg.Parse(bad, clock()); err == nil {
			t.Errorf("%q: %s, want an error", bad, got)
		}
	}
}

func TestParseSince(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"1h":                   "2026-11-20T14:04:05.25+01:00",
		"1w2d":                 "2026-11-11T15:04:05.25+01:00",
		"yesterday":            "2026-11-19T00:00:00+01:00",
		"2026-11-22T01:00:00Z": "2026-11-22T01:00:00Z",
		"1 hour ago":           "2026-11-20T14:04:05.25+01:00",
		"1 hour":               "2026-11-20T14:04:05.25+01:00",
		"90min":                "2026-11-20T13:34:05.25+01:00",
		"now-1h":               "2026-11-20T14:04:05.25+01:00",
		"-2h":                  "2026-11-20T13:04:05.25+01:00",
		"14:00":                "2026-11-20T14:00:00+01:00",
	} {
		got, err := timearg.ParseSince(s, clock())
		expect, _ := time.Parse(time.RFC3339Nano, want)
		if err != nil || !got.Equal(expect) {
			t.Errorf("%q: %s, %v; want %s", s, got.Format(time.RFC3339Nano), err, want)
		}
	}
	for _, bad := range []string{"", "5", "0h", "0 hours", "now-", "1 hour 5", "soon"} {
		if got, err := timearg.ParseSince(bad, clock()); err == nil {
			t.Errorf("%q: %s, want an error", bad, got)
		}
	}
}

// What is taken is the time that its RFC 3339 form stands for.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"-2h", "yesterday 15:04", "2014-07-31 18:01", "1406829600.5", "2 days 3 hours ago", "Nov 21 23:00 +0100"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := timearg.Parse(s, clock())
		if err != nil {
			return
		}
		if y := got.UTC().Year(); y < 0 || y > 9999 {
			t.Skip("beyond RFC 3339")
		}
		again, err := timearg.Parse(got.UTC().Format(time.RFC3339Nano), clock())
		if err != nil || !again.Equal(got) {
			t.Errorf("%q: %s, then %s, %v", s, got, again, err)
		}
	})
}

func TestParseZone(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"UTC": "12:00Z", "utc": "12:00Z", "Z": "12:00Z", "GMT": "12:00Z", "Europe/Berlin": "14:00+02:00", "+02:00": "14:00+02:00",
		"-0330": "08:30-03:30", "+05": "17:00+05:00", "local": at.Local().Format("15:04Z07:00"), "Local": at.Local().Format("15:04Z07:00"),
	} {
		zone, err := timearg.ParseZone(text)
		if err != nil {
			t.Error(err)
			continue
		}
		if got := at.In(zone).Format("15:04Z07:00"); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	for _, text := range []string{"", " ", "Berlin", "+2", "+25:00", "02:00", "../UTC", "/etc/passwd", "UTC+2", "utc "} {
		if zone, err := timearg.ParseZone(text); err == nil {
			t.Errorf("%q: %v", text, zone)
		}
	}
}

// Where clocks are set back, a range includes both times that a start or an end may mean, east and west of Greenwich.
func TestLocalTimesThatOccurTwice(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ zone, now, text, first, second string }{
		{"Europe/Berlin", "2026-11-01T12:00:00Z", "2026-10-25 02:30", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"},
		{"Europe/Berlin", "2026-11-01T12:00:00Z", "Oct 25 02:00", "2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z"},
		{"Europe/Berlin", "2026-10-25T12:00:00Z", "02:59:59", "2026-10-25T00:59:59Z", "2026-10-25T01:59:59Z"},
		{"Europe/Berlin", "2026-10-26T12:00:00Z", "yesterday 02:30", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"},
		{"America/New_York", "2026-12-01T12:00:00Z", "2026-11-01 01:30", "2026-11-01T05:30:00Z", "2026-11-01T06:30:00Z"},
		{"Africa/Cairo", "2026-11-01T12:00:00Z", "2026-10-29 23:30", "2026-10-29T20:30:00Z", "2026-10-29T21:30:00Z"},
		// Once:
		{"Europe/Berlin", "2026-11-01T12:00:00Z", "2026-10-25 01:59", "2026-10-24T23:59:00Z", "2026-10-24T23:59:00Z"},
		{"Europe/Berlin", "2026-11-01T12:00:00Z", "2026-10-25 03:00", "2026-10-25T02:00:00Z", "2026-10-25T02:00:00Z"},
		{"Europe/Berlin", "2026-11-01T12:00:00Z", "2026-10-25 02:30 +01:00", "2026-10-25T01:30:00Z", "2026-10-25T01:30:00Z"},
		{"Europe/Berlin", "2026-10-25T01:30:00Z", "now", "2026-10-25T01:30:00Z", "2026-10-25T01:30:00Z"},
		{"Europe/Berlin", "2026-10-25T00:30:00Z", "now", "2026-10-25T00:30:00Z", "2026-10-25T00:30:00Z"},
		{"Europe/Berlin", "2026-10-25T02:30:00Z", "-1h", "2026-10-25T01:30:00Z", "2026-10-25T01:30:00Z"},
		{"Europe/Berlin", "2026-11-01T12:00:00Z", "1792891800", "2026-10-25T01:30:00Z", "2026-10-25T01:30:00Z"},
		{"Europe/Berlin", "2026-04-01T12:00:00Z", "2026-03-29 02:30", "2026-03-29T01:30:00Z", "2026-03-29T01:30:00Z"},
		{"UTC", "2026-11-01T12:00:00Z", "2026-10-25 02:30", "2026-10-25T02:30:00Z", "2026-10-25T02:30:00Z"},
	} {
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		now, err := time.Parse(time.RFC3339, c.now)
		if err != nil {
			t.Fatal(err)
		}
		for want, parse := range map[string]func(string, time.Time) (time.Time, error){"first " + c.first: timearg.Parse, "second " + c.second: timearg.ParseEnd} {
			got, err := parse(c.text, now.In(zone))
			if _, at, _ := strings.Cut(want, " "); err != nil || got.UTC().Format(time.RFC3339) != at {
				t.Errorf("%s in %s: %v, %v, want the %s", c.text, c.zone, got.UTC(), err, want)
			}
		}
	}
}
