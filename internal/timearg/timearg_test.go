package timearg_test

import (
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
		"now":                       "2026-11-20T15:04:05.25+01:00",
		"today":                     "2026-11-20T00:00:00+01:00",
		"Yesterday":                 "2026-11-19T00:00:00+01:00",
		"yesterday 15:04":           "2026-11-19T15:04:00+01:00",
		"tomorrow":                  "2026-11-21T00:00:00+01:00",
		"-2h":                       "2026-11-20T13:04:05.25+01:00",
		"-1d12h":                    "2026-11-19T03:04:05.25+01:00",
		"+30m":                      "2026-11-20T15:34:05.25+01:00",
		"2014-07-31T18:00:00Z":      "2014-07-31T18:00:00Z",
		"2014-07-31T18:00:00.5Z":    "2014-07-31T18:00:00.5Z",
		"2014-07-31T18:00:00,5Z":    "2014-07-31T18:00:00.5Z",
		"2014-07-31T18:00:00-02:00": "2014-07-31T18:00:00-02:00",
		"2014-07-31 18:00Z":         "2014-07-31T18:00:00Z",
		"2014-07-31":                "2014-07-31T00:00:00+01:00",
		"20140731":                  "2014-07-31T00:00:00+01:00",
		"2014-07-31 18:01":          "2014-07-31T18:01:00+01:00",
		"2014-07-31T18:01:02.125":   "2014-07-31T18:01:02.125+01:00",
		"15:04":                     "2026-11-20T15:04:00+01:00",
		"15:04:06":                  "2026-11-20T15:04:06+01:00",
		"1406829600":                "2014-07-31T18:00:00Z",
		"1406829600.5":              "2014-07-31T18:00:00.5Z",
		"1406829600500":             "2014-07-31T18:00:00.5Z",
		"1406829600500000":          "2014-07-31T18:00:00.5Z",
		"1406829600500000001":       "2014-07-31T18:00:00.500000001Z",
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
	} {
		if got, err := timearg.Parse(bad, clock()); err == nil {
			t.Errorf("%q: %s, want an error", bad, got)
		}
	}
}

// What is taken is the time that its RFC 3339 form stands for.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"-2h", "yesterday 15:04", "2014-07-31 18:01", "1406829600.5"} {
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
