package audit

import (
	"hash/maphash"
	"slices"
	"time"

	"logstow/tableindex"
)

const (
	// partBlobs is the number of blobs that are compared at a time, with all others of their last hour: a
	// range of row keys has the entities of whole hours.
	partBlobs = 5_000
	// maxPartEntities is the maximum number of differing entities in memory, unless a part is one hour.
	maxPartEntities = 10_000
	// hours is the number of hours of a day.
	hours = 24
)

// part is the unit of comparison: hours of a service's day, or all outputs of compaction of the day.
type part struct {
	service string
	day     time.Time
	outputs bool
	// first is the first hour, last the hour after the last one.
	first, last int
	tables      []tableindex.Table
	// seen has the objects that differed in the first comparison.
	seen nameSet
}

// period returns the hours of the part.
func (p part) period() (from, to time.Time) {
	return p.day.Add(time.Duration(p.first) * time.Hour), p.day.Add(time.Duration(p.last) * time.Hour)
}

// tablesOf returns the tables of a day: those of its segments, or of its outputs.
func tablesOf(tables []tableindex.Table, day time.Time, outputs bool) (of []tableindex.Table) {
	for _, t := range tables {
		if t.Day.Equal(day) && t.Outputs == outputs {
			of = append(of, t)
		}
	}
	return of
}

// split splits a part of more than an hour, and its blobs, which are in order, into halves.
func (p part) split(blobs []listedBlob) (parts [2]part, of [2][]listedBlob) {
	middle := (p.first + p.last) / 2
	at, _ := slices.BinarySearchFunc(blobs, middle, func(e listedBlob, hour int) int { return hourOf(e.hour) - hour })
	parts = [2]part{p, p}
	parts[0].last, parts[1].first = middle, middle
	return parts, [2][]listedBlob{blobs[:at], blobs[at:]}
}

// hourOf is an hour's number in its day.
func hourOf(hour time.Time) int { return int(hour.Sub(hour.Truncate(day)) / time.Hour) }

// nameSet is a set of names as sorted hashes, which take less memory: every blob of a store may differ.
type nameSet []uint64

// hashNames returns the set of the differing objects.
func (a *auditor) hashNames(differences []Difference) nameSet {
	s := make(nameSet, len(differences))
	for i, d := range differences {
		s[i] = maphash.String(a.seed, d.Object)
	}
	slices.Sort(s)
	return slices.Clip(slices.Compact(s))
}

// has reports whether a name is in the set.
func (a *auditor) has(s nameSet, name string) bool {
	_, ok := slices.BinarySearch(s, maphash.String(a.seed, name))
	return ok
}
