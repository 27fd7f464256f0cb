package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	ucli "github.com/urfave/cli/v2"

	"logstow/grant"
	"logstow/internal/cli"
	"logstow/internal/fsutil"
	"logstow/internal/units"
	"logstow/store"
	"logstow/store/open"
)

// grantDays is how far back a grant reaches by default.
const grantDays = 7 * 24 * time.Hour

func grantCommand() *ucli.Command {
	return &ucli.Command{
		Name:  "grant",
		Usage: "write a file that gives access to one service for a limited time",
		UsageText: `shipper grant --store azblob://logs --service shop --expires 8h
shipper grant --store azblob://logs --service shop --expires 1h --from -1d
shipper grant --store azblob://in --service shop --expires 7d --create-only`,
		Description: `Writes a file with signatures for one service's logs in an Azure container: for logq
(logq query --grant FILE), or with --create-only for a shipper (shipper run --store
grant://FILE). The file gives access without a key or role: protect it like a key.

The access is as narrow as the account allows, and storage enforces it until the
grant expires: the blobs of a directory if the account has a hierarchical namespace,
else of the container, and the index of the service. A reader gets both containers of
the store, a shipper only that of segments. If a reader would get the logs of other
services too, no grant is written, and the role assignments that give access are
printed.

--from and --to limit the index to days. Blobs are limited only for a reader, and only
with a hierarchical namespace: to the service, year, month or day that contains the
range. A shipper needs a range that contains the days of its records, so that they are
indexed.

With the account's key, a grant covers blobs and index; with an identity (msi,
workload, cli), blobs only; a SAS cannot sign grants. docs/grants.md describes the
limits of the protection.

Exit status: 0 written, 2 wrong command line, 3 failed, 4 access denied, or the grant
would give access to more than the service.`,
		Flags: slices.Concat(cli.Under(categoryStore,
			cli.Text("store=$LOGSTOW_STORE", "`STORE`: azblob://CONTAINER (default: $LOGSTOW_STORE)"),
			authFlag(),
			cli.Text("hierarchical=auto", "`MODE`: whether the account has a hierarchical namespace: yes, no or auto (detect it)"),
		), cli.Under(categoryGrant,
			cli.Text("service", "`NAME`: service to give access to (required)"),
			cli.Text("expires", "`DURATION`: lifetime of the grant, such as 8h, at most 7d (required)"),
			cli.Switch("create-only", "for a shipper: allow it to create segments and write their index, and nothing else"),
			cli.Repeated("class",
				"`CLASS`: with --create-only, retention class that the shipper may use, - for none; repeatable (default: without a class only)").Clearable(),
		), cli.Under(categoryRange,
			cli.Text("from", "`TIME`: start of the range, in UTC: 2026-11-20, yesterday, -30d (default: 7 days ago)"),
			cli.Text("to", "`TIME`: end of the range, exclusive (default: when the grant expires)"),
		), cli.Under(categoryOutput,
			cli.Text("out", "`FILE`: file to create or replace; - is standard output (default: SERVICE.grant)"),
		)),
		Action: func(c *ucli.Context) error {
			r, err := grantRequest(c, time.Now().UTC())
			if err != nil {
				return cli.Usagef("%w", err)
			}
			return withStore(c, c.String("store"), open.Options{}, func(spec string, s store.Store) error {
				return writeGrant(c, s, r)
			})
		},
	}
}

// grantRequest reads the command line.
func grantRequest(c *ucli.Context, now time.Time) (grant.Request, error) {
	var errs problems
	r := grant.Request{
		Kind: grant.Read, Service: c.String("service"), Classes: classes(cli.List(c, "class")),
	}
	switch answer := c.String("hierarchical"); answer {
	case "yes", "no":
		yes := answer == "yes"
		r.Hierarchical = &yes
	default:
		errs.check(answer == "auto", "--hierarchical %q: want yes, no or auto", answer)
	}
	errs.advise(c.String("store") != "", "--store is missing", "give azblob://CONTAINER, or set LOGSTOW_STORE")
	errs.check(c.String("store") == "" || strings.HasPrefix(c.String("store"), "azblob://"), "--store %q: want azblob://CONTAINER; a grant for a directory is not possible",
		open.Shown(c.String("store")))
	errs.check(r.Service != "", "--service is missing")
	errs.noArguments(c)
	errs.check(len(r.Classes) == 0 || c.Bool("create-only"), "--class requires --create-only: a reader gets all classes")
	errs.advise(c.String("expires") != "", "--expires is missing", "give a duration of at most 7d, such as 8h")
	r.Expires = now.Add(parseGiven(&errs, c, "expires", units.ParseDuration))
	from, to := parseRange(&errs, c, now)
	r.From, r.To = cmp.Or(from, now.Add(-grantDays)), cmp.Or(to, r.Expires)
	if c.Bool("create-only") {
		r.Kind = grant.Create
		if len(r.Classes) == 0 {
			r.Classes = []string{""}
		}
	}
	return r, errors.Join(errs...)
}

// writeGrant makes a grant and writes its file.
func writeGrant(c *ucli.Context, s store.Store, r grant.Request) error {
	issuer, ok := s.(grant.Issuer)
	if !ok {
		return cli.Usagef("%s does not support grants: want azblob://CONTAINER", s)
	}
	g, err := grant.Make(c.Context, issuer, r)
	var wide *grant.TooWideError
	if errors.As(err, &wide) { // not in one line: a command is to be copied
		fmt.Fprintf(c.App.ErrWriter, "%s: %v\n", c.App.Name, err)
		return cli.Exit(cli.Status(err))
	}
	if errors.Is(err, store.ErrInvalid) {
		return cli.Usagef("%w", err)
	}
	if err != nil {
		return err
	}
	text, err := g.Encode()
	if err != nil {
		return err
	}
	path := c.String("out")
	switch path {
	case "-":
		_, err = c.App.Writer.Write(text)
	case "":
		path = r.Service + ".grant"
		fallthrough
	default:
		// Only its owner may read it. A reader of a renewed grant gets the old one or the new one.
		err = fsutil.Files{Mask: 0o077}.Replace(filepath.Dir(path), path, text)
	}
	if err != nil {
		return fmt.Errorf("cannot write the grant: %w", err)
	}
	if path != "-" {
		fmt.Fprintf(c.App.ErrWriter, "%s:\n", path)
	}
	for _, line := range g.Limits() {
		fmt.Fprintf(c.App.ErrWriter, "  %s\n", line)
	}
	return nil
}

// classes are retention classes as typed, where "-" stands for segments without one.
func classes(typed []string) []string {
	named := slices.Clone(typed)
	for i, class := range named {
		if class == defaultClass {
			named[i] = ""
		}
	}
	return named
}
