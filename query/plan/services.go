package plan

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"logstow/query/match"
	"logstow/query/source"

	"logstow/blobnaming"
)

// manyPrefixes is the number of prefixes above which the existing years are listed first.
const manyPrefixes = 8

// services returns the selected services of a store.
func (p *Planner) services(ctx context.Context, s *source.Store) ([]string, error) {
	return SelectedServices(ctx, *s, p.Matcher.Selection)
}

// SelectedServices returns the selected services of a store, in order of name. If the selection has no globs, it returns its
// services without a request, and they may not exist in the store.
func SelectedServices(ctx context.Context, s source.Store, sel *match.Selection) ([]string, error) {
	if len(sel.Services) > 0 && !slices.ContainsFunc(sel.Services, match.IsGlob) {
		return slices.Compact(slices.Sorted(slices.Values(sel.Services))), nil
	}
	all, err := Services(ctx, s)
	return slices.DeleteFunc(all, func(name string) bool { return !sel.MatchesService(name) }), err
}

// Services returns the services of a store, in order of name.
func Services(ctx context.Context, s source.Store) ([]string, error) {
	names, err := source.Collect(ctx, func() iter.Seq2[[]string, error] { return s.Blobs.ListPrefixes(ctx, "") })
	services := make([]string, 0, len(names))
	for _, name := range names {
		if name = strings.TrimSuffix(name, "/"); blobnaming.ValidService(name) {
			services = append(services, name)
		}
	}
	return services, err
}

// prefixes returns the prefixes to list for a service. If there are many, it lists the existing years first, so that a range of a
// century does not cost a hundred requests.
func (p *Planner) prefixes(ctx context.Context, s *source.Store, service string) ([]string, error) {
	from, to := p.listingRange(s)
	prefixes := blobnaming.Prefixes(service, from, to)
	if len(prefixes) <= manyPrefixes {
		return prefixes, nil
	}
	years, err := numericChildren(ctx, s, service+"/")
	if err != nil || len(years) == 0 {
		return nil, err
	}
	first, last := atoi(years[0]), atoi(years[len(years)-1])
	from = latest(from, time.Date(first, 1, 1, 0, 0, 0, 0, time.UTC))
	to = earliest(to, time.Date(last+1, 1, 1, 0, 0, 0, 0, time.UTC))
	return slices.DeleteFunc(blobnaming.Prefixes(service, from, to), func(prefix string) bool {
		return !slices.Contains(years, prefix[len(service)+1:][:len("2006")])
	}), nil
}

// numericChildren returns the parts of names directly under prefix that are numbers of two to four digits, in order.
func numericChildren(ctx context.Context, s *source.Store, prefix string) ([]string, error) {
	names, err := source.Collect(ctx, func() iter.Seq2[[]string, error] { return s.Blobs.ListPrefixes(ctx, prefix) })
	var numbers []string
	for _, name := range names {
		name = strings.TrimSuffix(strings.TrimPrefix(name, prefix), "/")
		if len(name) >= 2 && len(name) <= 4 && strings.Trim(name, "0123456789") == "" {
			numbers = append(numbers, name)
		}
	}
	return numbers, err
}

func atoi(digits string) int {
	n, _ := strconv.Atoi(digits) // digits only, at most four
	return n
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
