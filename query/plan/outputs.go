package plan

import (
	"context"
	"iter"
	"time"

	"logstow/query/source"

	"logstow/blobnaming"
	"logstow/store"
)

// A pageWatch finds the hours of a service that a listing did not show at one instant. A page of a
// listing is one; between two pages, compaction may have created an output where the listing was already, and
// removed its inputs where it was not yet.
type pageWatch struct {
	last  time.Time // the hour of the last name, zero before the first
	ended bool      // a page ended at last
	hours []time.Time
}

// page notes a page.
func (w *pageWatch) page(page []store.Blob) {
	for i := range page {
		name, err := blobnaming.Parse(page[i].Name)
		if err != nil {
			continue
		}
		hour := name.Bucket.Truncate(time.Hour)
		if w.ended {
			for at := w.last; !at.After(hour); at = at.Add(time.Hour) {
				w.hours = append(w.hours, at)
			}
			w.ended = false
		}
		w.last = hour
	}
	w.ended = !w.last.IsZero()
}

// secondLook lists again the outputs of hours that a listing did not show at one instant, and adds
// those that it missed.
func (p *Planner) secondLook(ctx context.Context, l *listing, h *listResult, hours []time.Time) error {
	known := make(map[string]bool)
	for _, s := range h.segments {
		if s.Meta.IsOutput() {
			known[s.String()] = true
		}
	}
	for i, hour := range hours {
		if i > 0 && hour.Equal(hours[i-1]) {
			continue
		}
		prefix := blobnaming.OutputPrefix(l.service, hour)
		found, err := source.Collect(ctx, func() iter.Seq2[[]store.Blob, error] { return l.store.Blobs.List(ctx, prefix) })
		if err != nil {
			return err
		}
		for i := range found {
			meta, err := blobnaming.ParseMetadata(found[i].Metadata)
			if _, rejection := blobnaming.ParseRejection(found[i].Name); rejection == nil || err == nil && meta.IsOutput() && !known[found[i].Name] {
				p.blob(h, l.store, &found[i])
			}
		}
	}
	return nil
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
