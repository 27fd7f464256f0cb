package query

import (
	"bytes"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"logstow/record"
	"logstow/segment"
)

// A stage is a condition that rejects candidates: records that the search for the
// anchor came to. The order is that in which they are checked, but that stageInside
// and stagePattern are one check.
type stage uint8

const (
	stageTime stage = iota
	stageLevel
	stageSource
	stagePattern
	// stageInside rejects records that contain a pattern only inside of a longer identifier.
	stageInside
	stageRegexp
	stageExclude
	stageWhere
	stages
)

// rejections are numbers of candidates by the stage that rejected them.
type rejections [stages]uint64

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

// count adds what a scanner rejected, and clears it there.
func (f *findings) count(s *scanner) {
	for i, n := range s.rejected {
		if n > 0 {
			f.rejected[i].Add(n)
		}
	}
	s.rejected = rejections{}
}

// list adds what a listing for a service brought.
func (f *findings) list(service string, h *listResult) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.listed == nil {
		f.listed = map[string]bool{}
	}
	f.listed[service] = f.listed[service] || h.listed > 0
	f.segments += h.inRange
	f.foreign += h.foreign
	for l, n := range h.levels {
		f.levels[l] += n
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

// open adds the sources of a segment.
func (f *findings) open(sources []string) {
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

const (
	// sampleBytes is the size of the sample, and samplePart what one block adds to it.
	sampleBytes = 256 << 10
	samplePart  = 32 << 10
)

// A sample is the beginning of the first blocks that were read, as stored.
type sample struct {
	full atomic.Bool

	mu   sync.Mutex
	text []byte
	// part says that records were read that are not in it.
	part bool
}

// add adds whole records from the beginning of text.
func (s *sample) add(text []byte) {
	if s.full.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(len(text), samplePart, sampleBytes-len(s.text))
	if n < len(text) {
		s.part = true
		n = wholeRecords(text, n)
	}
	s.text = append(s.text, text[:n]...)
	if len(s.text) > sampleBytes-samplePart {
		s.part = true // as far as is known
		s.full.Store(true)
	}
}

// wholeRecords is the length of the records that are whole in the first n bytes of text.
func wholeRecords(text []byte, n int) int {
	for n > 0 {
		n = bytes.LastIndexByte(text[:n], '\n') + 1
		if n == 0 || n == len(text) || text[n] != '\t' {
			return n
		}
		n--
	}
	return 0
}

// records yields the records of the sample; a message is valid until the next.
func (s *sample) records() iter.Seq2[fields, []byte] {
	return func(yield func(fields, []byte) bool) {
		var message []byte
		for pos := 0; pos < len(s.text); {
			end, _ := recordEnd(s.text, pos)
			f, ok := split(s.text[pos:end])
			pos = end + 1
			if !ok {
				continue
			}
			message = record.AppendMessage(message[:0], f.message)
			if !yield(f, message) {
				return
			}
		}
	}
}
