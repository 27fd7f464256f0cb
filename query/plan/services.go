package plan

import (
	"context"
	"slices"
	"time"

	"logstow/query/match"
	"logstow/query/source"
)

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
	s, err := s.Segments(ctx, sel.From, sel.To, nil)
	if err != nil {
		return nil, err
	}
	all, err := Services(ctx, s)
	return slices.DeleteFunc(all, func(name string) bool { return !sel.MatchesService(name) }), err
}

// Services returns the services of a store, in order of name.
func Services(ctx context.Context, s source.Store) ([]string, error) {
	s, err := s.Known(ctx)
	if err != nil {
		return nil, err
	}
	return s.Catalog().Services(ctx)
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
