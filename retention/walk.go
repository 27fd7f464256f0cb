package retention

import (
	"context"
	"fmt"
	"iter"
	"time"

	"logstow/blobnaming"
	"logstow/catalog"
	"logstow/store"
)

// pageSize is the number of blobs on a full page of a listing.
const pageSize = 5000

// unknownClass stands for the class of a blob with unreadable metadata: no policy can name it.
const unknownClass = "?"

// walk lists the blobs of one service, or of all, in a container and judges them.
type walk struct {
	r *run
	// stopAt is the day at which the listing of a service stops; zero means never.
	stopAt time.Time
	// onExpired receives each expired blob; false ends the walk.
	onExpired func(key classDay, b entry) bool
	// onTierChange receives each blob to move to another tier, if set; false ends the walk.
	onTierChange func(entry, store.Tier) bool

	days             map[classDay]*Day
	kept             map[keptKey]*Kept
	unknownClassDays map[time.Time]bool
	// listed is the number of examined blobs, found how many of them have expired.
	listed, found int64
	// lastOutput is the last output that was listed.
	lastOutput blobnaming.Name
	// remaining is how many blobs follow on the pages at which the listings stopped; more is set if there
	// may be further pages.
	remaining int
	more      bool
	err       error
}

func newWalk(r *run, onExpired func(key classDay, b entry) bool) *walk {
	return &walk{
		r:                r,
		onExpired:        onExpired,
		days:             make(map[classDay]*Day),
		kept:             make(map[keptKey]*Kept),
		unknownClassDays: make(map[time.Time]bool),
	}
}

// run lists a service's blobs, or all if service is "", in the raw container, then in the compacted one.
func (w *walk) run(ctx context.Context, service string) {
	for _, list := range []func(context.Context, string, time.Time, time.Time) iter.Seq2[[]catalog.Entry, error]{w.r.catalog.Raw, w.r.catalog.Outputs} {
		for page, err := range list(ctx, service, time.Time{}, time.Time{}) {
			if err != nil {
				w.err = fmt.Errorf("list %s/*: %w", service, err)
				if ctx.Err() == nil {
					w.r.problem(w.err)
				}
				return
			}
			if rest, ended := w.page(page); ended {
				w.remaining += rest
				w.more = w.more || len(page) >= pageSize
				break
			}
		}
	}
}

// page judges the blobs of a page. If the walk of a container ends there, it returns how many blobs of the page are left.
func (w *walk) page(page []catalog.Entry) (rest int, ended bool) {
	for i := range page {
		if !w.judge(&page[i]) {
			return len(page) - i, true
		}
	}
	return 0, false
}

// judge judges a blob; false ends the walk of the container.
func (w *walk) judge(e *catalog.Entry) bool {
	class, ok := classOf(e)
	if !ok {
		w.listed++
		return true
	}
	day := e.Name.Bucket.Truncate(day)
	if !w.stopAt.IsZero() && !day.Before(w.stopAt) {
		return false
	}
	w.listed++
	w.r.o.Progress.Listed.Add(1)
	key := classDay{class, day}
	if e.Kind == catalog.KindRejection { // it expires when its output, which is listed just before it, does not exist any more
		if e.Name == w.lastOutput || !w.r.cut.Judge(class, day).Deletes() {
			return true
		}
		return w.expired(key, newEntry(e))
	}
	if e.Name.Output() > 0 {
		w.lastOutput = e.Name
	}
	if class == unknownClass {
		w.unknownClassDays[day] = true
		w.keep(keptKey{reason: Unreadable}, day, e)
		return true
	}
	verdict := w.r.cut.Judge(class, day)
	if verdict == Unnamed {
		w.keep(keptKey{NotNamed, class}, day, e)
	}
	if !verdict.Deletes() {
		return w.changeTier(day, e)
	}
	return w.expired(key, newEntry(e))
}

// classOf returns the class of a blob of a service and day, [unknownClass] if it is not known; ok is false for other blobs. The name of
// an output has its class.
func classOf(e *catalog.Entry) (class string, ok bool) {
	switch {
	case e.Kind == catalog.KindOther:
		return "", false
	case e.Name.Output() > 0:
		return e.Name.Class(), true
	case e.Kind == catalog.KindPlain || e.Kind == catalog.KindMisplaced:
		return e.Meta.Class, true
	}
	return unknownClass, true
}

// expired counts an expired blob and passes it on.
func (w *walk) expired(key classDay, b entry) bool {
	d := w.days[key]
	if d == nil {
		d = &Day{Class: key.class, Day: key.day.Format(time.DateOnly), Why: w.r.cut.Why(key.class, key.day)}
		w.days[key] = d
	}
	d.Blobs++
	d.Bytes += b.size
	w.found++
	w.r.o.Progress.Found.Add(1)
	return w.onExpired(key, b)
}

// keptKey groups old blobs that are kept.
type keptKey struct{ reason, class string }

// changeTier moves a blob to the tier of its day.
func (w *walk) changeTier(day time.Time, e *catalog.Entry) bool {
	tier := w.r.cut.Tier(day, e.Tier)
	return tier == e.Tier || w.onTierChange == nil || w.onTierChange(newEntry(e), tier)
}

// keep counts a blob that is kept although it is of a day of which others are deleted.
func (w *walk) keep(k keptKey, day time.Time, e *catalog.Entry) {
	if !day.Before(w.r.cut.End()) {
		return
	}
	if w.kept[k] == nil {
		w.kept[k] = &Kept{Reason: k.reason, Class: k.class, First: e.Blob.Name}
	}
	w.kept[k].Blobs++
	w.kept[k].Bytes += e.Size
}

// add adds the findings of a walk over a service to the report.
func (r *run) add(service string, w *walk, outputs []entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outputs = append(r.outputs, outputs...)
	r.report.Listed += w.listed
	for key, d := range w.days {
		if sum := r.days[key]; sum != nil {
			sum.Blobs += d.Blobs
			sum.Bytes += d.Bytes
		} else {
			r.days[key] = d
		}
	}
	for key, k := range w.kept {
		if sum := r.kept[key]; sum != nil {
			sum.Blobs += k.Blobs
			sum.Bytes += k.Bytes
			sum.First = min(sum.First, k.First)
		} else {
			r.kept[key] = k
		}
	}
	for day := range w.unknownClassDays {
		r.unknownClassDays[day] = true
	}
	if w.found > 0 {
		r.touched = append(r.touched, service)
	}
	r.incomplete = r.incomplete || w.err != nil
	r.totalKnown = r.totalKnown && !w.more && w.err == nil
	r.totalRemaining += w.listed - w.found + int64(w.remaining)
}
