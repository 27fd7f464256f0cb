package query

import (
	"slices"
	"sync"
	"sync/atomic"

	"logstow/record"
	"logstow/segment"
)

// findings are what a query learns, from what it reads anyway, about why it may find
// nothing. Safe for concurrent use. See [Query.Explain].
type findings struct {
	rejected [stages]atomic.Uint64
	sample   sample

	mu sync.Mutex
	// listed are the services of which a blob was listed.
	listed map[string]bool
	// segments meet the range, with records of these levels; foreign do, with levels unknown.
	segments, foreign uint64
	levels            record.Counts
	// sources are those of the segments that were opened; many says that there are more.
	sources map[string]bool
	many    bool
}

// maxSources is the number of sources that findings keep.
const maxSources = 4 * segment.MaxSources

// addRejections adds what a scanner rejected.
func (f *findings) addRejections(rejected rejections) {
	for i, n := range rejected {
		if n > 0 {
			f.rejected[i].Add(n)
		}
	}
}

// addSample adds records to the sample, while it is small: whole records from the beginning of a text.
func (f *findings) addSample(text []byte) { f.sample.add(text) }

// listed is what a listing for a service brought.
type listed struct {
	// some says that a blob was listed.
	some bool
	// segments is the number of segments whose times meet the range, with records of these
	// levels; foreign that of blobs of other programs.
	segments, foreign uint64
	levels            record.Counts
}

// addListed adds what a listing for a service brought.
func (f *findings) addListed(service string, l *listed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.listed == nil {
		f.listed = map[string]bool{}
	}
	f.listed[service] = f.listed[service] || l.some
	f.segments += l.segments
	f.foreign += l.foreign
	for level, n := range l.levels {
		f.levels[level] += n
	}
}

// listedAll reports whether for each of some selected services, or globs, one was listed.
func (f *findings) listedAll(selected []string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range selected {
		one := Selection{Services: []string{name}}
		listed := false
		for service, some := range f.listed {
			listed = listed || some && one.matchesService(service)
		}
		if !listed {
			return false
		}
	}
	return true
}

// addSources adds the sources of a segment.
func (f *findings) addSources(sources []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sources == nil {
		f.sources = map[string]bool{}
	}
	if len(f.sources) > maxSources || slices.Equal(sources, []string{segment.ManySources}) {
		f.many = true
		return
	}
	for _, s := range sources {
		f.sources[s] = true
	}
}
