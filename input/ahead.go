package input

import (
	"log/slog"
	"time"

	"logstow/input/listen"
)

const (
	// minAhead is how far ahead of the clock a record's time must lie to be counted in
	// [Stats.Ahead]. Clocks that differ do so by less, zones by more.
	minAhead = 55 * time.Minute
	// zoneStep is what all zones are multiples of.
	zoneStep = 15 * time.Minute
	// aheadEarly and aheadLate are how much earlier and later than it was logged a record
	// may be read, by clocks that differ and inputs that wait.
	aheadEarly, aheadLate = 30 * time.Second, 5 * time.Minute
	// aheadRecords is how many records must lie ahead by the same offset before it is logged.
	aheadRecords = 5
)

// aheadBatch counts the records of a batch whose times lie ahead of the clock.
type aheadBatch struct {
	records int
	// last is how far the last of them does.
	last time.Duration
}

// add takes a record's time and that of reading, in Unix nanoseconds. It reports
// whether the record lies ahead.
func (b *aheadBatch) add(when, read int64) bool {
	d := time.Duration(when - read)
	if d < minAhead {
		return false
	}
	b.records++
	b.last = d
	return true
}

// aheadRun finds out whether the times of one source lie ahead by the offset of a
// zone, as they do where they are read in the wrong one. Not safe for concurrent use.
type aheadRun struct {
	offset, logged time.Duration
	records        int
}

// note takes what a batch of all records has of all records. It returns the offset where that is to be
// logged: once, and again where it gets larger.
func (r *aheadRun) note(b aheadBatch, all int) (offset time.Duration, ok bool) {
	if 2*b.records < all {
		return 0, false
	}
	offset = (b.last + aheadLate).Truncate(zoneStep)
	if b.last > offset+aheadEarly { // not the offset of a zone
		r.records = 0
		return 0, false
	}
	if offset != r.offset {
		r.offset, r.records = offset, 0
	}
	r.records += b.records
	return offset, r.records >= aheadRecords && offset > r.logged
}

// aheadLog logs what an aheadRun finds. Safe for concurrent use.
type aheadLog struct {
	log   *slog.Logger
	zone  *time.Location
	limit listen.Limiter
}

// warn logs that the times of a source lie ahead, unless another source's were just
// logged: then it is done with a later batch.
func (l *aheadLog) warn(r *aheadRun, service, source string, offset time.Duration, now time.Time) {
	if r.logged == 0 && !l.limit.May() {
		return
	}
	r.logged = offset
	zone := l.zone
	if zone == nil {
		zone = time.UTC
	}
	_, east := now.In(zone).Zone()
	fits := now.In(time.FixedZone("", east+int(offset/time.Second))).Format("-07:00")
	l.log.Warn("times lie ahead of the clock: queries find these records only when their time has come",
		"service", service, "source", source, "ahead", offset, "time_zone", zone.String(),
		"hint", "set --time-zone to the zone of these times, which is UTC"+fits+
			" now; if they name their zone, correct the clock of their sender")
}
