package segment

import (
	"maps"
	"slices"

	"logstow/record"
)

// tally counts the records of a segment by minute and collects their sources.
type tally struct {
	// start is the bucket's start in Unix nanoseconds.
	start int64
	// minutes has, for each minute of the bucket, one more than the index of its counts; 0 if it has no records. This
	// keeps segments of few records small: a shipper has thousands of them open.
	minutes []uint16
	counts  []record.Counts
	// onMinute has the counts of records whose time is exactly the start of a minute, by minute; nil if there are none.
	onMinute map[int64]record.Counts
	// last is the source of the last record, sources are all sources.
	last    string
	sources map[string]struct{}
	labels  labelTally
}

// newTally makes a tally for a valid bucket, in Unix seconds.
func newTally(start, width int64) tally {
	return tally{start: start * 1e9, minutes: make([]uint16, width/60), sources: make(map[string]struct{})}
}

// covers reports whether a time lies in the bucket.
func (t *tally) covers(time int64) bool {
	into := time - t.start
	return into >= 0 && into < int64(len(t.minutes))*60e9
}

// add counts a record in the bucket, whose source [record.CleanSource] has cleaned.
func (t *tally) add(time int64, level record.Level, source string) {
	into := time - t.start
	minute := into / 60e9
	t.minute(minute)[level]++
	if into == minute*60e9 {
		t.addOnMinute(minute, level)
	}
	if source == t.last || len(t.sources) > MaxSources {
		return
	}
	t.last = source
	t.sources[source] = struct{}{}
}

func (t *tally) addOnMinute(minute int64, level record.Level) {
	if t.onMinute == nil {
		t.onMinute = map[int64]record.Counts{}
	}
	counts := t.onMinute[minute]
	counts[level]++
	t.onMinute[minute] = counts
}

// minute returns the counts of a minute of the bucket.
func (t *tally) minute(i int64) *record.Counts {
	at := &t.minutes[i]
	if *at == 0 {
		t.counts = append(t.counts, record.Counts{})
		*at = uint16(len(t.counts)) // a bucket has at most 1,440 minutes
	}
	return &t.counts[*at-1]
}

// addBytes is add for a source that is a view into text.
func (t *tally) addBytes(time int64, level record.Level, source []byte) {
	if string(source) == t.last { // does not allocate
		t.add(time, level, t.last)
		return
	}
	t.add(time, level, string(source))
}

// listMinutes returns the minutes that have records.
func (t *tally) listMinutes() []record.Minute {
	list := make([]record.Minute, 0, len(t.counts))
	for i, at := range t.minutes {
		if at > 0 {
			list = append(list, record.Minute{Start: t.start/1e9 + int64(i)*60, Levels: t.counts[at-1]})
		}
	}
	return list
}

// listOnMinute returns the counts of records at the start of each minute that has records; nil if there are none.
func (t *tally) listOnMinute() (list []record.Counts) {
	if t.onMinute == nil {
		return nil
	}
	for i, at := range t.minutes {
		if at > 0 {
			list = append(list, t.onMinute[int64(i)])
		}
	}
	return list
}

// listSources returns the sources in byte order, or ManySources alone.
func (t *tally) listSources() []string {
	if len(t.sources) > MaxSources {
		return []string{ManySources}
	}
	return slices.Sorted(maps.Keys(t.sources))
}
