package main

import (
	"time"

	ucli "github.com/urfave/cli/v2"

	"logstow/internal/cli"
	"logstow/query"
)

// selectionFlags say which records are wanted and how they are found.
func selectionFlags() []ucli.Flag {
	return append(append(storeFlags(), rangeFlags()...),
		&ucli.StringFlag{Name: "level", Aliases: []string{"l"}, Usage: "`LEVELS`: a list (error,fatal) or a floor (warn+)"},
		&ucli.StringFlag{Name: "source", Usage: "`GLOB` of sources inside an instance"},
		&ucli.StringSliceFlag{Name: "regexp", Aliases: []string{"e"}, Usage: "the message matches `REGEXP`; repeatable"},
		&ucli.StringSliceFlag{Name: "exclude", Aliases: []string{"x"}, Usage: "the message does not hold `TEXT`; repeatable"},
		&ucli.StringFlag{Name: "where", Usage: "the record fulfils `EXPR` over its fields: 'status >= 500 and user.name == \"ann\"'"},
		&ucli.BoolFlag{Name: "ignore-case", Aliases: []string{"i"}, Usage: "ASCII letters match in either case"},
		&ucli.BoolFlag{Name: "substring", Usage: "find identifiers inside longer ones too"},
		&ucli.StringFlag{Name: "plan", Value: "auto", Usage: "find segments by `HOW`: auto, list or index (the index may lag)"},
		&ucli.BoolFlag{Name: "no-cache", Usage: "neither use nor fill the cache of what was read from Azure ($LOGSTOW_CACHE_DIR, default ~/.cache/logstow; $LOGSTOW_CACHE_SIZE, default 1GiB)"},
	)
}

// selection reads them; the arguments are patterns.
func selection(c *ucli.Context, from, to, now time.Time) (sel query.Selection, err error) {
	sel = query.Selection{
		Services: c.StringSlice("service"), From: from, To: to, Source: c.String("source"),
		Patterns: c.Args().Slice(), Regexps: c.StringSlice("regexp"), Excludes: c.StringSlice("exclude"),
		Where: c.String("where"), Now: now.In(location(c)),
		IgnoreCase: c.Bool("ignore-case"), Substring: c.Bool("substring"),
	}
	if levels := c.String("level"); c.IsSet("level") {
		if sel.Levels, err = query.ParseLevels(levels); err != nil {
			return sel, cli.Usagef("--level: %w", err)
		}
	}
	return sel, nil
}

// reading says how to read.
func reading(c *ucli.Context, env environment) (query.Options, error) {
	opts := query.Options{Plan: c.String("plan"), TempDir: env.tempDir}
	switch opts.Plan {
	case "auto":
		opts.Plan = query.PlanList
	case query.PlanList, query.PlanIndex:
	default:
		return opts, cli.Usagef("--plan: %q is not a way to plan (auto, list or index)", opts.Plan)
	}
	return opts, nil
}

// noteIndex says what a plan by the index may miss.
func (r *request) noteIndex() {
	if r.opts.Plan == query.PlanIndex {
		r.notes = append(r.notes, "planned by the index: segments that are not indexed yet may be missing")
	}
}
