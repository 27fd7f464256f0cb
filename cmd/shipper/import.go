package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	ucli "github.com/urfave/cli/v2"

	"logstow/agent"
	"logstow/config"
	"logstow/input/imports"
	"logstow/internal/cli"
	"logstow/internal/hint"
	"logstow/internal/logging"
	"logstow/internal/timearg"
	"logstow/internal/units"
	"logstow/layout"
	"logstow/store"
	"logstow/store/open"
)

// importService is the owner of the buffers of imports. No service has such a name.
const importService = "_import"

func importCommand() *ucli.Command {
	return &ucli.Command{
		Name:  "import",
		Usage: "copy what other programs wrote to blob storage",
		UsageText: `shipper import --layout azure --from-store 'azblob://insights-*' --since 7d
shipper import --layout vector --from-store ./old --since 1d --store ./logs
shipper import --layout '{service}/{yyyy}/{*}' --from-store ./old --since 90d`,
		Description: `Copies the records of blobs that other programs wrote during a range of time, plus
--layout-slack, into segments. docs/layouts.md has the layouts.

Each version of a blob is copied once: what was copied is in the buffer, with the
records. A run that was interrupted or killed continues where it ended, and running it
again copies only new blobs, and what was added to others since. An incomplete line at
the end of a blob that may grow is left for the next run. The buffer takes about 200
bytes for each blob and store; without it everything would be copied again, so keep it
as long as the same range may be imported.

Exit status: 0 everything else is copied, 2 wrong command line, 3 incomplete or failed, 4
access denied, 130 interrupted.`,
		Flags: importFlags(),
		Action: func(c *ucli.Context) error {
			if c.NArg() > 0 {
				return cli.Usagef("import takes no arguments")
			}
			spec, err := importSpec(c)
			if err != nil {
				return err
			}
			log := logging.New(os.Stderr)
			closeAll, err := openSources(c, spec, log)
			if err != nil {
				return err
			}
			defer func() { _ = closeAll() }() // they were only read
			s, err := importSettings(c, spec)
			if err != nil {
				return cli.Usagef("%w", err)
			}
			opts := agent.Options{Version: version, Log: log, Getenv: open.WithAuth(os.Getenv, c.String("auth"))}
			forPeople(&opts, c.App.ErrWriter)
			return exitError(agent.Run(c.Context, s, opts))
		},
	}
}

// importFlags are the flags of import: its own, and those of run that are not about inputs.
func importFlags() []ucli.Flag {
	own := slices.Concat(cli.Under(categoryInputs,
		cli.Text("layout",
			"`LAYOUT`: what wrote the blobs: azure, fluent-bit, vector, otel, '$logs', or a pattern of names such as '{service}/{yyyy}/{MM}/{dd}/{HH}/{*}.json.gz'; required"),
		cli.Text("layout-slack=1h", "`DURATION`: how long after its time a record may have been stored"),
		cli.Text("layout-tz", "`ZONE`: zone of the times in names (default: UTC, for otel local)"),
		cli.Repeated("from-store",
			"`STORE`: directory or azblob://CONTAINER to copy from, azblob://PREFIX* for several; repeatable, required"),
	), cli.Under(categoryRange,
		cli.Text("since", "`TIME`: start of the range, as a duration before now or a time: 7d, yesterday; not with --from"),
		cli.Text("from", "`TIME`: start of the range: 2026-11-20, yesterday, -2d"),
		cli.Text("to", "`TIME`: end of the range (default: now)"),
	))
	unused := []string{"config", "service", "once", "from-start", "metrics"}
	for _, f := range inputFlags() {
		unused = append(unused, f.Names()...)
	}
	shared := slices.DeleteFunc(runFlags(), func(f ucli.Flag) bool { return slices.Contains(unused, f.Names()[0]) })
	for _, f := range shared { // they have defaults that settingsOf reads
		if slices.Contains([]string{"format", "multiline", "watch-interval", "max-watch-flushes", "max-flush-interval"}, f.Names()[0]) {
			cli.Hide(f)
		}
	}
	return append(own, shared...)
}

