package main

import (
	"time"

	ucli "github.com/urfave/cli/v2"

	"logstow/internal/cli"
	"logstow/internal/hint"
	"logstow/internal/timearg"
	"logstow/internal/units"
)

// zoneOf is the zone of times without one, and what is given of it: the zone of --tz or --utc, nil if neither is.
func zoneOf(c *ucli.Context) (zone, given *time.Location, err error) {
	switch {
	case c.IsSet("tz"):
		if given, err = timearg.ParseZone(c.String("tz")); err != nil {
			return nil, nil, cli.Usagef("--tz: %w", err)
		}
	case c.Bool("utc"):
		given = time.UTC
	default:
		return time.Local, nil, nil
	}
	return given, given, nil
}

// span is the time range of a command line.
type span struct {
	from, to time.Time
	// open reports whether no end was given: then it is an hour past now, for clocks that are ahead.
	open bool
}

// ahead is the distance from now to the end of a range without an end.
const ahead = time.Hour

// readRange reads the zone and --since, --from and --to; without these the range is the last hour.
func (r *request) readRange() (err error) {
	if r.zone, r.given, err = zoneOf(r.c); err != nil {
		return err
	}
	r.now = r.now.In(r.zone)
	r.span = span{from: r.now.Add(-time.Hour), to: r.now.Add(ahead), open: !r.c.IsSet("to")}
	s := &r.span
	switch {
	case r.c.IsSet("since"):
		if s.from, err = timearg.ParseSince(r.c.String("since"), r.now); err != nil {
			return cli.Usagef("--since: %w", err)
		}
	case r.c.IsSet("from"):
		if s.from, err = timearg.Parse(r.c.String("from"), r.now); err != nil {
			return cli.Usagef("--from: %w", err)
		}
	case s.open:
		return nil
	default:
		return hint.Wrap(cli.Usagef("--to requires a start of the range"), "add --since or --from")
	}
	if r.ranged = true; !s.open {
		if s.to, err = timearg.ParseEnd(r.c.String("to"), r.now); err != nil {
			return cli.Usagef("--to: %w", err)
		}
	}
	switch {
	case s.from.Before(s.to):
		return nil
	case s.open:
		return cli.Usagef("the range is empty: its start %s is in the future, and --to is not given", s.from.Format(time.RFC3339))
	default:
		return hint.Wrap(cli.Usagef("the range is empty: its start %s is not before its end %s",
			s.from.Format(time.RFC3339), s.to.Format(time.RFC3339)), "swap start and end")
	}
}

// String is the range as it is printed: start, end and length.
func (s span) String() string {
	if s.open {
		length := s.to.Add(-ahead).Sub(s.from)
		return "from " + s.from.Format(time.RFC3339) + " to now (" + units.FormatDuration(max(length, 0).Round(time.Second)) + ")"
	}
	return "from " + s.from.Format(time.RFC3339) + " to " + s.to.In(s.from.Location()).Format(time.RFC3339) +
		" (" + units.FormatDuration(s.to.Sub(s.from).Round(time.Second)) + ")"
}
