package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
	ucli "github.com/urfave/cli/v2"

	"logstow/agent"
	"logstow/blobnaming"
	"logstow/config"
	"logstow/input/files"
	"logstow/internal/cli"
	"logstow/internal/hint"
	"logstow/internal/jsonlines"
	"logstow/internal/units"
	"logstow/logmetrics"
	"logstow/message"
	"logstow/record"
	"logstow/record/recognize"
)

const (
	// sampleLines and sampleBytes are the maximum size of a sample.
	sampleLines = 300
	sampleBytes = 8 << 20
	// farFromNow is the distance of a time that is reported.
	farFromNow = 24 * time.Hour
	// maxSampleText is the maximum number of characters printed of a message or field, and the approximate maximum
	// of all fields in a line.
	maxSampleText = 120
)

// sample prints what the shipper recognizes in the first lines of a file.
func sample(c *ucli.Context, path string) error {
	in, metrics, err := sampleInput(c, path)
	if err != nil {
		return err
	}
	now := time.Now()
	text, ref, err := readSample(path, now)
	if err != nil {
		return err
	}
	records, err := agent.Sample(c.Context, &in, bytes.NewReader(text), now, ref)
	if err != nil {
		return exitError(err)
	}
	judged := judge(records, now)
	if asJSON(c) {
		return writeSampleJSON(c.App.Writer, judged)
	}
	lines := bytes.Count(text, []byte{'\n'})
	if len(text) > 0 && text[len(text)-1] != '\n' {
		lines++
	}
	fmt.Fprintf(c.App.Writer, "%s: %s, %s\n", path, units.Count(lines, "line"), units.Count(len(records), "record"))
	if err := writeSampledMetrics(c.App.Writer, metrics, in.Service, path, records); err != nil {
		return err
	}
	return writeSample(c.App.Writer, judged)
}

// sampleInput returns the input whose settings apply to a file: in the configuration the one whose paths match, otherwise
// the one of --service, otherwise the only one. Without a configuration the flags apply. metrics are the configured
// metrics from logs.
func sampleInput(c *ucli.Context, path string) (in config.Input, metrics []logmetrics.Spec, err error) {
	var errs problems
	common := commonFlags(&errs, c)
	errs.check(c.NArg() == 0, "--sample cannot be used together with other files")
	if err := errors.Join(errs...); err != nil {
		return in, nil, cli.Usagef("%w", err)
	}
	in = config.Input{Common: common, Spec: &files.Spec{}}
	if file := c.String("config"); file != "" {
		all, err := config.Read(file, os.LookupEnv)
		if err != nil {
			return in, nil, everyLine(c.App.ErrWriter, cli.Usagef("%w", err))
		}
		at := slices.IndexFunc(all.Inputs, func(in config.Input) bool { return readsFile(&in, path) })
		if at < 0 {
			at = slices.IndexFunc(all.Inputs, func(in config.Input) bool { return in.Service == common.Service })
		}
		if at < 0 && len(all.Inputs) == 1 {
			at = 0
		}
		if at < 0 {
			return in, nil, hint.Wrap(cli.Usagef("no input of %s reads %s", file, path), "give its service with --service")
		}
		in, metrics = all.Inputs[at], all.LogMetrics
		override(&errs, c, &in.Common)
	}
	if !blobnaming.ValidService(in.Service) {
		in.Service = "sample"
	}
	return in, metrics, nil
}

// readsFile reports whether an input reads a file.
func readsFile(in *config.Input, path string) bool {
	path, err := filepath.Abs(path)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(in.Kind().Paths, func(pattern string) bool {
		pattern, err := filepath.Abs(pattern)
		return err == nil && (pattern == path || doublestar.PathMatchUnvalidated(pattern, path))
	})
}

// readSample reads the first lines of a file, and its modification time; - is standard input.
func readSample(path string, now time.Time) (text []byte, modified time.Time, err error) {
	f := os.Stdin
	modified = now
	if path != "-" {
		if f, err = os.Open(path); err != nil {
			return nil, now, fmt.Errorf("cannot read the sample: %w", err)
		}
		defer func() { _ = f.Close() }()
		if info, err := f.Stat(); err == nil {
			modified = info.ModTime()
		}
	}
	r := bufio.NewReader(io.LimitReader(f, sampleBytes))
	for range sampleLines {
		line, err := r.ReadBytes('\n')
		text = append(text, line...)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, now, fmt.Errorf("cannot read the sample: %w", err)
		}
	}
	return text, modified, nil
}

// problem is a mistake in a sampled record. The worst come first.
type problem string

const (
	problemRejected problem = "time rejected"
	problemNoTime   problem = "no time"
	problemFar      problem = "time far from now"
	problemNoLevel  problem = "no level"
	problemNoFields problem = "no fields"
)

func allProblems() []problem {
	return []problem{problemRejected, problemNoTime, problemFar, problemNoLevel, problemNoFields}
}

// judgedRecord is a sampled record with its problems, the worst first.
type judgedRecord struct {
	agent.SampledRecord
	problems []problem
}

