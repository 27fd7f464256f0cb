package main

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	ucli "github.com/urfave/cli/v2"

	"logstow/exact"
	"logstow/field"
	"logstow/internal/cli"
	"logstow/internal/jsonlines"
	"logstow/internal/units"
	"logstow/query"
	"logstow/query/fieldstats"
	"logstow/query/output"
	"logstow/query/report"
)

const (
	// sampleRecords is about the number of records of which the fields are found out by default.
	sampleRecords = 100_000
	// maxValueText and maxNameText are the numbers of characters of a value and a name in a table.
	maxValueText = 40
	maxNameText  = 60
)

func fieldsCommand() *ucli.Command {
	return &ucli.Command{
		Name:  "fields",
		Usage: "print the fields of records: types, coverage, values",
		UsageText: `logq fields -s shop --since 1d
logq fields --since 2h -l error+ --where 'status >= 500' --top 10
logq fields --since 1d -o json --all`,
		ArgsUsage: "[PATTERN...]",
		Description: fmt.Sprintf(`Prints the attributes and the fields in the messages of the records that query would
print (logq query --help has the rules of the selection): the name as used in
--fields, --by and --where, the types of its values, if there are attributes the share
of the records of which it is one, coverage (the share of the records that have the
field), the number of different values, and the most frequent values with their
shares of the records that have the field. Coverage refers to the records of all
selected services together. The default range is the last hour; with --file, all
records.

Of more than about %d records, a sample that is spread over the range is read, and
its size is printed on standard error; --all reads everything. At most 2000 fields
and 1000 values of each are kept, the most frequent ones: a number of values such as
>1000 and shares marked with ~ are lower bounds.

Exit status: 0 found, 1 no record matched or none has fields, 2 wrong command line,
3 incomplete or failed, 4 access denied, 130 interrupted.`, sampleRecords),
	}
}

func runFields(c *ucli.Context, env environment) error {
	r, err := newSearch(c, env)
	if err != nil {
		return err
	}
	format, opts := c.String("output"), query.FieldOptions{Records: sampleRecords, Top: c.Int("top")}
	if opts.Top < 0 || opts.Top > fieldstats.MaxTop {
		return cli.Usagef("--top %d: want 0 to %d", opts.Top, fieldstats.MaxTop)
	}
	if c.Bool("all") {
		opts.Records = 0
	}
	return r.answer(func(q *query.Query) (bool, error) {
		found, p, err := readPlan(r, q, func(p *query.Plan) (*query.FieldStats, error) { return q.Fields(c.Context, p, opts) })
		if err != nil && (found == nil || !errors.Is(err, query.ErrBudget)) {
			return false, err
		}
		stopped := err
		if found.Records == 0 && stopped == nil {
			if err := r.explainNone(c.Context, q, p); err != nil {
				return false, err
			}
		}
		if err := env.paged(c.Context, func(env *environment) error { return printFields(env, found, format) }); err != nil {
			return false, err
		}
		r.noteFields(found)
		return len(found.Fields) > 0, stopped
	})
}

// noteFields adds notes of what the figures are based on.
func (r *request) noteFields(found *query.FieldStats) {
	if found.Sampled {
		r.notef("the figures are from a sample of %s in %d of about %d blocks, spread over the range; --all reads everything",
			units.Count(found.Records, "record"), found.Blocks, found.AllBlocks)
	}
	if found.LeftOut {
		r.notef("more than %d field names: fields of few records are left out", len(found.Fields))
	}
	if len(found.Fields) == 0 && found.Records > 0 {
		r.notef("no fields in %s read", units.Count(found.Records, "record"))
	}
}

// printFields prints fields in a format.
func printFields(env *environment, found *query.FieldStats, format string) error {
	switch format {
	case report.JSON:
		return printFieldsJSON(env.stdout, found)
	case report.CSV:
		return printFieldsCSV(env.stdout, found)
	}
	if len(found.Fields) == 0 {
		return nil
	}
	return printFieldsTable(env.stdout, found, env.out.columns)
}

// fieldJSON is a field as JSON.
type fieldJSON struct {
	Name    string            `json:"name"`
	Types   map[string]uint64 `json:"types"`
	Records uint64            `json:"records"`
	// Attributes is the number of records of which it is an attribute.
	Attributes uint64  `json:"attributes,omitempty"`
	Coverage   float64 `json:"coverage"`
	Distinct   int     `json:"distinct"`
	// More is set if there are more values than Distinct; then the counts are lower bounds.
	More bool        `json:"more,omitempty"`
	Top  []valueJSON `json:"top"`
}

type valueJSON struct {
	Value string  `json:"value"`
	Type  string  `json:"type"`
	Cut   bool    `json:"cut,omitempty"`
	Count uint64  `json:"count"`
	Share float64 `json:"share"`
}

