package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	ucli "github.com/urfave/cli/v2"

	"logstow/agent"
	"logstow/buffer/spool"
	"logstow/internal/cli"
	"logstow/internal/hint"
	"logstow/internal/jsonlines"
	"logstow/internal/progress"
	"logstow/internal/units"
)

func statusCommand() *ucli.Command {
	return &ucli.Command{
		Name: "status",
		UsageText: `shipper status
shipper status -o json
shipper status --buffer-dir /var/lib/logstow/web/host-1`,
		Usage: "show what waits in buffers on disk",
		Description: `Shows the buffer in --buffer-dir, or all in the state directory. It changes nothing,
and may be used while shippers run.

LOG is the size of the write-ahead log, which has the records that are not in a
sealed batch yet; SEALED batches, of BYTES in all, wait for storage; UNINDEXED index
entities, of batches in storage, wait for the index. QUARANTINED is the number of files in
quarantine: see shipper quarantine. DAMAGED is the number of files that were damaged
or missing in the last run or are now; the current ones are named below the table.
OLDEST is the age of the oldest record in a sealed batch.

Exit status: 0 done, 1 there is no buffer in the state directory, 2 wrong command
line, 3 a buffer cannot be read.`,
		Flags: slices.Concat(bufferDirFlag(), outputFlag("one object per line")),
		Action: func(c *ucli.Context) error {
			if c.NArg() > 0 {
				return hint.Wrap(cli.Usagef("status takes no arguments"), "name a directory with --buffer-dir")
			}
			dirs, err := bufferDirs(c.Context, c.String("buffer-dir"))
			if err != nil {
				return err
			}
			return showStatus(c.Context, c.App.Writer, dirs, asJSON(c), time.Now())
		},
	}
}

// bufferDirFlag is --buffer-dir of the commands for several buffers.
func bufferDirFlag() []ucli.Flag {
	return cli.Under(categoryBuffer, cli.Text("buffer-dir", "`DIR`: directory of one buffer (default: all in the state directory)"))
}

// noBuffer returns an error of a buffer's directory, with a hint if there is no buffer in it.
func noBuffer(dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return hint.Wrap(fmt.Errorf("no buffer in %s", dir),
			"give the directory of one buffer with --buffer-dir, or omit it for all in the state directory")
	}
	return err
}

// bufferDirs are the buffers to show.
func bufferDirs(ctx context.Context, given string) ([]string, error) {
	if given != "" {
		return []string{given}, nil
	}
	all, err := agent.BufferRoot(os.Getenv, os.Getuid())
	if err != nil {
		return nil, cli.Usagef("%w", err)
	}
	paths, err := filepath.Glob(filepath.Join(quoteGlob(all), "*", "*"))
	if err != nil {
		return nil, err
	}
	var dirs []string
	for _, path := range paths {
		if _, err := spool.Inspect(ctx, path); !errors.Is(err, fs.ErrNotExist) {
			dirs = append(dirs, path)
		}
	}
	if len(dirs) == 0 {
		return nil, &cli.Error{Status: cli.NoMatch, Err: hint.Wrap(fmt.Errorf("no buffers in %s", all),
			"give --buffer-dir if the buffer is elsewhere")}
	}
	return dirs, nil
}

