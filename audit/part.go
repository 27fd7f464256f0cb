package audit

import (
	"hash/maphash"
	"slices"
	"time"

	"logstow/blobnaming"
	"logstow/tableindex"
)

const (
	// partBlobs are listed before they are compared, and the rest of their hour with them: the
	// entities of an hour, and no others, lie between two row keys.
	partBlobs = 5_000
	// maxPartEntities is how many differing entities are held in memory for more than an hour.
	maxPartEntities = 10_000
	// hours are those of a day.
	hours = 24
)

// part is the unit of comparison: hours of a service's day.
type part struct {
	service string
	day     time.Time
	// first is the first hour, last the one after the last.
	first, last int
	tables      []tableindex.Table
	// seen are the objects that differed in the last comparison, in order.
	seen nameSet
}

// prefixes cover the part's blobs.
func (p part) prefixes() []string {
	return blobnaming.Prefixes(p.service, p.day.Add(time.Duration(p.first)*time.Hour), p.day.Add(time.Duration(p.last)*time.Hour))
}

// split divides a part of more than an hour, and its blobs, which are in order.
func (p part) split(blobs []listedBlob) (parts [2]part, of [2][]listedBlob) {
	middle := (p.first + p.last) / 2
	at, _ := slices.BinarySearchFunc(blobs, middle, func(e listedBlob, hour int) int { return hourOf(e.hour) - hour })
	parts = [2]part{p, p}
	parts[0].last, parts[1].first = middle, middle
	return parts, [2][]listedBlob{blobs[:at], blobs[at:]}
}

// hourOf is an hour's number in its day.
func hourOf(hour time.Time) int { return int(hour.Sub(hour.Truncate(day)) / time.Hour) }

// nameSet is a set of names, as sorted hashes: every blob of a store may differ.
type nameSet []uint64

// hashNames is the set of the differing objects.
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
