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

// Findings collects evidence from the data that a query reads, to explain an empty result. Safe for concurrent use.
type Findings struct {
	rejected [match.Stages]atomic.Uint64
	sample   sample
	// sampled is set if the sample needs no further block: it has records, or a block was chosen for it, or no sample is
	// wanted.
	sampled atomic.Bool

	mu sync.Mutex
	// listed are the services of which a blob was listed.
	listed map[string]bool
	// segments is the number of segments that overlap the range, with records of these levels;
	// foreign that of foreign ones, whose levels are unknown.
	segments, foreign uint64
	levels            record.Counts
	// outputs is set if these include outputs of compaction, so that levels may count records twice.
	outputs bool
	// origins are the instances that wrote the segments of the range, at most maxOrigins.
	origins map[origin]bool
	// sources are the sources of the opened segments; many is set if there are more.
	sources map[string]bool
	many    bool
}

// NewFindings makes findings. Unless sample is set, WantsSample is always false.
func NewFindings(sample bool) *Findings {
	f := &Findings{}
	f.sampled.Store(!sample)
	return f
}

// origin is an instance of a service.
type origin struct{ service, instance string }

// maxOrigins is the maximum number of origins kept.
const maxOrigins = 1000

// maxSources is the number of sources above which no more are added.
const maxSources = 4 * segment.MaxSources

// AddRejections adds the rejections of a scanner.
func (f *Findings) AddRejections(rejected match.Rejections) {
	for i, n := range rejected {
		if n > 0 {
			f.rejected[i].Add(n)
		}
	}
}

// AddSample adds whole records from the beginning of text to the sample, until it is large enough. parser is that of the segment's
// metadata.
func (f *Findings) AddSample(text []byte, parser string) {
	f.sampled.Store(true)
	f.sample.add(text, parser)
}

// WantsSample reports whether a block that columns exclude should be read for the sample. It returns true once, if there is no sample
// yet.
func (f *Findings) WantsSample() bool { return !f.sampled.Load() && !f.sampled.Swap(true) }

// Listed is the evidence in a listing for a service.
type Listed struct {
	// Some is set if a blob was listed.
	Some bool
	// Segments is the number of segments whose times overlap the range, Levels counts their records. Foreign is the number
	// of foreign segments.
	Segments, Foreign uint64
	Levels            record.Counts
	// Outputs is set if some of the Segments are outputs of compaction, which may contain others.
	Outputs bool
	origins map[origin]bool
}

// AddOrigin adds the instance of a service that wrote a segment of the range.
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

// AddListed adds the evidence in a listing for a service.
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
	f.levels.Add(l.Levels)
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

// AddOrigins adds the instances that wrote the inputs of an output of compaction.
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
