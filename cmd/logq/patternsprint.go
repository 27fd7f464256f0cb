package main

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"logstow/internal/jsonlines"
	"logstow/internal/units"
	"logstow/query/output"
	"logstow/query/patterns"
	"logstow/query/report"
	"logstow/record"
)

// print prints the templates of a result, or those that changed, and returns how many there are.
func (r *patternsRequest) print(env *environment, result *patterns.Result) (all int, err error) {
	changes := result.Changes()
	if !r.compare {
		changes = make([]patterns.Change, len(result.Templates))
		for i, t := range result.Templates {
			changes[i].Template = t
		}
	}
	printed := r.first(changes)
	switch {
	case len(printed) == 0:
	case r.format == report.JSON:
		err = r.printJSON(env, printed)
	case r.format == report.CSV:
		err = r.printCSV(env, printed)
	default:
		err = r.printTable(env, printed)
	}
	if more := len(changes) - len(printed); err == nil && more > 0 {
		env.printf("%s; -n shows more", units.Count(more, "more template"))
	}
	return len(changes), err
}

// first are the first changes of each kind up to the limit.
func (r *patternsRequest) first(changes []patterns.Change) []patterns.Change {
	if r.limit == 0 {
		return changes
	}
	var n [patterns.Down + 1]int
	return slices.DeleteFunc(slices.Clone(changes), func(c patterns.Change) bool {
		n[c.Kind]++
		return n[c.Kind] > r.limit
	})
}

// templateJSON is a template as JSON.
type templateJSON struct {
	Template string  `json:"template"`
	Count    uint64  `json:"count"`
	Share    float64 `json:"share"`
	templateDetails
}

// changeJSON is a changed template as JSON.
type changeJSON struct {
	Change        string  `json:"change"`
	Template      string  `json:"template"`
	Before        uint64  `json:"before"`
	After         uint64  `json:"after"`
	BeforePerHour float64 `json:"before_per_hour"`
	AfterPerHour  float64 `json:"after_per_hour"`
	templateDetails
}

type templateDetails struct {
	First    string        `json:"first"`
	Last     string        `json:"last"`
	Levels   record.Counts `json:"levels"`
	Services []string      `json:"services"`
	// MoreServices is set if there are others than Services.
	MoreServices bool   `json:"more_services,omitempty"`
	Example      string `json:"example"`
}

func (r *patternsRequest) printJSON(env *environment, changes []patterns.Change) error {
	for i := range changes {
		c := &changes[i]
		details := templateDetails{
			First: output.FormatTime(c.First, r.zone), Last: output.FormatTime(c.Last, r.zone), Levels: c.Levels,
			Services: c.Services, MoreServices: c.MoreServices, Example: c.Example,
		}
		var one any = &templateJSON{c.Text, c.Count(), round(c.Share), details}
		if r.compare {
			one = &changeJSON{c.Kind.String(), c.Text, c.Counts[0], c.Counts[1], perHour(c.Rates[0]), perHour(c.Rates[1]), details}
		}
		if err := jsonlines.Write(env.stdout, one); err != nil {
			return err
		}
	}
	return nil
}

func (r *patternsRequest) printCSV(env *environment, changes []patterns.Change) error {
	number := func(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
	header := []string{"template", "count", "share"}
	if r.compare {
		header = []string{"change", "template", "before", "after", "before_per_hour", "after_per_hour"}
	}
	lines := [][]string{append(header, "first", "last", "example")}
	for i := range changes {
		c := &changes[i]
		line := []string{c.Text, strconv.FormatUint(c.Count(), 10), number(round(c.Share))}
		if r.compare {
			line = []string{
				c.Kind.String(), c.Text, strconv.FormatUint(c.Counts[0], 10), strconv.FormatUint(c.Counts[1], 10),
				number(perHour(c.Rates[0])), number(perHour(c.Rates[1])),
			}
		}
		lines = append(lines, append(line, output.FormatTime(c.First, r.zone), output.FormatTime(c.Last, r.zone), c.Example))
	}
	return csv.NewWriter(env.stdout).WriteAll(lines)
}

// round is a number with six digits behind the point.
func round(x float64) float64 {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'f', 6, 64), 64)
	return rounded
}

// perHour is a rate per hour of one per second, with six digits behind the point.
func perHour(rate float64) float64 { return round(rate * 3600) }

