package plan

import (
	"time"

	"logstow/blobnaming"
	"logstow/store"
)

// A pageWatch finds the hours of a service whose listing is not consistent because it spans two pages. Each page is a snapshot.
// Between two pages, compaction may have created an output behind the position of the listing, and removed its inputs ahead of it:
// the listing then has neither.
type pageWatch struct {
	// at is the hour of the last name, initially the first hour of the listing. end is the end of the listing.
	at, end time.Time
	pages   int
	between bool // the last page ended at this hour, and no name has followed
	hours   []time.Time
}

// page adds a page.
func (w *pageWatch) page(page []store.Blob) {
	w.between = w.pages > 0
	w.pages++
	for i := range page {
		if name, err := blobnaming.Parse(page[i].Name); err == nil {
			w.reach(name.Bucket.Truncate(time.Hour))
		}
	}
}

// reach advances to the hour of the next name.
func (w *pageWatch) reach(hour time.Time) {
	for at := w.at; w.between && !at.After(hour); at = at.Add(time.Hour) {
		if n := len(w.hours); n == 0 || at.After(w.hours[n-1]) {
			w.hours = append(w.hours, at)
		}
	}
	w.at, w.between = hour, false
}

// torn ends the listing and returns the inconsistent hours.
func (w *pageWatch) torn() []time.Time {
	if w.between && w.at.Before(w.end) {
		w.reach(w.end.Add(-time.Hour))
	}
	return w.hours
}

// relistPrefixes ends the listing of a prefix of a service. It returns the prefixes to list again: those of the outputs of
// inconsistent hours, or the whole prefix if that has fewer pages.
func (w *pageWatch) relistPrefixes(service, prefix string) []string {
	hours := w.torn()
	if len(hours) > w.pages {
		return []string{prefix}
	}
	prefixes := make([]string, len(hours))
	for i, hour := range hours {
		prefixes[i] = blobnaming.OutputPrefix(service, hour)
	}
	return prefixes
}

// newPageWatch makes a pageWatch for the listing of a prefix of a service, of which the hours in [from, to) are wanted.
func newPageWatch(service, prefix string, from, to time.Time) pageWatch {
	period := prefix[len(service)+1:]
	for layout, next := range map[string]func(time.Time) time.Time{
		"2006/":         func(t time.Time) time.Time { return t.AddDate(1, 0, 0) },
		"2006/01/":      func(t time.Time) time.Time { return t.AddDate(0, 1, 0) },
		"2006/01/02/":   func(t time.Time) time.Time { return t.AddDate(0, 0, 1) },
		"2006/01/02/15": func(t time.Time) time.Time { return t.Add(time.Hour) },
	} {
		if start, err := time.Parse(layout, period); err == nil {
			from, to = latest(from, start), earliest(to, next(start))
		}
	}
	return pageWatch{at: from.Truncate(time.Hour), end: to.Add(time.Hour - 1).Truncate(time.Hour)}
}

// dropRejected removes the outputs that a marker rejects.
func (h *listResult) dropRejected() {
	if len(h.rejected) == 0 {
		return
	}
	kept := h.segments[:0]
	for _, s := range h.segments {
		if !h.rejected[s.Name] {
			kept = append(kept, s)
		}
	}
	h.segments = kept
}
