package main

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	"logstow/field"
	"logstow/query"
	"logstow/query/plan"
)

// Names of fields come from logs, and bash expands the words that it completes from. So only names of characters
// that no shell treats specially are completed; they need no quotes either.
const (
	// listedName matches names in lists, such as those of --by.
	listedName = `^[A-Za-z0-9_][A-Za-z0-9_.-]*$`
	// conditionName matches names in --where.
	conditionName = `^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$`
)

// maxLookups is the maximum number of services whose newest records are looked up, with five requests each.
const maxLookups = 16

// fixedFields are the names of the fields that every record has.
func fixedFields() (names []string) {
	for _, fixed := range field.AllFixed() {
		names = append(names, string(fixed))
	}
	return names
}

// fieldsOf are the names of a form of the fields in a block of the newest records, the most frequent first: in each
// store that words name, of the services that they name, otherwise of the one that logged last.
func fieldsOf(ctx context.Context, words []string, env environment, form string) (names []string) {
	valid := regexp.MustCompile(form)
	eachStore(ctx, words, env, func(ctx context.Context, s query.Store) {
		for _, name := range newestFields(ctx, s, given(words, "--service", "-s")) {
			if name = field.WriteName(name); valid.MatchString(name) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	})
	return names
}

// newestFields are the names of the fields in a block of the newest segment of a store; none if it cannot be read.
func newestFields(ctx context.Context, s query.Store, services []string) (names []string) {
	sel := query.Selection{Services: services}
	if all, err := plan.SelectedServices(ctx, s, &sel); err != nil || len(all) > maxLookups {
		return nil
	}
	sel.From, sel.To = everything()
	q, err := query.New([]query.Store{s}, sel, query.Options{})
	if err != nil {
		return nil
	}
	last, service, found, err := q.Newest(ctx)
	if err != nil || !found {
		return nil
	}
	sel = query.Selection{Services: []string{service}, From: last.Add(-time.Hour), To: last.Add(1)}
	if q, err = q.With(sel); err != nil {
		return nil
	}
	p, err := q.Plan(ctx)
	if err != nil {
		return nil
	}
	segments := slices.DeleteFunc(p.Segments, func(s *query.Segment) bool { return s.Foreign }) // they are read whole
	if len(segments) == 0 {
		return nil
	}
	newest := slices.MaxFunc(segments, func(a, b *query.Segment) int { return cmp.Compare(a.Meta.End, b.Meta.End) })
	stats, err := q.Fields(ctx, &query.Plan{Segments: []*query.Segment{newest}}, query.FieldOptions{Records: 1})
	if err != nil {
		return nil
	}
	for i := range stats.Fields {
		names = append(names, stats.Fields[i].Name)
	}
	return names
}

// keysOf are the items of --by that words have.
func keysOf(words []string) (keys []string) {
	valid := regexp.MustCompile(listedName)
	for _, list := range given(words, "--by") {
		for key := range strings.SplitSeq(list, ",") {
			if valid.MatchString(key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}
