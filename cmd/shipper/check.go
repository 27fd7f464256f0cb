package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	ucli "github.com/urfave/cli/v2"

	"logstow/agent"
	"logstow/blobnaming"
	"logstow/config"
	"logstow/grant"
	"logstow/internal/cli"
	"logstow/internal/hint"
	"logstow/relay"
	"logstow/store"
	"logstow/store/open"
)

// The names of the probe's blob and table: no service can have such a name.
const (
	probeService = "_check"
	probeTable   = "logstowcheck"
)

func checkCommand() *ucli.Command {
	return &ucli.Command{
		Name:  "check",
		Usage: "check the configuration, and try inputs and storage",
		UsageText: `shipper check --store /var/lib/logs --service web /var/log/nginx/*.log
shipper check --config /etc/logstow/shipper.yaml
shipper check --sample /var/log/nginx/access.log`,
		ArgsUsage: "[FILE|GLOB|-]...",
		Description: `Accepts the flags of run and reports everything that would make run fail, one problem
per line: the configuration, addresses, files that cannot be opened, the buffer's
directory and disk. Then it tries the storage: a blob ` + probeService + `/INSTANCE and an entity
in the table ` + probeTable + ` are written and removed. A credential that may only
create cannot remove the blob, which stays and is harmless. A credential that could
also write to the compacted container is reported; it is no failure. Inputs are not read. Addresses are bound for a moment;
one that is in use, for example by a running shipper, is reported but is not a
failure. A missing file is a failure only with --once: otherwise run waits for it.

With --sample it tries nothing and prints the time, level and fields that are
recognized in the first 300 lines of a file (- for standard input), and the lines
that are joined. Probable mistakes are printed first: no time, no level, no fields,
times that are rejected or more than a day from now. With --config the settings are
those of the input that reads the file, or else of the input of --service.

Exit status: 0 no problem, 2 wrong command line or configuration, 3 something cannot
be read or storage failed, 4 access denied.`,
		Flags: slices.Concat(
			runFlags(),
			cli.Under(categoryOutput, cli.Text("sample", "`FILE`: only print what is recognized in the lines of this file")),
			outputFlag("one object per record; only with --sample"),
		),
		Action: func(c *ucli.Context) error {
			if path := c.String("sample"); path != "" {
				return sample(c, path)
			}
			if c.IsSet("output") {
				return cli.Usagef("--output requires --sample")
			}
			s, err := readSettings(c)
			if err != nil {
				return everyLine(c.App.ErrWriter, cli.Usagef("%w", err))
			}
			if err := check(c, s); err != nil {
				return everyLine(c.App.ErrWriter, err)
			}
			return nil
		},
	}
}

// everyLine prints each line of an error behind the program's name, and its hints.
func everyLine(w io.Writer, err error) error {
	printLines(w, "shipper", err)
	return cli.Exit(cli.Status(err))
}

func check(c *ucli.Context, s agent.Settings) (err error) {
	out := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0)
	defer func() { err = errors.Join(err, out.Flush()) }()
	if err := agent.Check(c.Context, s, os.Getenv, func(topic, text string) { fmt.Fprintf(out, "%s\t%s\n", topic, text) }); err != nil {
		return exitError(err)
	}
	var errs []error
	for _, spec := range s.Stores.Every() {
		errs = append(errs, withStore(c, spec, open.Options{Log: slog.New(slog.DiscardHandler), Written: agent.HasWritten(s.BufferDir, spec, os.Getenv)}, func(spec string, st store.Store) error {
			return checkStore(c.Context, out, spec, st, s)
		}))
	}
	return errors.Join(errs...)
}

// checkStore writes a blob and an entity to a store and removes them.
func checkStore(ctx context.Context, out io.Writer, spec string, st store.Store, s agent.Settings) error {
	switch st := st.(type) {
	case *grant.Store:
		return checkGrant(out, spec, st, s)
	case *relay.Store:
		return checkRelay(ctx, out, spec, st, s)
	}
	stays, err := probeBlobs(ctx, st.Blobs(), probeService+"/"+s.Instance)
	if err != nil {
		return fmt.Errorf("cannot store segments in %s: %w", spec, err)
	}
	fmt.Fprintf(out, "store\t%s: a blob was written%s\n", spec, stays)
	if err := checkCompacted(ctx, out, spec, st); err != nil {
		return fmt.Errorf("cannot check the compacted container of %s: %w", spec, err)
	}
	if s.NoIndex {
		return nil
	}
	if err := probeTables(ctx, st.Tables(), s.Instance); err != nil {
		err = fmt.Errorf("cannot index segments in %s: %w", spec, err)
		return hint.Wrap(err, "grant the role, or ship without an index with --index off")
	}
	fmt.Fprintf(out, "index\t%s: an entity was written and removed\n", spec)
	return nil
}

