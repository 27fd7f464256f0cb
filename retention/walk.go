package retention

import (
	"context"
	"fmt"
	"time"

	"logstow/blobnaming"
	"logstow/internal/retry"
	"logstow/store"
)

// pageSize is the number of blobs on a full page of a listing.
const pageSize = 5000

// unknownClass stands for the class of a blob with unreadable metadata: no policy can name it.
const unknownClass = "?"

// walk lists the blobs of one service, or of all, and judges them.
type walk struct {
	r *run
	// stopAt is the day at which the listing of a service stops; zero is never.
	stopAt time.Time
	// onExpired receives each expired blob; false ends the walk.
	onExpired func(store.Blob) bool
	// onTierChange receives each blob that belongs into another tier, if set; false ends the walk.
	onTierChange func(store.Blob, store.Tier) bool
	// onSegment receives each segment with its class, if set.
	onSegment func(key classDay, b store.Blob)

	days             map[classDay]*Day
	kept             map[keptKey]*Kept
	unknownClassDays map[time.Time]bool
	// listed blobs were examined; found of them have expired.
	listed, found int64
	// remaining blobs follow on the page where the listing stopped; more says that there may be
	// further pages.
	remaining int
	more      bool
	err       error
}

// run lists a service's blobs, or all if service is "".
func (w *walk) run(ctx context.Context, service string) {
	w.days, w.kept, w.unknownClassDays = make(map[classDay]*Day), make(map[keptKey]*Kept), make(map[time.Time]bool)
	prefix := service
	if service != "" {
		prefix += "/"
	}
	for page, err := range retry.List(ctx, w.r.store.Blobs(), prefix) {
		if err != nil {
			w.err = fmt.Errorf("list %s*: %w", prefix, err)
			if ctx.Err() == nil {
				w.r.problem(w.err)
			}
			return
		}
		for i, b := range page {
			if !w.judge(b) {
				w.remaining, w.more = len(page)-i, len(page) >= pageSize
				return
			}
		}
	}
}

// judge judges a blob; false ends the walk.
func (w *walk) judge(b store.Blob) bool {
	name, err := blobnaming.Parse(b.Name)
	if err != nil {
		w.listed++
		return true // not a segment
	}
	day := name.Bucket.Truncate(day)
	if !w.stopAt.IsZero() && !day.Before(w.stopAt) {
		return false
	}
	w.listed++
	w.r.o.Progress.Listed.Add(1)
	meta, err := blobnaming.ParseMetadata(b.Metadata)
	if err != nil {
		w.unknownClassDays[day] = true
		if w.onSegment != nil {
			w.onSegment(classDay{unknownClass, day}, b)
		}
		w.keep(keptKey{reason: Unreadable}, day, b)
		return true
	}
	key := classDay{meta.Class, day}
	if w.onSegment != nil {
		w.onSegment(key, b)
	}
	verdict := w.r.cut.Judge(meta.Class, day)
	if verdict == Unnamed {
		w.keep(keptKey{NotNamed, meta.Class}, day, b)
	}
	if !verdict.Deletes() {
		return w.changeTier(day, b)
	}
	d := w.days[key]
	if d == nil {
		d = &Day{Class: key.class, Day: key.day.Format(time.DateOnly), Why: w.r.cut.Why(key.class, key.day)}
		w.days[key] = d
	}
	d.Blobs++
	d.Bytes += b.Size
	w.found++
	w.r.o.Progress.Found.Add(1)
	return w.onExpired(b)
}

// keptKey groups what is kept though it is old.
type keptKey struct{ reason, class string }

// changeTier moves a blob to the tier of its day.
func (w *walk) changeTier(day time.Time, b store.Blob) bool {
	tier := w.r.cut.Tier(day, b.Tier)
	return tier == b.Tier || w.onTierChange == nil || w.onTierChange(b, tier)
}

// keep counts a blob that is kept though it is of a day on which others are deleted.
func (w *walk) keep(k keptKey, day time.Time, b store.Blob) {
	if !day.Before(w.r.cut.End()) {
		return
	}
	if w.kept[k] == nil {
		w.kept[k] = &Kept{Reason: k.reason, Class: k.class, First: b.Name}
	}
	w.kept[k].Blobs++
	w.kept[k].Bytes += b.Size
}

// add adds the findings of a walk over a service to the report.
func (r *run) add(service string, w *walk) {
	r.mu.Lock()
	defer r.mu.Unlock()
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

// fit lists everything and moves the cutoffs until what is kept fits.
func (r *run) fit(ctx context.Context, p Policy, services []string) error {
	usage := make(map[classDay]*Usage)
	r.eachService(ctx, services, func(service string) {
		own := make(map[classDay]*Usage)
		w := walk{r: r, onExpired: func(store.Blob) bool { return true }, onSegment: func(key classDay, b store.Blob) {
			if own[key] == nil {
				own[key] = &Usage{Class: key.class, Day: key.day}
			}
			own[key].Blobs++
			own[key].Bytes += b.Size
		}}
		w.run(ctx, service)
		r.mu.Lock()
		defer r.mu.Unlock()
		for key, u := range own {
			if sum := usage[key]; sum != nil {
				sum.Blobs += u.Blobs
				sum.Bytes += u.Bytes
			} else {
				usage[key] = u
			}
		}
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	all := make([]Usage, 0, len(usage))
	for _, u := range usage {
		all = append(all, *u)
	}
	var left int64
	if r.cut, left = r.cut.Fit(all); left > p.MaxBytes {
		r.problem(fmt.Errorf("%d bytes remain, more than the %d allowed: today's and those of classes that are not named stay", left, p.MaxBytes))
	}
	r.o.Progress.Listed.Store(0)
	r.o.Progress.Found.Store(0)
	return nil
}
