package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	ucli "github.com/urfave/cli/v2"

	"logstow/blobnaming"
	"logstow/config"
	"logstow/grant"
	"logstow/internal/cli"
	"logstow/store"
	"logstow/store/open"
)

// The probe's blob and row: no service has such a name, so nothing takes them for logs.
const (
	probeService = "_check"
	probeTable   = "logstowcheck"
)

func checkCommand() *ucli.Command {
	return &ucli.Command{
		Name:      "check",
		Usage:     "check the configuration and try the storage",
		ArgsUsage: "[FILE|GLOB|-]...",
		Description: `Takes what run takes, tells everything that is wrong with it, a line each, and
tries the storage: a blob ` + probeService + `/INSTANCE and a row in the table ` + probeTable + ` are written
and removed. A credential that may only create can not remove the blob: it stays,
which does no harm. Nothing is read, and no address is taken.

Exit status: 0 all is well, 2 wrong command line or configuration, 3 storage
failed, 4 access refused.`,
		Flags: runFlags(),
		Action: func(c *ucli.Context) error {
			s, err := readSettings(c)
			if err != nil {
				return everyLine(c.App.ErrWriter, err)
			}
			return check(c.Context, c.App.Writer, s)
		},
	}
}

// everyLine says each of several errors in a line of its own.
func everyLine(w io.Writer, err error) error {
	for line := range strings.Lines(err.Error() + "\n") {
		if _, err := fmt.Fprintf(w, "shipper: %s", line); err != nil {
			return err
		}
	}
	return cli.Exit(cli.Usage)
}

func check(ctx context.Context, w io.Writer, s settings) (err error) {
	p := &pipeline{settings: s, log: newLogger(os.Stderr)}
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	defer func() { err = errors.Join(err, out.Flush()) }()
	var errs []error
	for i := range s.inputs {
		in := &s.inputs[i]
		fmt.Fprintf(out, "input\t%s: %s\n", in.Service, describe(in))
		if _, err := p.inputOptions(in); err != nil {
			errs = append(errs, atLine(in, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return cli.Usagef("%w", err)
	}
	if s.bufferDir != "" {
		fmt.Fprintf(out, "buffer\t%s\n", s.bufferDir)
	}
	for _, spec := range s.stores.every() {
		errs = append(errs, checkStore(ctx, out, spec, s))
	}
	return errors.Join(errs...)
}

// checkStore writes to a store and removes what it wrote.
func checkStore(ctx context.Context, out io.Writer, spec string, s settings) (err error) {
	st, err := open.Store(ctx, spec, open.Options{Getenv: os.Getenv, Log: slog.New(slog.DiscardHandler)})
	if errors.Is(err, store.ErrInvalid) {
		return cli.Usagef("%w", err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	if limited, ok := st.(*grant.Store); ok {
		return checkGrant(out, spec, limited, s)
	}
	stays, err := probeBlobs(ctx, st.Blobs(), probeService+"/"+s.instance)
	if err != nil {
		return fmt.Errorf("%s does not take segments: %w", spec, err)
	}
	fmt.Fprintf(out, "store\t%s: a blob was written%s\n", spec, stays)
	if err := probeTables(ctx, st.Tables(), s.instance); err != nil {
		return fmt.Errorf("segments would be stored in %s, but not indexed: %w", spec, err)
	}
	fmt.Fprintf(out, "index\t%s: a row was written and removed\n", spec)
	return nil
}

// checkGrant says what a grant gives. It is not tried: what it creates, it can not remove.
func checkGrant(out io.Writer, spec string, st *grant.Store, s settings) error {
	g, err := st.Grant()
	switch {
	case err != nil:
		return err
	case g.Kind != grant.Create:
		return fmt.Errorf("%s is to read: a shipper needs one of shipper grant --create-only", spec)
	case time.Now().After(g.Expires):
		return fmt.Errorf("%s ended at %s: replace the file", spec, g.Expires.Format(time.RFC3339))
	}
	for i := range s.inputs {
		in := &s.inputs[i]
		goes := slices.Contains(in.Stores, spec) || len(in.Stores) == 0 && slices.Contains(s.stores.all, spec)
		if service := in.Service; goes && service != g.Service && blobnaming.ValidService(service) {
			return fmt.Errorf("%s is for service %s, not for %s", spec, g.Service, service)
		}
	}
	for _, line := range g.Limits() {
		fmt.Fprintf(out, "store\t%s: %s\n", spec, line)
	}
	return nil
}

// probeBlobs creates a blob and deletes it, if that is allowed.
func probeBlobs(ctx context.Context, blobs store.Blobs, name string) (stays string, err error) {
	_, err = blobs.Create(ctx, name, []byte("This shows that segments can be created here.\n"), store.CreateOptions{ContentType: "text/plain"})
	if err != nil && !errors.Is(err, store.ErrExists) { // it is there: somebody could create it
		return "", err
	}
	err = blobs.Delete(ctx, store.AnyVersion(name))
	if errors.Is(err, store.ErrRefused) {
		return "; this credential may not delete, so " + name + " stays", nil
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return "", err
	}
	return " and removed", nil
}

// probeTables writes a row and removes it.
func probeTables(ctx context.Context, tables store.Tables, instance string) error {
	row := store.Entity{Key: store.Key{Partition: probeService, Row: instance}, Properties: map[string]any{"Check": "1"}}
	err := tables.Upsert(ctx, probeTable, []store.Entity{row})
	if errors.Is(err, store.ErrNoTable) {
		if err = tables.CreateTable(ctx, probeTable); err == nil || errors.Is(err, store.ErrExists) {
			err = tables.Upsert(ctx, probeTable, []store.Entity{row})
		}
	}
	if err != nil {
		return err
	}
	if err := tables.Remove(ctx, probeTable, []store.Key{row.Key}); err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return nil
}

// describe names an input in a few words.
func describe(in *config.Input) string {
	switch in.Kind {
	case config.KindFiles:
		return "files " + strings.Join(in.Files.Paths, " ")
	case config.KindSyslog:
		return "syslog at " + in.Syslog.Address
	case config.KindForward:
		return "forward at " + in.Forward.Address
	case config.KindHTTP:
		return "http at " + in.HTTP.Address
	}
	return string(in.Kind)
}

// atLine says in which line of the configuration an input stands.
func atLine(in *config.Input, err error) error {
	if in.Line > 0 {
		return fmt.Errorf("the input in line %d: %w", in.Line, err)
	}
	return err
}
