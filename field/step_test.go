package field

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"logstow/internal/test/testrand"
)

func mustStep(t testing.TB, text string) Step {
	t.Helper()
	s, ok, err := parseStep(text)
	if !ok || err != nil {
		t.Fatal(text, ok, err)
	}
	return s
}

func loadZone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// TestStepDays lists the steps of days on which clocks change, and of others.
func TestStepDays(t *testing.T) {
	t.Parallel()
	const layout = "02 15:04:05.999Z07:00"
	for _, c := range []struct {
		zone, from, to, step string
		want                 []string
	}{
		{"UTC", "2026-10-25T00:00:00Z", "2026-10-25T00:00:03Z", "1500ms", []string{"25 00:00:00Z", "25 00:00:01.5Z"}},
		{"UTC", "2026-10-25T20:00:00Z", "2026-10-26T08:00:00Z", "7h", []string{"25 14:00:00Z", "25 21:00:00Z", "26 00:00:00Z", "26 07:00:00Z"}},
		// The hour from 2 to 3 occurs twice.
		{"Europe/Berlin", "2026-10-25T01:00:00+02:00", "2026-10-25T04:00:00+01:00", "hour", []string{"25 01:00:00+02:00", "25 02:00:00+02:00", "25 02:00:00+01:00", "25 03:00:00+01:00"}},
		{"Europe/Berlin", "2026-10-25T00:00:00+02:00", "2026-10-25T08:00:00+01:00", "4h", []string{"25 00:00:00+02:00", "25 04:00:00+01:00"}},
		{"Europe/Berlin", "2026-10-25T00:00:00+02:00", "2026-10-25T06:00:00+01:00", "2h", []string{"25 00:00:00+02:00", "25 02:00:00+02:00", "25 02:00:00+01:00", "25 04:00:00+01:00"}},
		// The hour from 2 to 3 does not occur.
		{"Europe/Berlin", "2026-03-29T01:00:00+01:00", "2026-03-29T05:00:00+02:00", "hour", []string{"29 01:00:00+01:00", "29 03:00:00+02:00", "29 04:00:00+02:00"}},
		{"Europe/Berlin", "2026-03-29T00:00:00+01:00", "2026-03-29T06:00:00+02:00", "2h", []string{"29 00:00:00+01:00", "29 03:00:00+02:00", "29 04:00:00+02:00"}},
		{"Europe/Berlin", "2026-03-29T01:52:00+01:00", "2026-03-29T03:10:00+02:00", "7m", []string{"29 01:52:00+01:00", "29 01:59:00+01:00", "29 03:00:00+02:00", "29 03:02:00+02:00", "29 03:09:00+02:00"}},
		// Clocks change by half an hour: 2 o'clock is 1:30 again.
		{"Australia/Lord_Howe", "2026-04-05T00:00:00+11:00", "2026-04-05T03:00:00+10:30", "hour", []string{"05 00:00:00+11:00", "05 01:00:00+11:00", "05 02:00:00+10:30"}},
		{"Europe/Berlin", "2026-10-24T12:00:00+02:00", "2026-10-27T00:00:00+01:00", "1d", []string{"24 00:00:00+02:00", "25 00:00:00+02:00", "26 00:00:00+01:00"}},
		{"Europe/Berlin", "2026-03-28T12:00:00+01:00", "2026-03-31T00:00:00+02:00", "24h", []string{"28 00:00:00+01:00", "29 00:00:00+01:00", "30 00:00:00+02:00"}},
		// Midnight occurs twice, and does not occur.
		{"America/Havana", "2026-10-31T12:00:00-04:00", "2026-11-02T12:00:00-05:00", "day", []string{"31 00:00:00-04:00", "01 00:00:00-04:00", "02 00:00:00-05:00"}},
		{"America/Havana", "2026-03-07T12:00:00-05:00", "2026-03-09T12:00:00-04:00", "day", []string{"07 00:00:00-05:00", "08 01:00:00-04:00", "09 00:00:00-04:00"}},
		// Weeks start on Mondays, several days are counted from 1970-01-01.
		{"Europe/Berlin", "2026-10-20T00:00:00+02:00", "2026-11-03T00:00:00+01:00", "1w", []string{"19 00:00:00+02:00", "26 00:00:00+01:00", "02 00:00:00+01:00"}},
		{"UTC", "1969-12-30T00:00:00Z", "1970-01-04T00:00:00Z", "2d", []string{"30 00:00:00Z", "01 00:00:00Z", "03 00:00:00Z"}},
		{"UTC", "1969-12-20T00:00:00Z", "1970-01-06T00:00:00Z", "7d", []string{"18 00:00:00Z", "25 00:00:00Z", "01 00:00:00Z"}},
		{"UTC", "1969-12-20T00:00:00Z", "1970-01-06T00:00:00Z", "1w", []string{"15 00:00:00Z", "22 00:00:00Z", "29 00:00:00Z", "05 00:00:00Z"}},
		// The day starts at 1 o'clock, and has a step of one hour at its end.
		{"America/Sao_Paulo", "2016-10-15T23:30:00-03:00", "2016-10-17T12:00:00-02:00", "23h", []string{"15 23:00:00-03:00", "16 01:00:00-02:00", "16 23:00:00-02:00", "17 00:00:00-02:00"}},
		{"Asia/Kathmandu", "2026-10-25T00:00:00Z", "2026-10-25T02:00:00Z", "hour", []string{"25 05:00:00+05:45", "25 06:00:00+05:45", "25 07:00:00+05:45"}},
	} {
		z, s := loadZone(t, c.zone), mustStep(t, c.step)
		from, err := time.Parse(time.RFC3339, c.from)
		if err != nil {
			t.Fatal(err)
		}
		to, err := time.Parse(time.RFC3339, c.to)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for at := s.Start(from.UnixNano(), z); at < to.UnixNano() && len(got) < 100; at = s.End(at, z) {
			got = append(got, time.Unix(0, at).In(z).Format(layout))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s %s from %s:\n got %v\nwant %v", c.zone, c.step, c.from, got, c.want)
		}
	}
}

