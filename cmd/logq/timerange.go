package main

import (
	"fmt"
	"strings"
	"time"

	ucli "github.com/urfave/cli/v2"

	"logstow/internal/cli"
	"logstow/internal/hint"
	"logstow/internal/timearg"
)

// rangeFlags are the flags for times and services.
func rangeFlags() []ucli.Flag {
	return append(timeFlags(), cli.Categorize(categorySelection,
		&cli.ListFlag{Name: "service", Aliases: []string{"s"}, Usage: "`GLOB`: service name or glob; repeatable (default: all)"},
	)...)
}

// timeFlags are the flags for times.
func timeFlags() []ucli.Flag {
	return cli.Categorize(categoryRange,
		&ucli.StringFlag{Name: "since", Usage: "`TIME`: start of the range, as a duration before now or a time: 15m, 2h, 3d, 1w, yesterday; not with --from"},
		&ucli.StringFlag{Name: "from", Usage: "`TIME`: start of the range: 2026-11-20T15:04:05Z, '2026-11-20 15:04 +0100', 'Nov 20 15:04', 15:04 (today), '1 hour ago', -2h, Unix time"},
		&ucli.StringFlag{Name: "to", Usage: "`TIME`: end of the range, exclusive; with --since or --from (default: an hour past now, for clocks that are ahead)"},
		&ucli.StringFlag{Name: "tz", Usage: "`ZONE`: zone of printed times, and of those without one in flags and --file: Europe/Berlin, UTC, local or +02:00 (default: local, but see --output)"},
		&ucli.BoolFlag{Name: "utc", Usage: "short for --tz UTC"},
	)
}

// location is the zone of times without one: that of --tz, which timeRange checks.
func location(c *ucli.Context) *time.Location {
	if zone, _ := givenZone(c); zone != nil {
		return zone
	}
	return time.Local
}

// givenZone is the zone of --tz or --utc; nil if neither is given.
func givenZone(c *ucli.Context) (*time.Location, error) {
	if !c.IsSet("tz") {
		if c.Bool("utc") {
			return time.UTC, nil
		}
		return nil, nil //nolint:nilnil // none
	}
	if c.Bool("utc") {
		return nil, cli.Usagef("--tz cannot be used together with --utc: both set the zone")
	}
	zone, err := timearg.ParseZone(c.String("tz"))
	if err != nil {
		return nil, cli.Usagef("--tz: %w", err)
	}
	return zone, nil
}

// short formats a duration without zero parts: 2h for 2h0m0s; from two days on in days
// and hours.
func short(d time.Duration) string {
	const day = 24 * time.Hour
	if d >= 2*day {
		d = d.Round(time.Hour)
		days := fmt.Sprintf("%dd", d/day)
		if d%day == 0 {
			return days
		}
		return days + short(d%day)
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// span is the time range of a command line.
type span struct {
	from, to time.Time
	// given reports whether a range was given, open whether its end was not: then it ends
	// an hour past now, for clocks that are ahead.
	given, open bool
}

// ahead is the distance from now to the end of a range without an end.
const ahead = time.Hour

// lastHour is the default range.
func lastHour(now time.Time) span {
	return span{from: now.Add(-time.Hour), to: now.Add(ahead), open: true}
}

// timeRange reads --since, --from and --to; without them the range is the last hour.
func timeRange(c *ucli.Context, now time.Time) (s span, err error) {
	if _, err := givenZone(c); err != nil {
		return s, err
	}
	now = now.In(location(c))
	since, from, to := c.String("since"), c.String("from"), c.String("to")
	switch {
	case since == "" && from == "" && to == "":
		return lastHour(now), nil
	case since != "" && from != "":
		return s, cli.Usagef("--since cannot be used together with --from: both set the start of the range")
	case since != "":
		if s.from, err = timearg.ParseSince(since, now); err != nil {
			return s, cli.Usagef("--since: %w", err)
		}
	case from == "":
		return s, hint.Wrap(cli.Usagef("--to requires a start of the range"), "add --since or --from")
	default:
		if s.from, err = timearg.Parse(from, now); err != nil {
			return s, cli.Usagef("--from: %w", err)
		}
	}
	s.given, s.open, s.to = true, to == "", now.Add(ahead)
	if !s.open {
		if s.to, err = timearg.Parse(to, now); err != nil {
			return s, cli.Usagef("--to: %w", err)
		}
	}
	switch {
	case s.from.Before(s.to):
		return s, nil
	case s.open:
		return s, cli.Usagef("the range is empty: its start %s is in the future, and --to is not given", s.from.Format(time.RFC3339))
	default:
		return s, hint.Wrap(cli.Usagef("the range is empty: its start %s is not before its end %s",
			s.from.Format(time.RFC3339), s.to.Format(time.RFC3339)), "swap start and end")
	}
}

// String is the range as it is printed: start, end and length.
func (s span) String() string {
	if s.open {
		length := s.to.Add(-ahead).Sub(s.from)
		return "from " + s.from.Format(time.RFC3339) + " to now (" + short(max(length, 0).Round(time.Second)) + ")"
	}
	return "from " + s.from.Format(time.RFC3339) + " to " + s.to.In(s.from.Location()).Format(time.RFC3339) +
		" (" + short(s.to.Sub(s.from).Round(time.Second)) + ")"
}
