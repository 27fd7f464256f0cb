// Package fetch reads the blocks of segments that may contain matches, and searches them.
//
// Opening a segment checks its token filter, reads its footer and picks blocks; neighbouring blocks
// are read in one request. What is read goes through the cache of the store, if it has one. When
// one copy of a segment is damaged, another is read in its place.
//
// Text that another program stored under a segment's name is read whole (package
// foreign); the records that match are kept as blocks for the step, in memory or
// a temporary file, and searched, ordered and counted as those of segments.
package fetch

import (
	"runtime"
	"sync"

	"logstow/query/explain"
	"logstow/query/match"
	"logstow/query/source"

	"logstow/columns"
	"logstow/segment"
)

// Fetcher reads the blocks of segments that may contain matches. Safe for concurrent use,
// except for Release.
type Fetcher struct {
	Matcher  *match.Matcher
	Recorder *source.Recorder
	// findings collect what explains an empty result.
	findings *explain.Findings
	// indexed is set if the segments were planned by the index, which may be stale.
	indexed bool

	decoder *segment.Decoder
	workers chan *worker
	// scratch keeps the blocks made of foreign segments with the compressor.
	scratch    *scratchBlocks
	compressor func() *segment.Compressor
	expired    *expiredDays
	// parsersNoted are the unknown parsers of which there is a note.
	parsersNoted *sync.Map
	// noColumns is set if columns are not read.
	noColumns bool
	// fromColumns and columnNames are those of WithColumns.
	fromColumns bool
	columnNames []columns.Name
	// interrupt ends the step with a [MovedError]; nil outside of one.
	interrupt func(error)
}

// expiredDays records, by store, class and day, whether retention deleted the segments.
type expiredDays struct{ days sync.Map }

// worker has the buffers to search one block at a time.
type worker struct {
	text    []byte
	scanner *match.Scanner
	columns *match.ColumnScanner
	decoder columns.Decoder
	// filter is that of Selection.Columns, nil if there is none.
	filter match.BlockMatcher
	spans  []Span // a buffer of Find
}

// maxKept is the maximum size of a buffer that is reused for the next block.
const maxKept = 4 << 20

// NewFetcher makes a fetcher; temporary files are created in tempDir, "" is the system's.
func NewFetcher(m *match.Matcher, rec *source.Recorder, found *explain.Findings, indexed bool, tempDir string) *Fetcher {
	f := &Fetcher{
		Recorder: rec, findings: found, indexed: indexed, decoder: segment.NewStoredDecoder(), scratch: &scratchBlocks{dir: tempDir},
		compressor: sync.OnceValue(segment.NewCompressor), expired: &expiredDays{}, parsersNoted: &sync.Map{},
	}
	return f.With(m)
}

// With is the fetcher for another query, with the same recorder and findings.
func (f *Fetcher) With(m *match.Matcher) *Fetcher {
	other := *f
	other.Matcher = m
	other.workers = make(chan *worker, runtime.GOMAXPROCS(0))
	for range cap(other.workers) {
		w := &worker{scanner: match.NewScanner(m), columns: match.NewColumnScanner(m)}
		if m.Selection.Columns != nil {
			w.filter = m.Selection.Columns.New()
		}
		other.workers <- w
	}
	return &other
}

// Workers is the number of blocks that are searched at the same time.
func (f *Fetcher) Workers() int { return cap(f.workers) }

// fieldsOf is how the fields of a segment's messages are found.
func (f *Fetcher) fieldsOf(s *source.Segment) *match.Fields {
	fields := f.Matcher.FieldsOf(s.Meta.Parse)
	if fields.Err != nil {
		if _, noted := f.parsersNoted.LoadOrStore(s.Meta.Parse, true); !noted {
			f.Recorder.Note("%s: %v; the fields of its messages are found by auto", s, fields.Err)
		}
	}
	return fields
}

// checksOf are those that the records of a segment's block need.
func (f *Fetcher) checksOf(s *source.Segment, b segment.Block) match.Checks {
	checks := f.Matcher.ChecksFor(&b, s.Name.Service, s.Meta.Instance)
	checks.Fields = f.fieldsOf(s)
	return checks
}

// Interruptible is the fetcher for a step that interrupt ends, with a [*MovedError], if its segments
// have to be replaced.
func (f *Fetcher) Interruptible(interrupt func(cause error)) *Fetcher {
	other := *f
	other.interrupt = interrupt
	return &other
}

// WithoutColumns is the fetcher that reads no columns.
func (f *Fetcher) WithoutColumns() *Fetcher {
	other := *f
	other.noColumns = true
	return &other
}

// Release drops the blocks made of foreign segments. It must not be called while blocks are read.
func (f *Fetcher) Release() error { return f.scratch.release() }

// MetadataSuffices reports whether a segment's metadata determine how many of its
// records match. Those from the index may belong to a deleted segment.
func (f *Fetcher) MetadataSuffices(s *source.Segment) bool {
	return !s.Foreign && !f.indexed && s.Excluded == nil && f.Matcher.LevelsSuffice(s.Meta.Start, s.Meta.End)
}