// TestStepInvariants checks at random times that a step starts at or before them, that it is the same
// throughout, and that the next one starts where it ends.
func TestStepInvariants(t *testing.T) {
	t.Parallel()
	r := testrand.New(t)
	zones := []*time.Location{time.UTC}
	for _, name := range []string{"Europe/Berlin", "Australia/Lord_Howe", "America/Sao_Paulo", "America/Havana", "Asia/Kathmandu", "Asia/Gaza", "Africa/Casablanca"} {
		zones = append(zones, loadZone(t, name))
	}
	texts := []string{"1ms", "7ms", "1s", "90s", "minute", "7m", "hour", "2h", "5h", "23h", "day", "3d", "2w"}
	for range 20_000 {
		z, text := zones[r.IntN(len(zones))], texts[r.IntN(len(texts))]
		s := mustStep(t, text)
		at := time.Date(2000+r.IntN(30), 1, 1, 0, 0, 0, 0, time.UTC).UnixNano() + r.Int64N(int64(366*day))
		start := s.Start(at, z)
		end := s.End(start, z)
		inside := start + r.Int64N(end-start)
		describe := func() string {
			return fmt.Sprint(z, " ", text, " ", time.Unix(0, at).In(z), " from ", time.Unix(0, start).In(z), " to ", time.Unix(0, end).In(z), " via ", time.Unix(0, inside).In(z))
		}
		if start > at || end <= at {
			t.Fatal("outside", describe())
		}
		if s.Start(inside, z) != start || s.Start(end-1, z) != start || s.Start(start, z) != start {
			t.Fatal("not the same throughout", describe())
		}
		if s.Start(end, z) != end {
			t.Fatal("the next one starts elsewhere", describe())
		}
		// On days without a change, steps are at multiples of their length after midnight.
		local := time.Unix(0, at).In(z)
		midnight := time.Date(local.Year(), local.Month(), local.Day(), 0, 0, 0, 0, z)
		if next := midnight.AddDate(0, 0, 1); s.part > 0 && next.Sub(midnight) == day && offsetAt(midnight.Add(-3*time.Hour).UnixNano(), z) == offsetAt(next.UnixNano(), z) {
			if want := at - int64(local.Sub(midnight)%s.part); start != want {
				t.Fatal("want", time.Unix(0, want).In(z), describe())
			}
		}
	}
}

