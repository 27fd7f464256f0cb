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
	// stopAt is the day at which the listing of a service stops; zero means never.
	stopAt time.Time
	// onExpired receives each expired blob; false ends the walk.
	onExpired func(store.Blob) bool
	// onTierChange receives each blob to move to another tier, if set; false ends the walk.
	onTierChange func(store.Blob, store.Tier) bool
	// onSegment receives each segment with its class, if set.
	onSegment func(key classDay, b store.Blob)
	// onRejection receives the name of each output of compaction that a marker rejects, if set.
	onRejection func(output blobnaming.Name)

	days             map[classDay]*Day
	kept             map[keptKey]*Kept
	unknownClassDays map[time.Time]bool
	// listed is the number of examined blobs, found how many of them have expired.
	listed, found int64
	// lastOutput is the last output that was listed.
	lastOutput blobnaming.Name
	// remaining is how many blobs follow on the page at which the listing stopped; more is set if there
	// may be further pages.
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
		return w.judgeMarker(b) // not a segment
	}
	if name.Output() > 0 {
		w.lastOutput = name
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
	return w.expired(key, b)
}

// expired counts an expired blob and passes it on.
func (w *walk) expired(key classDay, b store.Blob) bool {
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

// judgeMarker judges a blob that is not a segment. Only the marker that rejects an output can expire: when
// its output, which is listed just before it, does not exist any more.
func (w *walk) judgeMarker(b store.Blob) bool {
	output, err := blobnaming.ParseRejection(b.Name)
	if err != nil {
		return true
	}
	if w.onRejection != nil {
		w.onRejection(output)
	}
	class, named := w.r.cut.classOf(output)
	if output == w.lastOutput || !named || !w.r.cut.Judge(class, output.Bucket).Deletes() {
		return true
	}
	return w.expired(classDay{class, output.Bucket.Truncate(day)}, b)
}

// keptKey groups old blobs that are kept.
type keptKey struct{ reason, class string }

// changeTier moves a blob to the tier of its day.
func (w *walk) changeTier(day time.Time, b store.Blob) bool {
	tier := w.r.cut.Tier(day, b.Tier)
	return tier == b.Tier || w.onTierChange == nil || w.onTierChange(b, tier)
}

// keep counts a blob that is kept although it is of a day of which others are deleted.
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
func (r *run) add(service string, w *walk, outputs []output) {
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