func printFieldsJSON(w io.Writer, found *query.FieldStats) error {
	for i := range found.Fields {
		f := &found.Fields[i]
		one := fieldJSON{
			Name:       field.WriteName(f.Name),
			Types:      map[string]uint64{},
			Records:    f.Records,
			Attributes: f.Attributes,
			Coverage:   share(f.Records, found.Records),
			Distinct:   f.Distinct,
			More:       f.More,
			Top:        []valueJSON{},
		}
		for t, n := range f.Types {
			if n > 0 {
				one.Types[fieldstats.Type(t).String()] = n
			}
		}
		for _, v := range f.Top {
			one.Top = append(one.Top, valueJSON{v.Text, v.Type.String(), v.Cut, v.Count, share(v.Count, f.Records)})
		}
		if err := jsonlines.Write(w, &one); err != nil {
			return err
		}
	}
	return nil
}

// share is n of all, with six digits.
func share(n, all uint64) float64 {
	if all == 0 {
		return 0
	}
	return round(float64(n) / float64(all))
}

func printFieldsCSV(to io.Writer, found *query.FieldStats) error {
	lines := [][]string{{"name", "types", "records", "coverage", "distinct", "value", "count", "share"}}
	for i := range found.Fields {
		f := &found.Fields[i]
		line := []string{field.WriteName(f.Name), typesOf(f), strconv.FormatUint(f.Records, 10), fmt.Sprint(share(f.Records, found.Records)), distinctOf(f)}
		for _, v := range f.Top {
			lines = append(lines,
				append(slices.Clone(line), v.Text, strconv.FormatUint(v.Count, 10), fmt.Sprint(share(v.Count, f.Records))))
		}
		if len(f.Top) == 0 {
			lines = append(lines, append(line, "", "", ""))
		}
	}
	return csv.NewWriter(to).WriteAll(lines)
}

// typesOf are the types of a field's values, the most frequent first.
func typesOf(f *fieldstats.Field) string {
	var all []fieldstats.Type
	for t, n := range f.Types {
		if n > 0 {
			all = append(all, fieldstats.Type(t))
		}
	}
	slices.SortStableFunc(all, func(a, b fieldstats.Type) int { return cmp.Compare(f.Types[b], f.Types[a]) })
	names := make([]string, len(all))
	for i, t := range all {
		names[i] = t.String()
	}
	return strings.Join(names, "|")
}

func distinctOf(f *fieldstats.Field) string {
	if f.More {
		return ">" + strconv.Itoa(f.Distinct)
	}
	return strconv.Itoa(f.Distinct)
}

// printFieldsTable prints a table. ATTRIBUTE is the share of the records with a field of which it is an attribute. On a terminal, of
// so many columns, its last column has the values that fit; 0 is no terminal.
func printFieldsTable(w io.Writer, found *query.FieldStats, columns int) error {
	const attribute = "ATTRIBUTE" // a column if there are any
	table, tops := [][]string{{"NAME", "TYPE", "COVERAGE", "DISTINCT"}}, [][]string{{"TOP VALUES"}}
	attributed := slices.ContainsFunc(found.Fields, func(f fieldstats.Field) bool { return f.Attributes > 0 })
	if attributed {
		table[0] = slices.Insert(table[0], 2, attribute)
	}
	for i := range found.Fields {
		f := &found.Fields[i]
		row := []string{cut(output.Visible(field.WriteName(f.Name)), maxNameText), typesOf(f), percent(f.Records, found.Records), distinctOf(f)}
		if attributed {
			row = slices.Insert(row, 2, percent(f.Attributes, f.Records))
		}
		table, tops = append(table, row), append(tops, topOf(f))
	}
	lines := output.Align(table, attribute, "COVERAGE", "DISTINCT")
	for n, line := range lines {
		top := strings.Join(tops[n], ", ")
		if columns > 0 {
			top = fitting(tops[n], columns-output.Columns(line)-2)
		}
		if lines[n] = strings.TrimRight(line+"  "+top, " "); columns > 0 {
			lines[n] = cut(lines[n], columns)
		}
	}
	return output.WriteLines(w, lines)
}

// fitting are the first of the values that fit into so many columns, with a mark if there are more; at
// least the first one.
func fitting(values []string, columns int) string {
	const comma, more = 2, ", …"
	used := 0
	for n, v := range values {
		if used += output.Columns(v); n > 0 {
			used += comma
		}
		left := columns - used
		if last := n == len(values)-1; !last {
			left -= output.Columns(more)
		}
		if n > 0 && left < 0 {
			return strings.Join(values[:n], ", ") + more
		}
	}
	return strings.Join(values, ", ")
}

// topOf are the most frequent values of a field with their shares.
func topOf(f *fieldstats.Field) []string {
	var all []string
	for _, v := range f.Top {
		text := output.Visible(v.Text)
		if v.Type == fieldstats.String && ambiguous(v.Text) {
			text = strconv.Quote(v.Text)
		}
		if v.Cut {
			text += "…"
		}
		approximately := ""
		if f.More {
			approximately = "~"
		}
		all = append(all, cut(text, maxValueText)+" "+approximately+percent(v.Count, f.Records))
	}
	return all
}

// ambiguous reports whether a string needs quotes to be seen as one.
func ambiguous(text string) bool {
	_, number := exact.Parse([]byte(text))
	return number || text == "" || text == "true" || text == "false" || strings.ContainsAny(text, " ,\"\t\n")
}

func percent(n, all uint64) string { return fmt.Sprintf("%.1f%%", 100*float64(n)/float64(max(all, 1))) }
