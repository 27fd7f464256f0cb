package input

import (
	"log/slog"
	"time"

	"logstow/input/listen"
)

const (
	// minSkew is how far ahead of the clock a record's time must be to be counted in [Stats.Ahead].
	// Clock skew is usually less, a wrong time zone more.
	minSkew = 55 * time.Minute
	// zoneStep is what all zone offsets are multiples of.
	zoneStep = 15 * time.Minute
	// skewEarly and skewLate are how much earlier and later than it was logged a record may be
	// read, because of clock skew and waiting inputs.
	skewEarly, skewLate = 30 * time.Second, 5 * time.Minute
	// skewRecords is how many records must be ahead by the same offset before it is logged.
	skewRecords = 5
)

// skewBatch counts the records of a batch whose times are ahead of the clock.
type skewBatch struct {
	records int
	// last is how far the last of them is ahead.
	last time.Duration
}

// add adds a record's time and its read time, in Unix nanoseconds. It reports whether the record is
// ahead.
func (b *skewBatch) add(when, read int64) bool {
	d := time.Duration(when - read)
	if d < minSkew {
		return false
	}
	b.records++
	b.last = d
	return true
}

// skewDetector detects whether the times of one source are ahead by the offset of a zone, as they
// are if parsed in the wrong one. Not safe for concurrent use.
type skewDetector struct {
	offset, logged time.Duration
	records        int
}

// note adds a batch of all records. It returns the offset if it is to be logged: once, and again if
// it grows.
func (r *skewDetector) note(b skewBatch, all int) (offset time.Duration, ok bool) {
	if 2*b.records < all {
		return 0, false
	}
	offset = (b.last + skewLate).Truncate(zoneStep)
	if b.last > offset+skewEarly { // not the offset of a zone
		r.records = 0
		return 0, false
	}
	if offset != r.offset {
		r.offset, r.records = offset, 0
	}
	r.records += b.records
	return offset, r.records >= skewRecords && offset > r.logged
}

// skewLog logs the findings of a skewDetector. Safe for concurrent use.
type skewLog struct {
	log   *slog.Logger
	zone  *time.Location
	limit listen.Limiter
}

// warn logs that the times of a source are ahead, unless another source was just logged: then a
// later batch logs it.
func (l *skewLog) warn(r *skewDetector, service, source string, offset time.Duration, now time.Time) {
	if r.logged == 0 && !l.limit.Allow() {
		return
	}
	r.logged = offset
	zone := l.zone
	if zone == nil {
		zone = time.UTC
	}
	_, east := now.In(zone).Zone()
	fits := now.In(time.FixedZone("", east+int(offset/time.Second))).Format("-07:00")
	l.log.Warn("timestamps ahead of the clock: queries find these records only once their time is reached",
		"service", service, "source", source, "ahead", offset, "time_zone", zone.String(),
		"hint", "set --time-zone to the zone of these times, which is UTC"+fits+
			" now; if they name their zone, correct the clock of their sender")
}