// judge finds problems, and puts the records with the worst first.
func judge(records []agent.SampledRecord, now time.Time) []judgedRecord {
	judged := make([]judgedRecord, 0, len(records))
	for _, r := range records {
		j := judgedRecord{SampledRecord: r}
		add := func(bad bool, p problem) {
			if bad {
				j.problems = append(j.problems, p)
			}
		}
		add(r.Rejected != recognize.Accepted, problemRejected)
		add(r.Rejected == recognize.Accepted && (r.TimeFrom == agent.TimeOfReading || r.TimeFrom == agent.TimeOfPrevious), problemNoTime)
		add((r.TimeFrom == agent.TimeOfLine || r.TimeFrom == agent.TimeOfRuntime) && now.Sub(r.Time).Abs() > farFromNow, problemFar)
		add(r.Level == record.None, problemNoLevel)
		add(len(r.Fields) == 0, problemNoFields)
		judged = append(judged, j)
	}
	slices.SortStableFunc(judged, func(a, b judgedRecord) int { return a.rank() - b.rank() })
	return judged
}

// rank orders records by their worst problem; those without any are last.
func (j *judgedRecord) rank() int {
	all := allProblems()
	if len(j.problems) == 0 {
		return len(all)
	}
	return slices.Index(all, j.problems[0])
}

// writeSample prints the problems, then the records.
func writeSample(w io.Writer, records []judgedRecord) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, p := range allProblems() {
		n, first := int64(0), 0
		for i := range records {
			if slices.Contains(records[i].problems, p) {
				n++
				if first == 0 || records[i].Line < first {
					first = records[i].Line
				}
			}
		}
		if n > 0 {
			fmt.Fprintf(out, "%s\t%s\tfirst: line %d\n", p, units.Count(n, "record"), first)
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	for i := range records {
		if err := records[i].write(w); err != nil {
			return err
		}
	}
	return nil
}

// write prints a record: a line with its time, level and message, one with its problems and one with
// its fields.
func (j *judgedRecord) write(w io.Writer) error {
	first, _, _ := strings.Cut(j.Message, "\n")
	_, err := fmt.Fprintf(w, "\nline %d  %s  %s  %s\n", j.Line, j.Time.Format("2006-01-02T15:04:05.000Z07:00"), j.Level, printable(first))
	if notes := j.notes(); len(notes) > 0 && err == nil {
		_, err = fmt.Fprintf(w, "    %s\n", strings.Join(notes, ", "))
	}
	for _, line := range pairs(j.Fields) {
		_, err = fmt.Fprintf(w, "    %s\n", line)
	}
	return err
}

// pairs are lines with the fields of a record.
func pairs(fields []agent.SampledField) (lines []string) {
	line := ""
	for _, f := range fields {
		pair := printable(f.Name + "=" + f.Text)
		if line != "" && utf8.RuneCountInString(line+pair) >= maxSampleText {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += "  "
		}
		line += pair
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// notes are the problems of a record, and what else was done to it.
func (j *judgedRecord) notes() (notes []string) {
	for _, p := range j.problems {
		switch {
		case p == problemRejected:
			notes = append(notes, fmt.Sprintf("%s: %s", p, j.Rejected))
		case p == problemNoTime && j.TimeFrom == agent.TimeOfPrevious:
			notes = append(notes, string(p)+": as the previous record")
		case p == problemNoTime:
			notes = append(notes, string(p)+": time of reading")
		default:
			notes = append(notes, string(p))
		}
	}
	if j.TimeFrom == agent.TimeOfRuntime {
		notes = append(notes, "time of the container runtime")
	}
	if j.Lines > 1 {
		notes = append(notes, fmt.Sprintf("%d lines joined", j.Lines))
	}
	if j.Dropped {
		notes = append(notes, "dropped by a rule")
	}
	return notes
}

// printable is text for a terminal: bounded, without control characters.
func printable(text string) string {
	var b strings.Builder
	n := 0
	for _, r := range text {
		if n++; n > maxSampleText {
			b.WriteString("…")
			break
		}
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			r = '·'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// sampleJSON is a sampled record as JSON.
type sampleJSON struct {
	Line     int            `json:"line"`
	Lines    int            `json:"lines"`
	Problems []problem      `json:"problems"`
	Time     time.Time      `json:"time"`
	TimeFrom string         `json:"time_from"`
	Rejected string         `json:"rejected,omitempty"`
	Level    string         `json:"level"`
	Fields   map[string]any `json:"fields"`
	Dropped  bool           `json:"dropped,omitempty"`
	Message  string         `json:"message"`
}

// writeSampleJSON prints an object a record.
func writeSampleJSON(w io.Writer, records []judgedRecord) error {
	for i := range records {
		j := &records[i]
		one := sampleJSON{
			Line: j.Line, Lines: j.Lines, Problems: slices.Concat([]problem{}, j.problems), Time: j.Time, TimeFrom: string(j.TimeFrom),
			Level: j.Level.String(), Fields: fieldValues(j.Fields), Dropped: j.Dropped, Message: j.Message,
		}
		if j.Rejected != recognize.Accepted {
			one.Rejected = j.Rejected.String()
		}
		if err := jsonlines.Write(w, one); err != nil {
			return err
		}
	}
	return nil
}

// fieldValues are the values of fields, the first one of each name.
func fieldValues(fields []agent.SampledField) map[string]any {
	values := map[string]any{}
	for _, f := range fields {
		if _, twice := values[f.Name]; !twice {
			values[f.Name] = jsonValue(f)
		}
	}
	return values
}

// jsonValue is the value of a field: a string unless the message is JSON.
func jsonValue(f agent.SampledField) any {
	switch f.Kind {
	case message.Null, message.Bool, message.Number, message.Composite:
		if json.Valid([]byte(f.Text)) {
			return json.RawMessage(f.Text)
		}
	}
	return f.Text
}
