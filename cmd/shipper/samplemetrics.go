package main

import (
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"logstow/agent"
	"logstow/internal/suggest"
	"logstow/internal/units"
	"logstow/logmetrics"
)

// writeSampledMetrics prints what metrics have of sampled records, and which of their fields are in none of them.
func writeSampledMetrics(w io.Writer, specs []logmetrics.Spec, service, path string, records []agent.SampledRecord) error {
	source := path
	if absolute, err := filepath.Abs(path); err == nil && path != "-" {
		source = absolute
	}
	summaries, err := agent.SampleMetrics(specs, service, source, "-", records)
	if err != nil {
		return exitError(err)
	}
	found := map[string]bool{}
	for i := range records {
		for _, f := range records[i].Fields {
			found[f.Name] = true
		}
	}
	names := slices.Sorted(maps.Keys(found))
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, s := range summaries {
		notes := []string{}
		for _, why := range slices.Sorted(maps.Keys(s.Skipped)) {
			notes = append(notes, fmt.Sprintf("%s: %s", why, units.Count(s.Skipped[why], "record")))
		}
		for _, name := range s.Fields {
			if !found[name] && !found[strings.TrimPrefix(name, "message.")] && name != "message" && len(records) > 0 {
				notes = append(notes, missingField(name, names))
			}
		}
		fmt.Fprintf(out, "log metric %s\t%s\t%s\n", s.Name, units.Count(s.Records, "record"),
			strings.Join(append([]string{fmt.Sprintf("%d series", s.Series)}, notes...), "; "))
	}
	return out.Flush()
}

// missingField names a field that is in no record, and the nearest that is in one.
func missingField(name string, names []string) string {
	text := "no record has " + printable(name)
	if near := suggest.Names(name, names, 1); len(near) > 0 {
		text += "; did you mean " + printable(near[0]) + "?"
	}
	return text
}
