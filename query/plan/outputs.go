package plan

import (
	"time"

	"logstow/blobnaming"
	"logstow/store"
)

// A pageWatch finds the hours of a service that a listing did not show at one instant. A page of a
// listing is one; between two pages, compaction may have created an output where the listing was
// already, and removed its inputs where it was not yet.
type pageWatch struct {
	// at is the hour of the last name, at first the first hour that is listed; end is that after
	// the last one.
	at, end time.Time
	pages   int
	between bool // no name was listed since a page ended at the hour
	hours   []time.Time
}

// page notes a page.
func (w *pageWatch) page(page []store.Blob) {
	w.between = w.pages > 0
	w.pages++
	for i := range page {
		if name, err := blobnaming.Parse(page[i].Name); err == nil {
			w.reach(name.Bucket.Truncate(time.Hour))
		}
	}
}

// reach goes on to the hour of the next name.
func (w *pageWatch) reach(hour time.Time) {
	for at := w.at; w.between && !at.After(hour); at = at.Add(time.Hour) {
		if n := len(w.hours); n == 0 || at.After(w.hours[n-1]) {
			w.hours = append(w.hours, at)
		}
	}
	w.at, w.between = hour, false
}

// torn are the hours, when the listing has ended.
func (w *pageWatch) torn() []time.Time {
	if w.between && w.at.Before(w.end) {
		w.reach(w.end.Add(-time.Hour))
	}
	return w.hours
}

// lookAgain are the prefixes to list again, when the listing of a prefix of a service has ended: those of
// the outputs of the hours that were not shown at one instant, or the whole if that has fewer pages.
func (w *pageWatch) lookAgain(service, prefix string) []string {
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

// newPageWatch is for a listing of a prefix of a service, of which the hours in [from, to) are wanted.
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
