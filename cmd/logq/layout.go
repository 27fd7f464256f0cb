package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	ucli "github.com/urfave/cli/v2"

	"logstow/archive/converted"
	"logstow/blobnaming"
	"logstow/internal/cli"
	"logstow/internal/hint"
	"logstow/internal/shell"
	"logstow/internal/timearg"
	"logstow/internal/units"
	"logstow/layout"
	"logstow/query"
	"logstow/query/explain"
	"logstow/store"
	"logstow/store/open"
)

// keepArchive is how long the server uses the records of an archive without listing its blobs again.
const keepArchive = 15 * time.Second

// ofLayout reports whether the blobs of another program are read.
func ofLayout(c *ucli.Context) bool { return c.String("layout") != "" }

// readLayout reads --layout, --layout-slack and --layout-tz; nil if there is none.
func readLayout(c *ucli.Context) (*layout.Layout, error) {
	opts := layout.Options{}
	if !ofLayout(c) {
		return nil, nil //nolint:nilnil // none is one of the answers
	}
	if name := c.Command.Name; (name == "services" || name == "segments") && ofLayout(c) {
		return nil, hint.Wrap(cli.Usagef("%s has no --layout: blobs of other programs have no segments, and their records name their services",
			name),
			"logq stats --by service,source --layout … --since 1d counts the records of each")
	}
	if text := c.String("layout-tz"); text != "" {
		zone, err := timearg.ParseZone(text)
		if err != nil {
			return nil, cli.Usagef("--layout-tz: %w", err)
		}
		opts.Zone = zone
	}
	if c.IsSet("layout-slack") {
		slack, err := units.ParseZero(c.String("layout-slack"))
		if err != nil {
			return nil, cli.Usagef("--layout-slack: %w", err)
		}
		if opts.Slack = slack; slack == 0 {
			opts.Slack = -1
		}
	}
	l, err := layout.Parse(c.String("layout"), opts)
	if err != nil {
		return nil, hint.Wrap(cli.Usagef("--layout: %w", err), "docs/layouts.md has a table of layouts")
	}
	if c.String("plan") == query.PlanIndex {
		return nil, cli.Usagef("--layout cannot be used together with --plan index: other programs have no index; omit it")
	}
	return l, nil
}

// expand replaces the stores whose names have an asterisk by those that these stand for.
func (e *environment) expand(ctx context.Context, c *ucli.Context, specs []string) (all []string, err error) {
	for _, spec := range specs {
		found := []string{spec}
		if strings.Contains(spec, "*") {
			if found, err = open.Expand(ctx, spec, open.Options{Getenv: e.getenv, Auth: c.String("auth")}); err != nil {
				return nil, err
			}
		}
		all = append(all, found...)
	}
	return all, nil
}

// archiveOf makes a store for reading whose blobs have a layout.
func (e *environment) archiveOf(c *ucli.Context, l *layout.Layout, spec string, reading query.Store) (query.Store, *converted.Store) {
	parser, _ := fieldParser(c)
	_, zone, _ := zoneOf(c) // those of logs from elsewhere are in UTC unless it is given
	_, directory := open.Dir(spec)
	opts := converted.Options{
		Name:      reading.Name,
		Container: open.Container(spec),
		Directory: directory,
		Zone:      zone,
		Parser:    parser,
		TempDir:   e.tempDir,
		Now:       e.now,
	}
	if c.Command.Name == "serve" {
		opts.Keep = keepArchive
	} else if e.line != nil {
		opts.Progress = e.line.Start
	}
	made := converted.New(l, opts)
	reading.Archive, reading.Compacted, reading.Tables = made, store.NoBlobs(reading.Name), store.NoTables{}
	reading.Location = store.Location{}
	return reading, made
}

// withLayouts puts the layouts that stores seem to have in the place of the reason that they have no logs, or before the one that the
// range has none, because directories of other programs may look like services. given is the layout that was used for reading, if any. It
// lists the first blobs of each store.
func withLayouts(ctx context.Context, given string, stores []query.Store, reasons []query.Reason) []query.Reason {
	empty := func(r query.Reason) bool { return r.Code == explain.StoreEmpty().Code }
	unread := func(r query.Reason) bool { return empty(r) || given == "" && r.Code == "range-empty" }
	if !slices.ContainsFunc(reasons, unread) {
		return reasons
	}
	var found []query.Reason
	what := "segments"
	if given != "" {
		what = "blobs of the layout in the range"
	}
	used, err := layout.Parse(given, layout.Options{})
	matches := func(name string) bool {
		if err != nil { // none is given
			return false
		}
		_, ok := used.Match(&layout.Place{}, store.Blob{Name: name})
		return ok
	}
	for _, s := range stores {
		names := firstNames(ctx, s.Blobs)
		if name, writer := layout.Detect(names); name != "" && !slices.ContainsFunc(names, matches) {
			found = append(found,
				query.Reason{Code: "layout", Text: fmt.Sprintf("%s has no %s; its blobs are named like those of %s: --layout %s",
					s.Name, what, writer, shell.Quote(name))})
		}
	}
	if len(found) == 0 && given != "" {
		found = append(found,
			query.Reason{Code: "layout", Text: "no blob whose name is of the layout was written during the range and --layout-slack, or none has records: check --layout, --layout-tz and --store, or give another range"})
	}
	if len(found) > 0 {
		reasons = slices.DeleteFunc(slices.Clone(reasons), empty)
	}
	return append(found, reasons...)
}

// firstNames are the names of the first blobs of a store; none if it has segments.
func firstNames(ctx context.Context, blobs store.BlobReader) (names []string) {
	for page, err := range blobs.List(ctx, "") {
		if err != nil {
			break // it was reported, or will be
		}
		for i := range page {
			if _, err := blobnaming.Parse(page[i].Name); err == nil {
				return nil
			}
			names = append(names, page[i].Name)
		}
		break //nolint:staticcheck // the first page is enough
	}
	return names
}
