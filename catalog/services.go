package catalog

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"logstow/blobnaming"
	"logstow/store"
)

// Services returns the services that have blobs in either container, in order of name. Two requests, if there is one page of them.
func (c *Catalog) Services(ctx context.Context) ([]string, error) {
	var all []string
	for _, h := range c.halves() {
		names, err := c.directories(ctx, h, "")
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if name = strings.TrimSuffix(name, "/"); blobnaming.ValidService(name) {
				all = append(all, name)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// half is one of the containers.
type half struct {
	store.BlobReader
	classify  func(*store.Blob) Entry
	compacted bool
}

// halves returns the raw container, then the compacted one.
func (c *Catalog) halves() []half {
	return []half{{c.Blobs, RawEntry, false}, {c.Compacted, compactedEntry, true}}
}

// directories returns the directories under a prefix. A compacted container that does not exist has none.
func (c *Catalog) directories(ctx context.Context, h half, prefix string) (all []string, err error) {
	err = c.Retry.Do(ctx, func() error {
		all = nil
		pages := h.ListPrefixes(ctx, prefix)
		if h.compacted {
			pages = withoutContainer(pages)
		}
		for page, err := range pages {
			if err != nil {
				return err
			}
			all = append(all, page...)
		}
		return nil
	})
	return all, err
}

// Newest yields the blobs of a service's newest bucket in the raw container, and those of its newest day in the compacted one:
// the newest record of the service is in one of them. Four or five requests for each container.
func (c *Catalog) Newest(ctx context.Context, service string) iter.Seq2[[]Entry, error] {
	return func(yield func([]Entry, error) bool) {
		for _, h := range c.halves() {
			prefix, err := c.newestDirectory(ctx, h, service)
			if err != nil {
				yield(nil, err)
				return
			}
			if prefix == "" {
				continue
			}
			for page, err := range c.Retry.List(ctx, h, prefix) {
				if !yield(inRange(page, h.classify, time.Time{}, time.Time{}), err) || err != nil {
					return
				}
			}
		}
	}
}

// newestDirectory returns the directory of the last bucket of a service, or of the last day in the compacted container; "" if there is
// none.
func (c *Catalog) newestDirectory(ctx context.Context, h half, service string) (string, error) {
	prefix := service + "/"
	levels := []string{"year", "month", "day", "bucket"}
	if h.compacted {
		levels = levels[:3]
	}
	for range levels {
		numbers, err := c.numericChildren(ctx, h, prefix)
		if err != nil || len(numbers) == 0 {
			return "", err
		}
		prefix += slices.Max(numbers) + "/"
	}
	return prefix, nil
}

// numericChildren returns the parts of names directly under prefix that are numbers of two to four digits, in order.
func (c *Catalog) numericChildren(ctx context.Context, h half, prefix string) (numbers []string, err error) {
	names, err := c.directories(ctx, h, prefix)
	for _, name := range names {
		name = strings.TrimSuffix(strings.TrimPrefix(name, prefix), "/")
		if len(name) >= 2 && len(name) <= 4 && strings.Trim(name, "0123456789") == "" {
			numbers = append(numbers, name)
		}
	}
	return numbers, err
}

// years returns the years, as four digits, of which a service has blobs in any of some containers.
func (c *Catalog) years(ctx context.Context, service string, halves ...half) (map[string]bool, error) {
	all := make(map[string]bool)
	for _, h := range halves {
		names, err := c.numericChildren(ctx, h, service+"/")
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if len(name) == len("2006") {
				all[name] = true
			}
		}
	}
	return all, nil
}

// Selects reports whether a service matches one of the patterns, or there are none.
func Selects(patterns []string, service string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, err := doublestar.Match(pattern, service)
		return ok && err == nil
	})
}