// quoteGlob escapes a directory's name for a glob.
func quoteGlob(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// bufferStatus is the status of a buffer, as it is printed.
type bufferStatus struct {
	Directory   string     `json:"directory"`
	Instance    string     `json:"instance"`
	Services    []string   `json:"services"`
	Store       string     `json:"store,omitempty"`
	Holder      string     `json:"holder,omitempty"`
	LogBytes    int64      `json:"log_bytes"`
	Sealed      int        `json:"sealed"`
	SealedBytes int64      `json:"sealed_bytes"`
	Unindexed   int        `json:"unindexed"`
	Quarantined int        `json:"quarantined"`
	Damaged     int        `json:"damaged"`
	Damage      []string   `json:"damage,omitempty"`
	Positions   int        `json:"positions"`
	Oldest      *time.Time `json:"oldest,omitempty"`
	LastError   string     `json:"last_error,omitempty"`
	LastHint    string     `json:"last_hint,omitempty"`
	// Requests is the estimated cost of the requests of a month.
	Requests *agent.Estimate `json:"monthly_requests,omitempty"`
}

// readStatus reads the status of a buffer.
func readStatus(ctx context.Context, dir string) (bufferStatus, error) {
	s, err := spool.Inspect(ctx, dir)
	if err != nil {
		return bufferStatus{}, noBuffer(dir, err)
	}
	n, _ := agent.ReadNote(dir)
	out := bufferStatus{
		Directory:   dir,
		Instance:    s.Instance,
		Services:    s.Services,
		Store:       n.Store,
		Holder:      s.Holder,
		LogBytes:    s.LogBytes,
		Sealed:      s.Sealed,
		SealedBytes: s.SealedBytes,
		Unindexed:   s.Unindexed,
		Quarantined: s.Quarantined,
		Damaged:     max(int(n.Damaged), len(s.Damage)),
		Damage:      s.Damage,
		Positions:   s.Positions,
		LastError:   n.Error,
		LastHint:    n.Hint,
		Requests:    n.Requests,
	}
	if !s.Oldest.IsZero() {
		oldest := s.Oldest.UTC()
		out.Oldest = &oldest
	}
	return out, nil
}

// showStatus prints the buffers; an error in one does not hide the others.
func showStatus(ctx context.Context, w io.Writer, dirs []string, asJSON bool, now time.Time) error {
	var all []bufferStatus
	var errs []error
	for _, dir := range dirs {
		s, err := readStatus(ctx, dir)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		all = append(all, s)
	}
	if asJSON {
		return errors.Join(append(errs, jsonlines.Write(w, all...))...)
	}
	return errors.Join(append(errs, showTable(w, all, now))...)
}

func showTable(w io.Writer, all []bufferStatus, now time.Time) error {
	if len(all) == 0 {
		return nil
	}
	rows := [][]string{{"DIRECTORY", "INSTANCE", "IN USE BY", "LOG", "SEALED", "BYTES", "UNINDEXED", "QUARANTINED", "DAMAGED", "OLDEST", "LAST ERROR"}}
	for _, s := range all {
		oldest := "-"
		if s.Oldest != nil {
			oldest = max(now.Sub(*s.Oldest), 0).Round(time.Second).String()
		}
		rows = append(rows, []string{
			s.Directory, s.Instance, orDash(s.Holder), units.FormatSize(s.LogBytes), strconv.Itoa(s.Sealed),
			units.FormatSize(s.SealedBytes),
			strconv.Itoa(s.Unindexed), strconv.Itoa(s.Quarantined), strconv.Itoa(s.Damaged), oldest, orDash(s.LastError),
		})
	}
	if err := writeRows(w, rows); err != nil {
		return err
	}
	for _, s := range all {
		for _, what := range s.Damage {
			fmt.Fprintf(w, "damage: %s\n", what)
		}
		if e := s.Requests; e != nil {
			fmt.Fprintf(w, "requests: %s: $%.2f a month at list prices; $%.2f with --max-flush-interval 15m, $%.2f as a tenth of a relay; see docs/cost.md#shipping\n",
				s.Directory, e.Dollars, e.MaxFlushInterval, e.Relay)
		}
		if s.LastHint != "" {
			fmt.Fprintf(w, "hint: %s: %s\n", s.Directory, orDash(s.LastHint))
		}
	}
	return nil
}

// writeRows prints a table; on a terminal that is narrower, one row after the other, a cell in a line.
func writeRows(w io.Writer, rows [][]string) error {
	var text bytes.Buffer
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	wide := 0
	for line := range strings.Lines(text.String()) {
		wide = max(wide, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")))
	}
	if _, columns := progress.Screen(w); columns == 0 || wide <= columns {
		_, err := text.WriteTo(w)
		return err
	}
	t = tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i, row := range rows[1:] {
		if i > 0 {
			fmt.Fprintln(t)
		}
		for j, cell := range row {
			fmt.Fprintf(t, "%s\t%s\n", rows[0][j], cell)
		}
	}
	return t.Flush()
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
}
