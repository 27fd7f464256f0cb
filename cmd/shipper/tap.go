package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"time"

	ucli "github.com/urfave/cli/v2"

	"logstow/agent"
	"logstow/field/where"
	"logstow/internal/cli"
	"logstow/internal/hint"
	"logstow/internal/jsonlines"
	"logstow/internal/units"
	fieldparse "logstow/message/parse"
	"logstow/record"
	"logstow/tap"
)

// skippedEvery is how often skipped records are reported.
const skippedEvery = time.Second

func tapCommand() *ucli.Command {
	return &ucli.Command{
		Name:  "tap",
		Usage: "show the records that pass through a running shipper",
		UsageText: `shipper tap
shipper tap --where 'service == "shop" and level >= "warn"' -n 20
shipper tap --buffer-dir /var/lib/logstow/web/host-1 -o json`,
		Description: `Shows records as they are read by the shipper of the buffer in --buffer-dir, or by
the only one that runs with a buffer in the state directory: time, level, service,
source, message and fields, which kinds of secrets were redacted, and by which rule a
record is dropped. Only root and the user that runs the shipper may do this. A
shipper with --buffer memory cannot be tapped.

The shipper is not slowed down: it spends at most 2% of its CPU time on all taps, or
0.1% of a core while it uses little, and skips records beyond that. The number of
skipped records is printed on standard error, and with -o json also as {"skipped":N}
between the records. Messages are cut at 64KiB, without -o json at 120 characters.
Records that a rule drops or a tap skips still count as read.

Exit status: 0 done, interrupted, or the shipper ended, 1 no shipper runs, 2 wrong
command line, 3 failed.`,
		Flags: slices.Concat(
			cli.Under(categoryBuffer,
				cli.Text("buffer-dir", "`DIR`: directory of the shipper's buffer (default: the only one in use in the state directory)")),
			cli.Under(categoryRecords,
				cli.Repeated("where", "`EXPR`: condition on fields, such as 'status >= 500'; repeatable, all must be true")),
			cli.Under(
				categoryOutput,
				cli.Number("limit,n", "`N`: end after N records (default: no limit)"),
				cli.Text("output,o=text|json", "`FORMAT`: text, or json (one object per line)"),
			),
		),
		Action: func(c *ucli.Context) error {
			t, err := newTapping(c, time.Now())
			if err != nil {
				return err
			}
			client, err := connectTap(c.Context, c.String("buffer-dir"))
			if c.Err() != nil {
				return nil //nolint:nilerr // interrupted
			}
			if err != nil {
				return err
			}
			defer func() { _ = client.Close() }()
			fmt.Fprintln(t.notes, "shipper: connected")
			return t.run(c.Context, client)
		},
	}
}

// tapping prints the records of a shipper.
type tapping struct {
	out        *bufio.Writer
	notes      io.Writer
	json       bool
	limit      int
	conditions where.Conditions
	evaluators *where.Evaluators
	parsers    map[string]*tapFields
	instance   string // of the shipper

	shown, others, skipped uint64
	// unreported are the skipped records since the last report, which was at reported.
	unreported uint64
	reported   time.Time
}

// tapFields finds the fields of messages of one parser: those of the conditions, and all.
type tapFields struct{ named, all *fieldparse.Splitter }

// newTapping reads the command line.
func newTapping(c *ucli.Context, now time.Time) (*tapping, error) {
	if c.NArg() > 0 {
		return nil, hint.Wrap(cli.Usagef("tap takes no arguments"), "name a directory with --buffer-dir, and conditions with --where")
	}
	t := &tapping{
		out: bufio.NewWriter(c.App.Writer), notes: c.App.ErrWriter, json: asJSON(c), limit: c.Int("limit"),
		parsers: map[string]*tapFields{}, reported: now,
	}
	if c.IsSet("limit") && t.limit < 1 {
		return nil, cli.Usagef("--limit %d: want at least 1", t.limit)
	}
	for _, text := range cli.List(c, "where") {
		program, err := where.Compile(text, now)
		if err != nil {
			return nil, cli.Usagef("--where %q: %w", text, err)
		}
		t.conditions.Add(program)
	}
	t.evaluators = t.conditions.Evaluators()
	return t, nil
}

