package layout

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"logstow/internal/hint"
	"logstow/internal/retry"
	"logstow/store"
)

const (
	// maxUnits is the maximum number of hours, days, months or years whose blobs are listed each by themselves.
	maxUnits = 36
	// maxDepth is the maximum number of directories that {**} stands for.
	maxDepth = 32
	// maxListings is the maximum number of listings at the same time.
	maxListings = 16
)

// Find returns the blobs that were written from one time to another plus the slack, in order of name. Empty ones are left out. The number
// of listings is that of the directories before the time in names, and for each of these one an hour, or a day if there are many hours.
func (l *Layout) Find(ctx context.Context, p *Place, from, to time.Time) ([]Blob, error) {
	found, err := l.find(ctx, p, from, to)
	if errors.Is(err, store.ErrNoContainer) { // its advice is for stores
		err = hint.Wrap(err, "check the name; the program that writes the blobs creates it")
	}
	return found, err
}

func (l *Layout) find(ctx context.Context, p *Place, from, to time.Time) (found []Blob, err error) {
	if to.Year() < 9999 {
		to = to.Add(l.slack)
	}
	w := &walk{layout: l, place: p, from: from.In(l.zone), to: to.In(l.zone), directories: map[string][]string{}, policy: retry.Jobs()}
	for _, t := range l.templates {
		if err := w.step(ctx, t, "", 0, 0); err != nil {
			return nil, err
		}
	}
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(maxListings)
	var mu sync.Mutex
	for _, prefix := range minimal(w.prefixes) {
		group.Go(func() error {
			for page, err := range w.policy.List(gctx, p.Blobs, prefix) {
				if err != nil {
					return err
				}
				mu.Lock()
				for _, b := range page {
					if one, ok := l.Match(p, b); ok && one.overlaps(from, to) && b.Size > 0 {
						found = append(found, one)
					}
				}
				mu.Unlock()
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b Blob) int { return cmp.Compare(a.Name, b.Name) })
	return found, nil
}

// overlaps reports whether the blob was written in a range.
func (b *Blob) overlaps(from, to time.Time) bool { return b.Start.Before(to) && b.End.After(from) }

// minimal returns prefixes without those that others begin.
func minimal(prefixes []string) (all []string) {
	slices.Sort(prefixes)
	for _, prefix := range prefixes {
		if n := len(all); n == 0 || !strings.HasPrefix(prefix, all[n-1]) {
			all = append(all, prefix)
		}
	}
	return all
}

// walk finds the prefixes of the names of a range.
type walk struct {
	layout *Layout
	place  *Place
	// from and to are in the zone of the names.
	from, to time.Time
	policy   retry.Policy
	// directories are those listed, by prefix.
	directories map[string][]string
	prefixes    []string
}

// step adds the prefixes of the names that begin with one and continue with the components of a template from i on.
func (w *walk) step(ctx context.Context, t *template, prefix string, i, depth int) error {
	c := &t.components[i]
	last := i == len(t.components)-1
	switch {
	case last, !t.datedFrom(i):
		w.prefixes = append(w.prefixes, prefix+c.head())
		return nil
	case c.any:
		return w.descend(ctx, t, prefix, i, depth)
	case c.literal():
		return w.step(ctx, t, prefix+c.head()+"/", i+1, depth)
	case c.dated():
		return w.dates(ctx, t, prefix, i, depth)
	}
	children, err := w.list(ctx, prefix)
	for _, child := range children {
		if err == nil && c.matches(prefix, child) {
			err = w.step(ctx, t, child, i+1, depth)
		}
	}
	return err
}

// datedFrom reports whether a directory from a component on has a time.
func (t *template) datedFrom(i int) bool {
	return slices.ContainsFunc(t.components[i:len(t.components)-1], func(c component) bool { return c.finest > noTime })
}

// matches reports whether a directory directly below another one is of the component.
func (c *component) matches(parent, child string) bool {
	return c.whole.MatchString(strings.TrimSuffix(child[len(parent):], "/"))
}

// descend looks for the component after {**} at any depth.
func (w *walk) descend(ctx context.Context, t *template, prefix string, i, depth int) error {
	children, err := w.list(ctx, prefix)
	if err != nil {
		return err
	}
	next := &t.components[i+1]
	here := false
	for _, child := range children {
		switch {
		case next.matches(prefix, child):
			here = true
		case depth < maxDepth:
			if err := w.step(ctx, t, child, i, depth+1); err != nil {
				return err
			}
		}
	}
	if here {
		return w.step(ctx, t, prefix, i+1, depth)
	}
	return nil
}

// dates adds the directories of the range: of hours if these are few, otherwise of days, months or years.
func (w *walk) dates(ctx context.Context, t *template, prefix string, i, depth int) error {
	end := i // after the components of times
	for end < len(t.components)-1 && t.components[end].dated() {
		end++
	}
	for n := end; n > i; n-- {
		names, ok := w.units(t.components[i:n])
		if !ok {
			continue
		}
		for _, name := range names {
			if !w.exists(prefix, name) {
				continue
			}
			if n < end {
				w.prefixes = append(w.prefixes, prefix+name)
			} else if err := w.step(ctx, t, prefix+name, n, depth); err != nil {
				return err
			}
		}
		return nil
	}
	children, err := w.list(ctx, prefix) // the range is long
	for _, child := range children {
		if t.components[i].matches(prefix, child) {
			w.prefixes = append(w.prefixes, child)
		}
	}
	return err
}

// units returns the directories of the range that components of times make; not ok if there are too many.
func (w *walk) units(components []component) (names []string, ok bool) {
	finest := noTime
	for _, c := range components {
		finest = max(finest, c.finest)
	}
	for at := finest.begin(w.from); at.Before(w.to); at = finest.next(at) {
		name := ""
		for i := range components {
			name += components[i].at(at) + "/"
		}
		if n := len(names); n == 0 || names[n-1] != name {
			names = append(names, name)
		}
		if len(names) > maxUnits {
			return nil, false
		}
	}
	return names, true
}

// exists reports whether a directory may exist below a prefix, as far as what was listed shows.
func (w *walk) exists(prefix, name string) bool {
	listed, ok := w.directories[prefix]
	first, _, _ := strings.Cut(name, "/")
	return !ok || slices.Contains(listed, prefix+first+"/")
}

// list returns the directories below a prefix.
func (w *walk) list(ctx context.Context, prefix string) (all []string, err error) {
	if all, ok := w.directories[prefix]; ok {
		return all, nil
	}
	err = w.policy.Do(ctx, func() error {
		all = nil
		for page, err := range w.place.Blobs.ListPrefixes(ctx, prefix) {
			if err != nil {
				return err
			}
			all = append(all, page...)
		}
		return nil
	})
	if err == nil {
		w.directories[prefix] = all
	}
	return all, err
}