// checkRelay asks relays who they are and whether the token allows the services.
func checkRelay(ctx context.Context, out io.Writer, spec string, st *relay.Store, s agent.Settings) error {
	all, err := st.Relays(ctx)
	if err != nil {
		return err
	}
	for i := range s.Inputs {
		in := &s.Inputs[i]
		if !shipsTo(spec, in, s) || !blobnaming.ValidService(in.Service) {
			continue
		}
		if err := st.Permits(ctx, in.Service, in.Class); err != nil {
			return err
		}
	}
	for _, one := range all {
		fmt.Fprintf(out, "relay\t%s: instance %s, buffer %s\n", st, one.Instance, one.ID)
	}
	return nil
}

// checkCompacted reports whether the credential could write outputs of compaction, which hide segments. That is no
// failure.
func checkCompacted(ctx context.Context, out io.Writer, spec string, st store.Store) error {
	may, known, err := store.MayCompact(ctx, st)
	switch {
	case errors.Is(err, store.ErrNoContainer):
		fmt.Fprintf(out, "note\t%s: it has no compacted container yet: check again when it has one, because shippers should not be able to write there\n",
			spec)
	case err != nil:
		return err
	case !known:
	case !may:
		fmt.Fprintf(out, "store\t%s: this credential cannot write outputs of compaction, as it should be\n", spec)
	case usesKey(st):
		fmt.Fprintf(out, "note\t%s: the account key can also write outputs of compaction, and so hide or replace logs: a grant, or an identity with a role on the container, cannot\n",
			spec)
	default:
		fmt.Fprintf(out, "warning\t%s: this credential can also write outputs of compaction, and so hide or replace logs: limit its role or signature to the container %s\n",
			spec, st.Container())
	}
	return nil
}

// usesKey reports whether the credential of a store is the account's key.
func usesKey(st store.Store) bool {
	k, ok := st.(interface{ UsesKey() bool })
	return ok && k.UsesKey()
}

// checkGrant prints the limits of a grant. It writes nothing: a grant cannot delete.
func checkGrant(out io.Writer, spec string, st *grant.Store, s agent.Settings) error {
	g, err := st.Grant()
	switch {
	case err != nil:
		return err
	case g.Kind != grant.Create:
		return hint.Wrap(fmt.Errorf("%s is a grant for reading", spec), "create one with shipper grant --create-only")
	case time.Now().After(g.Expires):
		return hint.Wrap(fmt.Errorf("%s expired at %s", spec, g.Expires.Format(time.RFC3339)), "replace the file")
	}
	for i := range s.Inputs {
		in := &s.Inputs[i]
		if service := in.Service; shipsTo(spec, in, s) && service != g.Service && blobnaming.ValidService(service) {
			return fmt.Errorf("%s is for service %s, not for %s", spec, g.Service, service)
		}
	}
	for _, line := range g.Limits() {
		fmt.Fprintf(out, "store\t%s: %s\n", spec, line)
	}
	return nil
}

// shipsTo reports whether records of an input are shipped to a store.
func shipsTo(spec string, in *config.Input, s agent.Settings) bool {
	return slices.Contains(in.Stores, spec) || len(in.Stores) == 0 && slices.Contains(s.Stores.All, spec)
}

// probeBlobs creates a blob and deletes it if that is permitted; stays names a blob that is left.
func probeBlobs(ctx context.Context, blobs store.Blobs, name string) (stays string, err error) {
	_, err = blobs.Create(ctx, name, []byte("This shows that segments can be created here.\n"),
		store.CreateOptions{ContentType: "text/plain"})
	if err != nil && !errors.Is(err, store.ErrExists) { // it exists: creating it was permitted
		return "", err
	}
	err = blobs.Delete(ctx, store.AnyVersion(name))
	if errors.Is(err, store.ErrAccessDenied) {
		return "; this credential may not delete it: " + name + " stays", nil
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return "", err
	}
	return " and removed", nil
}

// probeTables writes an entity and removes it.
func probeTables(ctx context.Context, tables store.Tables, instance string) error {
	entity := store.Entity{Key: store.Key{Partition: probeService, Row: instance}, Properties: map[string]any{"Check": "1"}}
	err := tables.Upsert(ctx, probeTable, []store.Entity{entity})
	if errors.Is(err, store.ErrNoTable) {
		if err = tables.CreateTable(ctx, probeTable); err == nil || errors.Is(err, store.ErrExists) {
			err = tables.Upsert(ctx, probeTable, []store.Entity{entity})
		}
	}
	if err != nil {
		return err
	}
	if err := tables.Remove(ctx, probeTable, []store.Key{entity.Key}); err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return nil
}
