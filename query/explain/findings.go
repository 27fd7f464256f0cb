package explain

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"logstow/query/match"
	"logstow/query/source"

	"logstow/record"
	"logstow/segment"
)

// Findings are collected from what a query reads anyway, and explain why it found
// nothing. Safe for concurrent use.
type Findings struct {
	rejected [match.Stages]atomic.Uint64
	sample   sample
	// sampled is set if the sample has records, or a block was chosen for it, or none is wanted.
	sampled atomic.Bool

	mu sync.Mutex
	// listed are the services of which a blob was listed.
	listed map[string]bool
	// segments is the number of segments that overlap the range, with records of these levels;
	// foreign that of foreign ones, whose levels are unknown.
	segments, foreign uint64
	levels            record.Counts
	// outputs is set if outputs of compaction are among them: then levels may have records twice.
	outputs bool
	// origins are the instances of services that segments of the range were written by, as far as they are known; there are
	// at most maxOrigins.
	origins map[origin]bool
	// sources are those of the segments that were opened; many is set if there are more.
	sources map[string]bool
	many    bool
}

// NewFindings makes findings. Without a sample no text is wanted for it.
func NewFindings(sample bool) *Findings {
	f := &Findings{}
	f.sampled.Store(!sample)
	return f
}

// origin is an instance of a service.
type origin struct{ service, instance string }

// maxOrigins is the number of origins that findings keep.
const maxOrigins = 1000

// maxSources is the number of sources that findings keep.
const maxSources = 4 * segment.MaxSources

// AddRejections adds what a scanner rejected.
func (f *Findings) AddRejections(rejected match.Rejections) {
	for i, n := range rejected {
		if n > 0 {
			f.rejected[i].Add(n)
		}
	}
}

// AddSample adds records to the sample, while it is small: whole records from the beginning of a text of
// a segment whose metadata has a parser.
func (f *Findings) AddSample(text []byte, parser string) {
	f.sampled.Store(true)
	f.sample.add(text, parser)
}

// WantsSample reports whether the text of a block without matches, which columns answer, is to be read for the
// sample: that of the first one.
func (f *Findings) WantsSample() bool { return !f.sampled.Load() && !f.sampled.Swap(true) }

// Listed is what a listing for a service brought.
type Listed struct {
	// Some is set if a blob was listed.
	Some bool
	// Segments is the number of segments whose times overlap the range, with records of these
	// levels; Foreign that of blobs of other programs.
	Segments, Foreign uint64
	Levels            record.Counts
	// Outputs is set if some of the Segments are outputs of compaction, which may contain others.
	Outputs bool
	origins map[origin]bool
}

// AddOrigin adds the instance of a service that a segment of the range was written by.
func (l *Listed) AddOrigin(service, instance string) {
	addOrigin(&l.origins, origin{service, instance})
}

func addOrigin(all *map[origin]bool, o origin) {
	if *all == nil {
		*all = map[origin]bool{}
	}
	if len(*all) < maxOrigins || (*all)[o] {
		(*all)[origin{strings.Clone(o.service), strings.Clone(o.instance)}] = true
	}
}

// AddListed adds what a listing for a service brought.
func (f *Findings) AddListed(service string, l *Listed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.listed == nil {
		f.listed = map[string]bool{}
	}
	f.listed[service] = f.listed[service] || l.Some
	f.segments += l.Segments
	f.foreign += l.Foreign
	f.outputs = f.outputs || l.Outputs
	for o := range l.origins {
		addOrigin(&f.origins, o)
	}
	for level, n := range l.Levels {
		f.levels[level] += n
	}
}

// HaveOutputs reports whether outputs of compaction were listed in the range.
func (f *Findings) HaveOutputs() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.outputs
}

// ListedAll reports whether a blob of each selected service, or glob, was listed.
func (f *Findings) ListedAll(selected []string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range selected {
		one := match.Selection{Services: []string{name}}
		listed := false
		for service, some := range f.listed {
			listed = listed || some && one.MatchesService(service)
		}
		if !listed {
			return false
		}
	}
	return true
}

// AddOrigins adds what the inputs of an output of compaction were written by.
func (f *Findings) AddOrigins(inputs []source.Segment) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range inputs {
		addOrigin(&f.origins, origin{inputs[i].Name.Service, inputs[i].Meta.Instance})
	}
}

// AddSources adds the sources of a segment.
func (f *Findings) AddSources(sources []string) {
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
