package main

import (
	"strings"
	"time"

	ucli "github.com/urfave/cli/v2"

	"logstow/internal/cli"
	"logstow/internal/hint"
	"logstow/internal/timearg"
)

// rangeFlags say of which services and times records are wanted.
func rangeFlags() []ucli.Flag {
	return []ucli.Flag{
		&ucli.StringSliceFlag{Name: "service", Aliases: []string{"s"}, Usage: "`SERVICE` or glob; repeatable (default: all)"},
		&ucli.StringFlag{Name: "since", Usage: "the last `DURATION`: 90s, 15m, 2h, 3d, 1w"},
		&ucli.StringFlag{Name: "from", Usage: "from this `TIME` on: RFC 3339, '2026-11-20 15:04', 2026-11-20, 15:04, yesterday, -2h, Unix time"},
		&ucli.StringFlag{Name: "to", Usage: "up to but not including this `TIME` (default: now)"},
		&ucli.BoolFlag{Name: "utc", Usage: "times without a zone, and times printed for people, are UTC (default: local)"},
	}
}

// location is the zone of times that name none.
func location(c *ucli.Context) *time.Location {
	if c.Bool("utc") {
		return time.UTC
	}
	return time.Local
}

// short is a duration without parts that are nothing: 2h for 2h0m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// timeRange reads --since, --from and --to. given is false where none was given; then
// the times are zero.
func timeRange(c *ucli.Context, now time.Time) (from, to time.Time, given bool, err error) {
	now = now.In(location(c))
	since, fromText, toText := c.String("since"), c.String("from"), c.String("to")
	switch {
	case since == "" && fromText == "" && toText == "":
		return from, to, false, nil
	case since != "" && (fromText != "" || toText != ""):
		return from, to, false, cli.Usagef("--since can not be used together with --from or --to")
	case since != "":
		d, err := cli.ParseDuration(since)
		if err != nil {
			return from, to, false, cli.Usagef("--since: %w", err)
		}
		// What is read at this moment may be dated a little ahead.
		return now.Add(-d), now.Add(time.Hour), true, nil
	case fromText == "":
		return from, to, false, cli.Usagef("--to needs --from")
	}
	if from, err = timearg.Parse(fromText, now); err != nil {
		return from, to, false, cli.Usagef("--from: %w", err)
	}
	to = now.Add(time.Hour)
	if toText != "" {
		if to, err = timearg.Parse(toText, now); err != nil {
			return from, to, false, cli.Usagef("--to: %w", err)
		}
	}
	switch {
	case from.Before(to):
	case toText == "":
		return from, to, false, cli.Usagef("the range is empty: --from %s is in the future, and --to is not given", from.Format(time.RFC3339))
	default:
		return from, to, false, hint.Wrap(cli.Usagef("the range is empty: --from %s is not before --to %s",
			from.Format(time.RFC3339), to.Format(time.RFC3339)), "exchange --from and --to")
	}
	return from, to, true, nil
}
