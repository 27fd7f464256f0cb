package main

import (
	"slices"
	"strings"

	ucli "github.com/urfave/cli/v2"

	"logstow/internal/cli"
	"logstow/internal/hint"
	"logstow/internal/suggest"
	"logstow/message/parse"
	"logstow/query"
	"logstow/query/explain"
	"logstow/record"
)

// readSelection reads the selection; the arguments are patterns.
func (r *request) readSelection() error {
	c := r.c
	sel := &r.sel
	*sel = query.Selection{
		Services: cli.List(c, "service"), From: r.span.from, To: r.span.to, Sources: cli.List(c, "source"),
		Patterns: c.Args().Slice(), Regexps: cli.List(c, "regexp"), Excludes: cli.List(c, "exclude"),
		Templates: cli.List(c, "pattern"), Where: cli.List(c, "where"), Now: r.now,
		IgnoreCase: c.Bool("ignore-case"), Substring: c.Bool("substring"),
	}
	if slices.Contains(sel.Patterns, "") {
		return hint.Wrap(cli.Usagef("PATTERN is empty"), "omit it to find every record; a shell variable in it may be unset")
	}
	parser, err := fieldParser(c)
	if err != nil {
		return err
	}
	if !r.files && !ofLayout(c) { // these are read with it
		sel.Parser = parser
	}
	return r.readLevels()
}

// readLevels reads --level.
func (r *request) readLevels() error {
	for _, text := range cli.List(r.c, "level") {
		levels, err := record.ParseLevels(text)
		if err != nil {
			return hint.Wrap(cli.Usagef("--level: %w", err), "%s", suggest.DidYouMean(strings.TrimSuffix(text, "+"), explain.LevelNames()))
		}
		r.sel.Levels |= levels
	}
	return nil
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
	if parser.NeedsHeader() && !ofFiles(c) && !ofLayout(c) {
		return nil, hint.Wrap(cli.Usagef("--parse csv without columns is for --file: the first line of a file names them"),
			"write csv 'time,level,message'")
	}
	return parser, nil
}
