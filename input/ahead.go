package input

import (
	"log/slog"
	"time"

	"logstow/internal/logging"
)

const (
	// minSkew is how far ahead of the clock a record's time must be to be counted in [Stats.Ahead].
	// Clock skew is usually less, a wrong time zone more.
	minSkew = 55 * time.Minute
	// zoneStep divides the offsets of all time zones.
	zoneStep = 15 * time.Minute
	// skewEarly and skewLate are the tolerances for a record that is read earlier or later than it was
	// logged, because of clock skew and waiting inputs.
	skewEarly, skewLate = 30 * time.Second, 5 * time.Minute
	// skewRecords is how many records must be ahead by the same offset before the offset is logged.
	skewRecords = 5
)

// skewBatch counts the records of a batch whose times are ahead of the clock.
type skewBatch struct {
	records int
	// last is how far the last of these records is ahead.
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

// skewDetector detects whether the times of one source are ahead by the offset of a time zone, which
// means that they are parsed in the wrong zone. Not safe for concurrent use.
type skewDetector struct {
	offset, logged time.Duration
	records        int
}

// note adds a batch; all is the number of records from which it was counted. ok reports that the
// offset must be logged: that is once, and again if it grows.
func (d *skewDetector) note(b skewBatch, all int) (offset time.Duration, ok bool) {
	if 2*b.records < all {
		return 0, false
	}
	offset = (b.last + skewLate).Truncate(zoneStep)
	if b.last > offset+skewEarly { // not the offset of a zone
		d.records = 0
		return 0, false
	}
	if offset != d.offset {
		d.offset, d.records = offset, 0
	}
	d.records += b.records
	return offset, d.records >= skewRecords && offset > d.logged
}

// skewLog logs the findings of a skewDetector. Safe for concurrent use.
type skewLog struct {
	log   *slog.Logger
	zone  *time.Location
	limit logging.Limiter
}

// warn logs that the times of a source are ahead. If another source was logged just before, it does
// nothing, and a later batch logs the source.
func (l *skewLog) warn(d *skewDetector, service, source string, offset time.Duration, now time.Time) {
	if d.logged == 0 && !l.limit.Allow() {
		return
	}
	d.logged = offset
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