// minTemplate is the minimum width for templates in a terminal, next to the other columns.
const minTemplate = 40

// printTable prints aligned columns, of which the last is the template. On a terminal it is wrapped at spaces:
// with its line breaks it is the same template. Below it is the example.
func (r *patternsRequest) printTable(env *environment, changes []patterns.Change) error {
	layout := r.timeLayout(changes)
	table := [][]string{{"COUNT", "SHARE", "LEVEL", "FIRST", "LAST", ""}}
	if r.compare {
		table[0] = []string{"CHANGE", "BEFORE/H", "AFTER/H", "LEVEL", "FIRST", "LAST", ""}
	}
	for i := range changes {
		c := &changes[i]
		at := func(t int64) string { return time.Unix(0, t).In(r.zone).Format(layout) }
		line := []string{strconv.FormatUint(c.Count(), 10), percentOf(c.Share), levelsOf(c.Levels), at(c.First), at(c.Last), ""}
		if r.compare {
			line = []string{changeOf(c), threeDigits(3600 * c.Rates[0]), threeDigits(3600 * c.Rates[1]), levelsOf(c.Levels), at(c.First), at(c.Last), ""}
		}
		table = append(table, line)
	}
	prefixes := output.Align(table, "COUNT", "SHARE", "BEFORE/H", "AFTER/H")
	indent, width := output.Columns(prefixes[0]), 0
	if env.out.terminal() {
		width = env.out.columns - indent
	}
	narrow := env.out.terminal() && width < minTemplate
	if narrow {
		indent = 4
		width = max(env.out.columns-indent, 1)
	}
	var all []string
	for i, prefix := range prefixes {
		lines := []string{"TEMPLATE"}
		if i > 0 {
			lines = templateLines(&changes[i-1].Template, width)
		}
		if narrow { // below the other columns
			lines = slices.Insert(lines, 0, "")
		}
		for _, line := range lines {
			all = append(all, strings.TrimRight(prefix+line, " "))
			prefix = strings.Repeat(" ", indent)
		}
	}
	return output.WriteLines(env.stdout, all)
}

// templateLines are the lines of a template and its example; a width of 0 is no limit.
func templateLines(t *patterns.Template, width int) []string {
	if t.Text == "" {
		return []string{"(no text)"}
	}
	lines := wrap(output.Visible(t.Text), width)
	if t.Example == t.Text {
		return lines
	}
	example := "e.g. " + output.Visible(t.Example)
	if width > 0 {
		example = cut(example, width)
	}
	return append(lines, example)
}

// timeLayout returns the layout of the times of templates. It has the date if any time is not today.
func (r *patternsRequest) timeLayout(changes []patterns.Change) string {
	date := func(t time.Time) string { return t.In(r.zone).Format(time.DateOnly) }
	today := date(r.now)
	for i := range changes {
		if date(time.Unix(0, changes[i].First)) != today || date(time.Unix(0, changes[i].Last)) != today {
			return time.DateTime
		}
	}
	return time.TimeOnly
}

// changeOf is the kind of a change, with the ratio of the rates.
func changeOf(c *patterns.Change) string {
	if c.Kind == patterns.New || c.Kind == patterns.Gone {
		return c.Kind.String()
	}
	return fmt.Sprintf("%s %sx", c.Kind, threeDigits(c.Rates[1]/c.Rates[0]))
}

// threeDigits is a positive number with at least two digits.
func threeDigits(x float64) string {
	switch {
	case x == 0:
		return "0"
	case x < 0.1:
		return strconv.FormatFloat(x, 'g', 2, 64)
	case x < 10:
		return strings.TrimSuffix(strconv.FormatFloat(x, 'f', 1, 64), ".0")
	}
	return strconv.FormatFloat(x, 'f', 0, 64)
}

// percentOf is a share in percent: one that is not 0 is not printed as 0.
func percentOf(share float64) string {
	if share > 0 && share < 0.0005 {
		return "<0.1%"
	}
	return fmt.Sprintf("%.1f%%", 100*share)
}

// levelsOf are the levels of records, the most severe first.
func levelsOf(levels record.Counts) string {
	var all []string
	for l := range levels.All() {
		all = append(all, l.String())
	}
	slices.Reverse(all)
	return strings.Join(all, ",")
}
