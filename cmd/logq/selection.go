package main

import (
	"math"
	"os"
	"slices"
	"strings"
	"time"

	ucli "github.com/urfave/cli/v2"

	"logstow/internal/cli"
	"logstow/internal/hint"
	"logstow/internal/price"
	"logstow/internal/suggest"
	"logstow/internal/units"
	"logstow/message/parse"
	"logstow/query"
	"logstow/record"
	"logstow/store"
)

// selectionFlags are the flags that select records.
func selectionFlags() []ucli.Flag {
	return slices.Concat(storeFlags(), rangeFlags(), cli.Categorize(categorySelection,
		&cli.ListFlag{Name: "level", Aliases: []string{"l"}, Commas: true, Usage: "`LEVEL`: trace, debug, info, warn, error, fatal or - (none), or a minimum level (warn+); a list, repeatable"},
		&cli.ListFlag{Name: "source", Usage: "`GLOB`: source, such as a file's path, or glob, in which * does not match / and ** does; repeatable (default: all)"},
		&cli.ListFlag{Name: "regexp", Aliases: []string{"e"}, Usage: "`REGEXP`: regular expression (RE2) that matches somewhere in the message; repeatable, all must match"},
		&cli.ListFlag{Name: "exclude", Aliases: []string{"x"}, Usage: "`TEXT`: text that the message must not contain, matched like PATTERN; repeatable"},
		&ucli.StringFlag{Name: "ids-from", Usage: "`FILE`: file of at most 100000 identifiers, one per line; the message must contain at least one, matched like PATTERN; - is standard input"},
		&cli.ListFlag{Name: "pattern", Usage: "`TEMPLATE`: template that the whole message matches, as logq patterns prints it, with <_> for any text; repeatable, all must match"},
		&cli.ListFlag{Name: "where", Usage: "`EXPR`: condition on fields, such as 'status >= 500'; repeatable, all must be true"},
		&ucli.StringFlag{Name: "parse", Usage: "`PARSER`: how to find the fields of messages, as one argument: auto, none, csv, \"csv 'time,user'\", \"pattern '<ip> <_>'\" or \"regexp '(?P<ip>[0-9.]+)'\" (default: that of each segment)"},
		&ucli.BoolFlag{Name: "ignore-case", Aliases: []string{"i"}, Usage: "ignore the case of ASCII letters in PATTERN, --exclude and --ids-from, and add (?i) to --regexp"},
		&ucli.BoolFlag{Name: "substring", Usage: "find identifiers of PATTERN, --exclude and --ids-from inside longer ones too"},
	))
}

// limitFlags are the flags for the plan and the limits.
func limitFlags() []ucli.Flag {
	return cli.Categorize(categoryLimits,
		&ucli.StringFlag{Name: "max-bytes", Usage: "`SIZE`: stop, with status 3, before more is read from storage, such as 500MB or 2GiB (default: no limit)"},
		&ucli.Float64Flag{Name: "max-cost", Usage: "`DOLLARS`: stop, with status 3, before requests cost more (default: no limit)"},
		&ucli.StringFlag{Name: "prices", Usage: "`FILE`: prices of requests, as JSON (default: $LOGSTOW_PRICES, else Azure's list prices)"},
		&ucli.StringFlag{Name: "plan", Value: "auto", Usage: "`MODE`: how segments are found: list (by name, complete), index (fewer requests, may miss the newest) or auto (list)"},
		&ucli.BoolFlag{Name: "no-cache", Usage: "do not use the local cache of data read from Azure"},
	)
}

// freshFlag is the flag for records that shippers have not flushed yet.
func freshFlag() []ucli.Flag {
	return cli.Categorize(categorySelection,
		&ucli.BoolFlag{Name: "fresh", Usage: "first make running shippers of the services flush, and wait up to 15s for them; writes to the store's table of watches"},
	)
}

// memoryFlag is the flag for the memory of something.
func memoryFlag(of string) []ucli.Flag {
	return cli.Categorize(categoryLimits,
		&ucli.StringFlag{Name: "memory", Value: "256MiB", Usage: "`SIZE`: memory for " + of + "; beyond it, temporary files are used"},
	)
}

