package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"logstow/internal/suggest"
	"logstow/record"
)

// maxNamed is the maximum number of names that a reason lists.
const maxNamed = 5

// allOf reads "the only record" or "all 3 records".
func allOf(n uint64, one, several string) string {
	if n == 1 {
		return "the only " + one
	}
	return fmt.Sprintf("all %d %s", n, several)
}

// levelCounts reads "INFO 120, DEBUG 3", without levels of no records.
func levelCounts(levels record.Counts) string {
	var all []string
	for l, n := range levels.All() {
		all = append(all, fmt.Sprintf("%s %d", l, n))
	}
	slices.Reverse(all)
	return strings.Join(all, ", ")
}

// Near returns the names that are similar to one, the nearest first, at most as many as a reason lists.
func Near(name string, names []string) []string { return suggest.Names(name, names, maxNamed) }

// List reads "available: a, b and 3 more".
func List(names []string) string {
	if len(names) == 0 {
		return "none are available"
	}
	text := strings.Join(names[:min(len(names), maxNamed)], ", ")
	if n := len(names) - maxNamed; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return "available: " + text
}

// NearestOr reads "nearest: a, b" or, if no name is near, as List does.
func NearestOr(name string, names []string) string {
	if near := Near(name, names); len(near) > 0 {
		return "nearest: " + strings.Join(near, ", ")
	}
	return List(names)
}

func quoted(texts []string) string {
	all := make([]string, len(texts))
	for i, text := range texts {
		all[i] = fmt.Sprintf("%q", text)
	}
	return strings.Join(all, ", ")
}

const day = 24 * time.Hour

// rangeFlag is the flag of a range from a time to now, and its length if the flag is --since.
func rangeFlag(t, now time.Time) (since, flag string) {
	switch d := now.Sub(t); {
	case d < 2*day:
		since = fmt.Sprintf("%dh", d/time.Hour+1)
	case d < 60*day:
		since = fmt.Sprintf("%dd", d/day+1)
	default:
		return "", "--from " + t.Format(time.DateOnly)
	}
	return since, "--since " + since
}

// approximately is a duration in minutes, hours or days, truncated.
func approximately(d time.Duration) string {
	switch {
	case d < time.Minute:
		return d.Truncate(time.Second).String()
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d == time.Hour:
		return "hour"
	case d < 2*day:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/day)
}
