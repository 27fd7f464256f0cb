package plan

import (
	"time"

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