// selection reads selectionFlags; the arguments are patterns.
func selection(c *ucli.Context, from, to, now time.Time) (sel query.Selection, err error) {
	sel = query.Selection{
		Services: cli.List(c, "service"), From: from, To: to, Sources: cli.List(c, "source"),
		Patterns: c.Args().Slice(), Regexps: cli.List(c, "regexp"), Excludes: cli.List(c, "exclude"),
		Templates: cli.List(c, "pattern"), Where: cli.List(c, "where"), Now: now.In(location(c)),
		IgnoreCase: c.Bool("ignore-case"), Substring: c.Bool("substring"),
	}
	if slices.Contains(sel.Patterns, "") {
		return sel, hint.Wrap(cli.Usagef("PATTERN is empty"), "omit it to find every record; a shell variable in it may be unset")
	}
	parser, err := fieldParser(c)
	if err != nil {
		return sel, err
	}
	if len(cli.List(c, "file")) == 0 { // files are read with it
		sel.Parser = parser
	}
	for _, text := range cli.List(c, "level") {
		levels, err := record.ParseLevels(text)
		if err != nil {
			return sel, hint.Wrap(cli.Usagef("--level: %w", err), "%s", suggest.DidYouMean(strings.TrimSuffix(text, "+"), levelNames()))
		}
		sel.Levels |= levels
	}
	return sel, nil
}

// fieldParser reads --parse; nil is that of each segment.
func fieldParser(c *ucli.Context) (*parse.Parser, error) {
	if !c.IsSet("parse") {
		return nil, nil
	}
	parser, err := parse.Compile(c.String("parse"))
	if err != nil {
		return nil, cli.Usagef("--parse: %w", err)
	}
	if parser.NeedsHeader() && len(cli.List(c, "file")) == 0 {
		return nil, hint.Wrap(cli.Usagef("--parse csv without columns is for --file: the first line of a file names them"), "write csv 'time,level,message'")
	}
	return parser, nil
}

// readOptions reads limitFlags, except --no-cache, and whether --explain needs the tiers of blobs.
func readOptions(c *ucli.Context, env environment) (query.Options, error) {
	opts := query.Options{Plan: c.String("plan"), TempDir: env.tempDir, Tiers: c.Bool("explain") || c.IsSet("max-cost")}
	err := cli.OneOf("plan", opts.Plan, planModes()...)
	if err != nil {
		return opts, err
	}
	if opts.Plan == "auto" {
		opts.Plan = query.PlanList
	}
	if err == nil {
		err = readLimits(c, env, &opts)
	}
	return opts, err
}

// readLimits reads --max-bytes, --max-cost and --prices.
func readLimits(c *ucli.Context, env environment, opts *query.Options) (err error) {
	if c.IsSet("max-bytes") {
		if opts.MaxBytes, err = units.ParseSize(c.String("max-bytes")); err != nil || opts.MaxBytes < 1 {
			return cli.Usagef("--max-bytes %q: want a size of at least one byte, such as 500MB or 2GiB", c.String("max-bytes"))
		}
	}
	if opts.MaxCost, err = readDollars(c, "max-cost"); err != nil {
		return err
	}
	opts.Prices, err = prices(c, env)
	return err
}

// readDollars reads a limit in dollars; 0 if it is not given.
func readDollars(c *ucli.Context, name string) (float64, error) {
	limit := c.Float64(name)
	if c.IsSet(name) && !(limit > 0 && limit <= math.MaxFloat64) {
		return 0, cli.Usagef("--%s %v: want more than 0", name, limit)
	}
	return limit, nil
}

// prices returns the prices in the file of --prices, otherwise of $LOGSTOW_PRICES; nil if neither is given.
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

// coverIndex makes a plan by index fail for stores whose index is known not to cover the
// range, such as that of a grant.
func (r *request) coverIndex(stores []query.Store) {
	if r.opts.Plan != query.PlanIndex {
		return
	}
	for i := range stores {
		if err := store.Covers(stores[i].Tables, r.sel.From, r.sel.To); err != nil {
			stores[i].Tables = unopened{err}
		}
	}
}

// warnIndex warns of what a plan by index may miss.
func (r *request) warnIndex() {
	if r.opts.Plan == query.PlanIndex {
		r.notes = append(r.notes, "segments were found by the index: segments that are not indexed yet may be missing")
	}
}