// connectTap connects to the shipper of a buffer's directory, or else of the only one that runs.
func connectTap(ctx context.Context, dir string) (*tap.Client, error) {
	if dir != "" {
		client, err := tap.Connect(ctx, dir)
		switch {
		case isNone(err):
			return nil, &cli.Error{Status: cli.NoMatch, Err: hint.Wrap(fmt.Errorf("no running shipper has the buffer %s", dir),
				"shipper status shows the buffers that are in use")}
		case err != nil:
			return nil, fmt.Errorf("cannot tap the shipper of %s: %w", dir, err)
		}
		return client, nil
	}
	dirs, err := bufferDirs(ctx, "")
	if err != nil {
		return nil, err
	}
	var running []string
	var last error
	var client *tap.Client
	for _, dir := range dirs {
		c, err := tap.Connect(ctx, dir)
		if isNone(err) {
			continue
		}
		if err != nil {
			last = fmt.Errorf("cannot tap the shipper of %s: %w", dir, err)
			continue
		}
		if running = append(running, dir); client != nil {
			_ = client.Close()
		}
		client = c
	}
	switch {
	case len(running) == 1:
		return client, nil
	case client != nil:
		_ = client.Close()
		return nil, hint.Wrap(cli.Usagef("%d shippers run: %s", len(running), strings.Join(running, ", ")), "name one with --buffer-dir")
	case last != nil:
		return nil, last
	}
	return nil, &cli.Error{Status: cli.NoMatch, Err: hint.Wrap(errors.New("no running shipper has its buffer in the state directory"),
		"give --buffer-dir if the buffer is elsewhere")}
}

// isNone reports whether the error of a connection is that no shipper runs: one that was killed leaves its socket.
func isNone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED)
}

// run prints until ctx ends, the shipper does, or the limit is reached.
func (t *tapping) run(ctx context.Context, client *tap.Client) error {
	t.instance = client.Instance()
	for t.limit == 0 || t.shown < uint64(t.limit) {
		if client.Waits() {
			if err := t.out.Flush(); err != nil {
				return err
			}
		}
		r, skipped, err := client.Next()
		if ctx.Err() != nil {
			break
		}
		if errors.Is(err, io.EOF) {
			fmt.Fprintln(t.notes, "shipper: the tapped shipper has ended")
			break
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			fmt.Fprintln(t.notes, "shipper: the connection ended before the last records arrived: the tapped shipper was killed, or this command read too slowly")
			break
		}
		if err != nil {
			return fmt.Errorf("cannot read from the shipper: %w", err)
		}
		if err := t.show(r, skipped); err != nil {
			return err
		}
	}
	if err := t.out.Flush(); err != nil {
		return err
	}
	t.reportSkipped(time.Time{})
	fmt.Fprintf(t.notes, "shipper: %d shown, %d not matching, %d skipped\n", t.shown, t.others, t.skipped)
	return nil
}

// show prints a record that matches, or counts skipped ones.
func (t *tapping) show(r *tap.Record, skipped uint64) error {
	if r == nil {
		t.skipped += skipped
		t.unreported += skipped
		t.reportSkipped(time.Now())
		if t.json {
			return jsonlines.Write(t.out, map[string]uint64{"skipped": skipped})
		}
		return nil
	}
	fields, err := t.fieldsOf(r.Parser)
	if err != nil {
		return err
	}
	if !t.matches(r, fields.named) {
		t.others++
		return nil
	}
	t.shown++
	if t.json {
		return t.writeJSON(r, fields.all)
	}
	return t.writeText(r, fields.all)
}

