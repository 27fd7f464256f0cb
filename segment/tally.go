package segment

import (
	"maps"
	"slices"

	"logstow/record"
)

// tally counts the records of a segment by minute and collects their sources.
type tally struct {
	// start is the bucket's start in Unix nanoseconds.
	start   int64
	minutes []record.Counts
	last    string
	sources map[string]struct{}
}

// newTally makes a tally for a valid bucket, in Unix seconds.
func newTally(start, width int64) tally {
	return tally{start: start * 1e9, minutes: make([]record.Counts, width/60), sources: make(map[string]struct{})}
}

// covers reports whether a time lies in the bucket.
func (t *tally) covers(time int64) bool {
	into := time - t.start
	return into >= 0 && into < int64(len(t.minutes))*60e9
}

// add counts a record whose time the bucket covers. source is clean.
func (t *tally) add(time int64, level record.Level, source string) {
	t.minutes[(time-t.start)/60e9][level]++
	if source == t.last || len(t.sources) > MaxSources {
		return
	}
	t.last = source
	t.sources[source] = struct{}{}
}

// addBytes is add for a source that is a view into text.
func (t *tally) addBytes(time int64, level record.Level, source []byte) {
	if string(source) == t.last { // does not allocate
		t.add(time, level, t.last)
		return
	}
	t.add(time, level, string(source))
}

// listMinutes are the minutes that have records.
func (t *tally) listMinutes() []record.Minute {
	var list []record.Minute
	for i, counts := range t.minutes {
		if counts != (record.Counts{}) {
			list = append(list, record.Minute{Start: t.start/1e9 + int64(i)*60, Levels: counts})
		}
	}
	return list
}

// listSources are the sources in byte order, or ManySources.
func (t *tally) listSources() []string {
	if len(t.sources) > MaxSources {
		return []string{ManySources}
	}
	return slices.Sorted(maps.Keys(t.sources))
}