// TestStepsOfOddDays walks the steps of days on which clocks change: every moment is in the step that
// begins at its start and ends where the next one starts; steps of days begin days, and others are cut
// only by the end of a day or a change.
func TestStepsOfOddDays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ zone, from string }{
		{"UTC", "2026-02-26"},
		{"Europe/Berlin", "2026-03-27"},
		{"Europe/Berlin", "2026-10-23"},
		{"America/Santiago", "2026-09-04"},    // midnight is missing on the 6th
		{"America/Havana", "2026-10-30"},      // midnight comes twice
		{"America/Asuncion", "2024-03-22"},    // as above, back to 23:00
		{"Australia/Lord_Howe", "2026-10-02"}, // half an hour
		{"Asia/Kathmandu", "2026-03-07"},
		{"Pacific/Apia", "2011-12-28"}, // a day is missing
	} {
		zone := loadZone(t, c.zone)
		from, err := time.ParseInLocation(time.DateOnly, c.from, zone)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"minute", "5m", "7m", "90m", "hour", "5h", "12h", "1d", "2d", "1w", "100s"} {
			s := mustStep(t, text)
			steps := 0
			for start := s.Start(from.UnixNano(), zone); start < from.Add(6*day).UnixNano(); steps++ {
				next := s.End(start, zone)
				if next <= start {
					t.Fatalf("%s of %s: a step of %d ns", text, c.zone, next-start)
				}
				for _, inside := range []int64{start, start + (next-start)/2, next - 1} {
					if got := s.Start(inside, zone); got != start {
						t.Fatalf("%s of %s: %s is in the step of %s, not of %s", text, c.zone, time.Unix(0, inside).In(zone), time.Unix(0, got).In(zone), time.Unix(0, start).In(zone))
					}
				}
				changes := offsetAt(start-1, zone) != offsetAt(next, zone)
				first, after := time.Unix(0, start).In(zone), time.Unix(0, next).In(zone)
				switch {
				case s.days > 0 && first.Add(-1).Day() == first.Day() && !changes:
					t.Fatalf("%s of %s: a step from %s to %s", text, c.zone, first, after)
				case s.part > 0 && next-start != int64(s.part) && after.Add(-1).Day() == after.Day() && !changes:
					t.Fatalf("%s of %s: a step is cut at %s", text, c.zone, after)
				}
				start = next
			}
			if steps < 2 && text != "1w" {
				t.Errorf("%s of %s: %d steps", text, c.zone, steps)
			}
		}
	}
}

// TestStepOrigin has days that do not depend on the query; weeks begin on Mondays.
func TestStepOrigin(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"1w": "2026-11-16", "2d": "2026-11-19", "2w": "2026-11-16", "10d": "2026-11-13", "1d": "2026-11-20"} {
		at := mustStep(t, text).Start(time.Date(2026, 11, 20, 15, 4, 5, 0, time.UTC).UnixNano(), time.UTC)
		if got := time.Unix(0, at).UTC().Format(time.DateOnly); got != want {
			t.Errorf("%s begins at %s, want %s", text, got, want)
		}
	}
}

func TestStepLayout(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"1s": false, "90s": false, "5m": true, "1h": true, "1d": true, "120s": true, "250ms": false} {
		if mustStep(t, text).Minutes() != want {
			t.Errorf("%s consists of whole minutes: %v", text, !want)
		}
	}
	for text, want := range map[string]string{"1000ms": "2026-11-20T15:04:05Z", "1w": "2026-11-20T15:04:05Z", "1500ms": "2026-11-20T15:04:05.000Z"} {
		if got := time.Date(2026, 11, 20, 15, 4, 5, 0, time.UTC).Format(mustStep(t, text).Layout()); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestStepText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "m", "5", "5x", "x5m", "1.5h", "-5m", "5M", "5 m", "hours", "５m"} {
		if s, ok, err := parseStep(text); ok || err != nil || !s.IsZero() {
			t.Errorf("%q: %v, %v, %v", text, s, ok, err)
		}
	}
	for text, same := range map[string]string{"60s": "minute", "60m": "hour", "24h": "day", "1440m": "1d", "0005m": "5m"} {
		if mustStep(t, text) != mustStep(t, same) {
			t.Errorf("%s is not %s", text, same)
		}
	}
}