// importSettings reads the flags of a run that imports.
func importSettings(c *ucli.Context, spec *imports.Spec) (agent.Settings, error) {
	s, err := settingsOf(c, config.New(), true, func(errs *problems, c *ucli.Context, _ *config.Config) []config.Input {
		common := commonFlags(errs, c)
		common.Service = importService
		return []config.Input{{Common: common, Spec: spec}}
	})
	s.Service = importService
	if err == nil && len(s.Stores.All) > 0 {
		spec.Target, err = open.Identity(s.Stores.All[0], open.WithAuth(os.Getenv, c.String("auth")))
	}
	if err != nil {
		return s, err
	}
	target, err := realPlace(spec.Target)
	for i := range spec.Sources {
		if name := spec.Sources[i].Name; err == nil && name == target {
			err = hint.Wrap(fmt.Errorf("--from-store %s is the store to copy to: each run would copy its segments again", name),
				"name another directory or container with --store")
		}
	}
	return s, err
}

// realPlace is the identity of a store without symbolic links in the path of a directory, if that exists.
func realPlace(identity string) (string, error) {
	if _, directory := open.Dir(identity); !directory {
		return identity, nil
	}
	real, err := filepath.EvalSymlinks(identity)
	if errors.Is(err, fs.ErrNotExist) {
		return identity, nil
	}
	return real, err
}

// importSpec reads the layout and the range.
func importSpec(c *ucli.Context) (spec *imports.Spec, err error) {
	spec = &imports.Spec{}
	var errs problems
	opts := layout.Options{}
	opts.Zone = parseGiven(&errs, c, "layout-tz", timearg.ParseZone)
	if opts.Slack = parse(&errs, c, "layout-slack", units.ParseZero); opts.Slack == 0 {
		opts.Slack = -1
	}
	errs.check(c.String("layout") != "", "--layout is missing")
	spec.Layout = parseGiven(&errs, c, "layout", func(text string) (*layout.Layout, error) { return layout.Parse(text, opts) })
	errs.advise(len(cli.List(c, "from-store")) > 0, "--from-store is missing", "give a directory or azblob://CONTAINER")
	now := time.Now()
	spec.From, spec.To = parseRange(&errs, c, now)
	errs.advise(c.IsSet("since") || c.IsSet("from"), "the range has no start", "give --since or --from, such as --since 7d")
	if spec.To.IsZero() {
		spec.To = now
	}
	errs.checkRange(spec.From, spec.To)
	if err := errors.Join(errs...); err != nil {
		return nil, cli.Usagef("%w", err)
	}
	return spec, nil
}

// openSources opens the stores to import from.
func openSources(c *ucli.Context, spec *imports.Spec, log *slog.Logger) (closeAll func() error, err error) {
	ctx := c.Context
	var opened []store.Store
	closeAll = func() (err error) {
		for _, s := range opened {
			err = errors.Join(err, s.Close())
		}
		return err
	}
	getenv := open.WithAuth(os.Getenv, c.String("auth"))
	with := open.Options{Getenv: os.Getenv, Auth: c.String("auth"), LeftOut: func(name, why string) {
		log.Warn("a file or directory is not imported", "name", name, "reason", why, "hint", "copy or rename it, and run the import again")
	}}
	for _, name := range cli.List(c, "from-store") {
		found, err := open.Expand(ctx, name, with)
		for _, name := range found {
			var s store.Store
			if err == nil {
				s, err = open.Store(ctx, name, with)
			}
			if err != nil {
				break
			}
			opened = append(opened, s)
			_, directory := open.Dir(name)
			place := layout.Place{Blobs: s.Blobs(), Container: open.Container(name), Directory: directory}
			source := imports.Source{Place: place}
			if source.Name, err = open.Identity(name, getenv); err == nil {
				source.Name, err = realPlace(source.Name) // of a directory with two names nothing is copied twice
			}
			if err != nil {
				break
			}
			spec.Sources = append(spec.Sources, source)
		}
		switch {
		case errors.Is(err, store.ErrInvalid):
			return nil, errors.Join(cli.Usagef("--from-store: %w", err), closeAll())
		case err != nil:
			return nil, errors.Join(hint.Wrap(err, "--from-store names what to copy"), closeAll())
		}
	}
	return closeAll, nil
}
