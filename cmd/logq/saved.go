package main

import (
	"cmp"
	"slices"
	"time"

	ucli "github.com/urfave/cli/v2"

	"logstow/internal/cli"
	"logstow/internal/hint"
	"logstow/internal/jsonlines"
	"logstow/internal/suggest"
	"logstow/internal/units"
	"logstow/query/output"
	"logstow/query/report"
	"logstow/serve/saved"
)

func savedCommand() *ucli.Command {
	return &ucli.Command{
		Name:  "saved",
		Usage: "list saved queries, and run one by its name",
		UsageText: `logq saved --queries queries.yaml
logq saved --queries queries.yaml 'errors of shop'
logq saved --queries queries.yaml --since 1d -o json 'errors of shop'`,
		ArgsUsage: "[NAME]",
		Description: `Reads queries that all users share from a file, which logq serve --queries shows in
the web UI too. It is YAML, or JSON as the web UI exports it:

  queries:
    - name: errors of shop
      query: '{service_name="shop", level="error"} | json'
      range: 2h                  # before now
      columns: [status, path]    # of the web UI

Without a name it lists the queries. With one it runs that query, as logq ql does, in
its range if the command line has none; without both the range is the last hour.

Exit status: 0 found, 1 nothing found, 2 wrong command line or file, 3 incomplete or
failed, 4 access denied, 130 interrupted.`,
	}
}

func runSaved(c *ucli.Context, env environment) error {
	read, err := sharedQueries(c, env)
	if err != nil {
		return err
	}
	if read == nil {
		return hint.Wrap(cli.Usagef("saved needs a file of queries"), "give --queries FILE, or set LOGSTOW_QUERIES")
	}
	queries, err := read()
	switch {
	case err != nil:
		return cli.Usagef("%w", err)
	case c.NArg() > 1:
		return hint.Wrap(cli.Usagef("want one NAME, not %d arguments", c.NArg()), "put the name in single quotes")
	case c.NArg() == 0:
		return env.paged(c.Context, func(env *environment) error { return listSaved(env, queries, c.String("output")) })
	}
	name := c.Args().First()
	i := slices.IndexFunc(queries, func(q saved.Query) bool { return q.Name == name })
	if i < 0 {
		var names []string
		for _, q := range queries {
			names = append(names, q.Name)
		}
		return hint.Wrap(cli.Usagef("no saved query has the name %q", name), "%s",
			cmp.Or(suggest.DidYouMean(name, names), "logq saved without a name lists them"))
	}
	var since time.Duration
	if queries[i].Range != "" {
		if since, err = units.ParseDuration(queries[i].Range); err != nil {
			return err
		}
	}
	return runLogQL(c, env, queries[i].Query, since)
}

// sharedQueries returns what reads the file of --queries; nil if there is none. The file is read once, so that an invalid one is an
// error.
func sharedQueries(c *ucli.Context, env environment) (func() ([]saved.Query, error), error) {
	path := cmp.Or(c.String("queries"), env.getenv("LOGSTOW_QUERIES"))
	if path == "" {
		return nil, nil
	}
	file := saved.File(path)
	if _, err := file.Get(0); err != nil {
		return nil, cli.Usagef("%w", err)
	}
	return func() ([]saved.Query, error) { return file.Get(0) }, nil
}

// listSaved prints queries: as JSON one object per line, in other formats a table.
func listSaved(env *environment, queries []saved.Query, format string) error {
	if format == report.JSON {
		return jsonlines.Write(env.stdout, queries...)
	}
	table := [][]string{{"NAME", "RANGE", "QUERY"}}
	var before output.Alignment // what is before the queries
	for _, q := range queries {
		table = append(table, []string{output.Visible(q.Name), cmp.Or(q.Range, "-"), output.Visible(q.Query)})
	}
	for _, cells := range table {
		before.Add(cells[:2])
	}
	indent := before.Width() + 2
	var broken [][]string // queries over several lines on a terminal
	for _, cells := range table {
		for i, part := range wrap(cells[2], max(0, env.out.columns-indent)) {
			if i > 0 {
				cells = []string{"", "", ""}
			}
			broken = append(broken, []string{cells[0], cells[1], part})
		}
	}
	return output.WriteLines(env.stdout, output.Align(broken))
}
