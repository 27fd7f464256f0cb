package patterns

import (
	"bytes"
	"slices"
	"strings"

	"logstow/record"
)

// MaxServices is how many services a template names.
const MaxServices = 8

// tally has the counts and the example of the records of a shape or template.
type tally struct {
	counts      [2]uint64
	levels      record.Counts
	first, last int64
	// example is from the first record, the bytewise least of those at that time.
	example []byte
	// services are the bytewise first MaxServices+1 of their names.
	services []string
}

// see considers the first record of the tally, or of one that is merged into it.
func (t *tally) see(at int64, example []byte) {
	if t.example != nil && (at > t.first || at == t.first && bytes.Compare(example, t.example) >= 0) {
		return
	}
	if t.example == nil {
		t.last = at
	}
	t.first = at
	t.example = append(t.example[:0], example...)
	if t.example == nil {
		t.example = []byte{}
	}
}

// addService adds a service.
func (t *tally) addService(name string) {
	if len(t.services) == 1 && t.services[0] == name {
		return
	}
	i, found := slices.BinarySearch(t.services, name)
	if found || i > MaxServices {
		return
	}
	t.services = slices.Insert(t.services, i, strings.Clone(name))
	t.services = t.services[:min(len(t.services), MaxServices+1)]
}

// merge adds another tally.
func (t *tally) merge(o *tally) {
	if o.count() == 0 { // of a shape that is just being added
		return
	}
	t.see(o.first, o.example)
	t.last = max(t.last, o.last)
	for side, n := range o.counts {
		t.counts[side] += n
	}
	t.levels.Add(o.levels)
	for _, service := range o.services {
		t.addService(service)
	}
}

// count is the number of records of both sides.
func (t *tally) count() uint64 { return t.counts[0] + t.counts[1] }