// reportSkipped prints how many records were skipped, at most once per interval; a zero time is the
// end.
func (t *tapping) reportSkipped(now time.Time) {
	if t.unreported == 0 || !now.IsZero() && now.Sub(t.reported) < skippedEvery {
		return
	}
	fmt.Fprintf(t.notes, "shipper: %s skipped\n", units.Count(t.unreported, "record"))
	t.unreported, t.reported = 0, now
}

// fieldsOf makes the splitters of a parser.
func (t *tapping) fieldsOf(stored string) (*tapFields, error) {
	if f := t.parsers[stored]; f != nil {
		return f, nil
	}
	parser, err := fieldparse.CompileStored(stored)
	if err != nil {
		return nil, err
	}
	f := &tapFields{named: parser.Splitter(t.conditions.Names...), all: parser.Splitter()}
	t.parsers[stored] = f
	return f, nil
}

func (t *tapping) matches(r *tap.Record, named *fieldparse.Splitter) bool {
	if len(t.conditions.Programs) == 0 {
		return true
	}
	named.Split(r.Attributes, r.Message)
	return t.evaluators.AllHold(&where.Record{
		Time: r.Time, Level: r.Level, Service: r.Service, Source: []byte(r.Source), Instance: cmp.Or(r.Instance, t.instance),
		Attributes: r.Attributes, Message: r.Message, Fields: named,
	})
}

// fieldsIn are the attributes and the fields of a record, as check --sample prints them.
func fieldsIn(r *tap.Record, all *fieldparse.Splitter) (fields []agent.SampledField) {
	all.Split(r.Attributes, r.Message)
	for name, v := range all.All() {
		if !v.IsObject() { // its members follow
			fields = append(fields, agent.SampledField{Name: name, Kind: v.Kind, Text: string(v.Text)})
		}
	}
	return fields
}

// writeText prints a line with a record's time, level, service, source and message, and below it what
// was done to it and its fields.
func (t *tapping) writeText(r *tap.Record, all *fieldparse.Splitter) error {
	first, _, _ := strings.Cut(string(r.Message), "\n")
	_, err := fmt.Fprintf(t.out, "%s  %-5s  %s  %s  %s\n", time.Unix(0, r.Time).UTC().Format("2006-01-02T15:04:05.000Z07:00"), r.Level,
		r.Service, printable(r.Source), printable(first))
	for _, note := range []struct{ name, text string }{{"dropped", r.Dropped}, {"redacted", strings.Join(r.Redacted, ", ")}} {
		if note.text != "" && err == nil {
			_, err = fmt.Fprintf(t.out, "    %s: %s\n", note.name, note.text)
		}
	}
	for _, line := range pairs(fieldsIn(r, all)) {
		if err == nil {
			_, err = fmt.Fprintf(t.out, "    %s\n", line)
		}
	}
	return err
}

// tapJSON is a record as JSON.
type tapJSON struct {
	Time       string          `json:"time"`
	Level      string          `json:"level"`
	Service    string          `json:"service"`
	Source     string          `json:"source"`
	Dropped    string          `json:"dropped,omitempty"`
	Redacted   []string        `json:"redacted,omitempty"`
	Message    string          `json:"message"`
	Attributes json.RawMessage `json:"attributes,omitempty"`
	Size       int             `json:"size,omitempty"` // of the message, if it is cut
	Fields     map[string]any  `json:"fields"`
}

func (t *tapping) writeJSON(r *tap.Record, all *fieldparse.Splitter) error {
	one := tapJSON{
		Time:       string(record.AppendTime(nil, r.Time)),
		Level:      r.Level.String(),
		Service:    r.Service,
		Source:     r.Source,
		Dropped:    r.Dropped,
		Redacted:   r.Redacted,
		Message:    string(r.Message),
		Attributes: r.Attributes,
		Fields:     fieldValues(fieldsIn(r, all)),
	}
	if r.Size > len(r.Message) {
		one.Size = r.Size
	}
	return jsonlines.Write(t.out, one)
}
