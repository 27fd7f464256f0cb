package main

import (
	"math"
	"os"
	"time"

	ucli "github.com/urfave/cli/v2"

	"logstow/internal/cli"
	"logstow/internal/price"
	"logstow/query"
	"logstow/record"
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
		&ucli.StringFlag{Name: "max-bytes", Usage: "read at most `SIZE` from storage (500MB, 2GiB); stop before more is, with status 3"},
		&ucli.Float64Flag{Name: "max-cost", Usage: "use requests worth at most `DOLLARS`; stop before more is spent, with status 3"},
		&ucli.StringFlag{Name: "prices", Usage: "what requests cost is in `FILE`, a JSON object (default: $LOGSTOW_PRICES, else Azure's list prices)"},
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
		if sel.Levels, err = record.ParseLevels(levels); err != nil {
			return sel, cli.Usagef("--level: %w", err)
		}
	}
	return sel, nil
}

// reading says how to read.
func reading(c *ucli.Context, env environment) (query.Options, error) {
	opts := query.Options{Plan: c.String("plan"), TempDir: env.tempDir, Tiers: c.Bool("explain") || c.IsSet("max-cost")}
	switch opts.Plan {
	case "auto":
		opts.Plan = query.PlanList
	case query.PlanList, query.PlanIndex:
	default:
		return opts, cli.Usagef("--plan: %q is not a way to plan (auto, list or index)", opts.Plan)
	}
	var err error
	if c.IsSet("max-bytes") {
		if opts.MaxBytes, err = cli.ParseSize(c.String("max-bytes")); err != nil || opts.MaxBytes < 1 {
			return opts, cli.Usagef("--max-bytes: %q is not a size of at least one byte (write 500MB or 2GiB)", c.String("max-bytes"))
		}
	}
	if opts.MaxCost = c.Float64("max-cost"); c.IsSet("max-cost") && !(opts.MaxCost > 0 && opts.MaxCost <= math.MaxFloat64) {
		return opts, cli.Usagef("--max-cost %v: it has to be more than nothing", opts.MaxCost)
	}
	opts.Prices, err = prices(c, env)
	return opts, err
}

// prices are those of the file that is named; nil where none is.
func prices(c *ucli.Context, env environment) (*price.Table, error) {
	from, name := "--prices", c.String("prices")
	if name == "" {
		from, name = "LOGSTOW_PRICES", env.getenv("LOGSTOW_PRICES")
	}
	if name == "" {
		return nil, nil //nolint:nilnil // the default ones
	}
	data, err := os.ReadFile(name) //nolint:gosec // the user's own file
	if err != nil {
		return nil, cli.Usagef("%s: %w", from, err)
	}
	table, err := price.Parse(data)
	if err != nil {
		return nil, cli.Usagef("%s %s: %w", from, name, err)
	}
	return &table, nil
}

// coverIndex makes stores whose index is known not to reach over the range fail a plan
// by it: a grant's is that of some days.
func (r *request) coverIndex(stores []query.Store) {
	for i := range stores {
		limited, ok := stores[i].Tables.(interface {
			Covers(from, to time.Time) error
		})
		if !ok || r.opts.Plan != query.PlanIndex {
			continue
		}
		if err := limited.Covers(r.sel.From, r.sel.To); err != nil {
			stores[i].Tables = unopened{err}
		}
	}
}

// noteIndex says what a plan by the index may miss.
func (r *request) noteIndex() {
	if r.opts.Plan == query.PlanIndex {
		r.notes = append(r.notes, "planned by the index: segments that are not indexed yet may be missing")
	}
}
