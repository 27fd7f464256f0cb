package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	ucli "github.com/urfave/cli/v2"

	"logstow/buffer"
	"logstow/buffer/spool"
	"logstow/internal/cli"
	"logstow/internal/hint"
	"logstow/internal/jsonlines"
	"logstow/internal/units"
)

func quarantineCommand() *ucli.Command {
	return &ucli.Command{
		Name:  "quarantine",
		Usage: "list, requeue or discard undeliverable batches",
		UsageText: `shipper quarantine list
shipper quarantine requeue --buffer-dir /var/lib/logstow/web/vm-1 --all
shipper quarantine discard 5f2c6a0e9d3b4718a6c1e0f2d4b83957`,
		ArgsUsage: "list | requeue ID... | discard ID...",
		Description: `Works on the buffer in --buffer-dir, or on all in the state directory.

  list      show the files in quarantine, and the reasons
  requeue   return batches to the buffer: the next shipper run ships each
            once, under its own id. No shipper may have the buffer open.
  discard   delete files permanently

ID is a batch's id or a file's name, both as list shows them; --all selects
everything. Damaged batches and copies of damaged log files (their intact records
have been shipped) cannot be requeued.

Exit status: 0 done, 1 there is no buffer in the state directory, or no such ID, 2
wrong command line, 3 something failed.`,
		Flags: slices.Concat(
			bufferDirFlag(),
			cli.Under(categoryBuffer, cli.Switch("all", "requeue or discard everything in the selected buffers")),
			outputFlag("list prints one object per file"),
		),
		Action: func(c *ucli.Context) error {
			what, ids, err := quarantineRequest(c)
			if err != nil {
				return err
			}
			dirs, err := bufferDirs(c.Context, c.String("buffer-dir"))
			if err != nil {
				return err
			}
			n := 0
			if what == "list" {
				n, err = listQuarantine(c.App.Writer, dirs, asJSON(c))
			} else {
				n, err = changeQuarantine(c.Context, c.App.Writer, dirs, what, ids)
			}
			if n == 0 && err == nil {
				fmt.Fprintf(c.App.ErrWriter, "%s: nothing is in quarantine in %s\n", c.App.Name, strings.Join(dirs, ", "))
			}
			return err
		},
	}
}

// quarantineRequest reads the command line: the action and the ids, none for all.
func quarantineRequest(c *ucli.Context) (what string, ids []string, err error) {
	what, ids = c.Args().First(), c.Args().Tail()
	switch {
	case what == "":
		err = cli.Usagef("an action is missing: want list, requeue or discard")
	case !slices.Contains([]string{"list", "requeue", "discard"}, what):
		err = cli.Usagef("quarantine %q: want list, requeue or discard", what)
	case what == "list" && (len(ids) > 0 || c.Bool("all")):
		err = cli.Usagef("quarantine list takes no IDs")
	case what != "list" && (len(ids) > 0) == c.Bool("all"):
		err = cli.Usagef("quarantine %s: want IDs, or --all", what)
	}
	return what, ids, err
}

// quarantinedFile is a file in quarantine, as it is printed.
type quarantinedFile struct {
	Directory string `json:"directory"`
	spool.Quarantined
}

// readQuarantine reads the quarantine of a buffer.
func readQuarantine(dir string) ([]spool.Quarantined, error) {
	files, err := spool.ListQuarantine(dir)
	return files, noBuffer(dir, err)
}

// listQuarantine prints the quarantines, and returns the number of their files; an error in one does not hide the others.
func listQuarantine(w io.Writer, dirs []string, asJSON bool) (n int, err error) {
	var all []quarantinedFile
	var errs []error
	for _, dir := range dirs {
		files, err := readQuarantine(dir)
		errs = append(errs, err)
		for _, q := range files {
			all = append(all, quarantinedFile{dir, q})
		}
	}
	if asJSON {
		return len(all), errors.Join(append(errs, jsonlines.Write(w, all...))...)
	}
	if len(all) > 0 {
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "DIRECTORY\tID\tSERVICE\tBUCKET\tRECORDS\tBYTES\tREASON")
		for i := range all {
			f := &all[i]
			bucket := "-"
			if !f.Bucket.IsZero() {
				bucket = f.Bucket.Format(time.RFC3339)
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n", f.Directory, cmp.Or(f.Batch, f.File), orDash(f.Service), bucket,
				f.Records, units.FormatSize(f.Bytes), orDash(cmp.Or(f.Reason, f.Problem)))
		}
		errs = append(errs, t.Flush())
	}
	return len(all), errors.Join(errs...)
}

// changeQuarantine requeues or discards the files with these ids, or all if there are none, and returns their number.
func changeQuarantine(ctx context.Context, w io.Writer, dirs []string, what string, ids []string) (n int, err error) {
	var errs []error
	missing := slices.Clone(ids)
	for _, dir := range dirs {
		files, err := readQuarantine(dir)
		errs = append(errs, err)
		chosen := slices.DeleteFunc(slices.Clone(files), func(q spool.Quarantined) bool {
			return len(ids) > 0 && !slices.ContainsFunc(ids, func(id string) bool { return isOf(&q, id) })
		})
		missing = slices.DeleteFunc(missing, func(id string) bool {
			return slices.ContainsFunc(chosen, func(q spool.Quarantined) bool { return isOf(&q, id) })
		})
		n += len(chosen)
		for i := range chosen {
			err := changeOne(ctx, w, dir, what, &chosen[i])
			errs = append(errs, err)
			if errors.Is(err, buffer.ErrLocked) {
				break // the others are in the same buffer
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return n, err
	}
	if len(missing) > 0 {
		err := hint.Wrap(fmt.Errorf("not in quarantine: %s", strings.Join(missing, " ")),
			"shipper quarantine list shows the files in quarantine")
		return n, &cli.Error{Status: cli.NoMatch, Err: err}
	}
	return n, nil
}

// lockedError is the error of requeue while a shipper has the buffer open.
type lockedError struct{ dir string }

func (e *lockedError) Error() string {
	return fmt.Sprintf("cannot requeue: a shipper has %s open", e.dir)
}
func (e *lockedError) Unwrap() error { return buffer.ErrLocked }

// isOf reports whether an id or file name is that of a file.
func isOf(q *spool.Quarantined, id string) bool {
	return id == q.File || id == q.Batch && q.Batch != ""
}

func changeOne(ctx context.Context, w io.Writer, dir, what string, q *spool.Quarantined) error {
	one := []spool.Quarantined{*q}
	done := "discarded"
	var err error
	if what == "requeue" {
		done = "requeued"
		err = spool.Requeue(ctx, dir, one)
	} else {
		err = spool.Discard(dir, one)
	}
	switch {
	case errors.Is(err, buffer.ErrLocked):
		return hint.Wrap(&lockedError{dir}, "stop the shipper, requeue, and start it again")
	case err != nil:
		return err
	}
	fmt.Fprintf(w, "%s %s/quarantine/%s\n", done, dir, q.File)
	return nil
}
