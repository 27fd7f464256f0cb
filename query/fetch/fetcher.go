// Package fetch reads the blocks of segments that may contain matches, and searches them.
//
// Opening a segment checks its token filter, reads its footer and picks blocks; neighbouring blocks
// are read in one request. Reads go through the cache of the store, if it has one. If one copy of a segment is damaged,
// another is read instead.
//
// A foreign segment, which another program stored under a segment's name, is read whole (package foreign). Its matching
// records are kept as blocks during the step, in memory or a temporary file, and searched like those of segments.
package fetch

import (
	"context"
	"runtime"
	"sync"

	"logstow/internal/parallel"
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
	// findings collects reasons for an empty result.
	findings *explain.Findings
	// indexed is set if the segments were planned by the index, which may be stale.
	indexed bool

	decoder    *segment.Decoder
	workers    chan *worker
	processors *Processors // nil is without a limit
	// scratch keeps the blocks made of foreign segments, which compressor compresses.
	scratch    *scratchBlocks
	compressor func() *segment.Compressor
	expired    *expiredDays
	// parsersNoted are the unknown parsers that have been noted.
	parsersNoted *sync.Map
	// noColumns disables reading columns.
	noColumns bool
	// fromColumns and columnNames are set by WithColumns.
	fromColumns bool
	columnNames []columns.Name
	// interrupt ends the step with a [MovedError]; nil outside of one.
	interrupt func(error)
}

// expiredDays caches, by store, class and day, whether retention has deleted the segments.
type expiredDays struct{ days sync.Map }

// worker has the buffers to search one block at a time.
type worker struct {
	text    []byte
	scanner *match.Scanner
	columns *match.ColumnScanner
	decoder columns.Decoder
	// filter is made by Selection.Columns; nil if there is none.
	filter match.BlockMatcher
	spans  []Span // scratch of Find
}

// maxKept is the maximum size of a buffer that is reused for the next block.
const maxKept = 4 << 20

// NewFetcher makes a fetcher. indexed is set if the segments were planned by the index, which may be stale; noColumns if it must not
// read columns. Temporary files are created in tempDir; "" is the system's directory. processors limit it together with other
// fetchers; nil is no limit.
func NewFetcher(m *match.Matcher, rec *source.Recorder, found *explain.Findings, indexed, noColumns bool, tempDir string, processors *Processors) *Fetcher {
	f := &Fetcher{
		Recorder:     rec,
		findings:     found,
		indexed:      indexed,
		noColumns:    noColumns,
		processors:   processors,
		decoder:      segment.NewStoredDecoder(),
		scratch:      &scratchBlocks{dir: tempDir},
		compressor:   sync.OnceValue(segment.NewCompressor),
		expired:      &expiredDays{},
		parsersNoted: &sync.Map{},
	}
	return f.With(m)
}

// With returns a fetcher for another query, with the same recorder and findings.
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

// worker waits for a worker, and for its turn on a processor.
func (f *Fetcher) worker(ctx context.Context) (w *worker, release func()) {
	w = <-f.workers
	end := f.processors.acquire(ctx)
	return w, func() {
		end()
		f.workers <- w
	}
}

// InFlight is the budget of the blocks in flight that it shares with other fetchers, nil if there is none.
func (f *Fetcher) InFlight() *parallel.Budget {
	if f.processors == nil {
		return nil
	}
	return f.processors.inFlight
}

// Workers is the number of blocks that are searched at the same time.
func (f *Fetcher) Workers() int { return cap(f.workers) }

// fieldsOf returns the conditions for the parser of a segment's messages. An unknown parser is noted once.
func (f *Fetcher) fieldsOf(s *source.Segment) *match.Fields {
	fields := f.Matcher.FieldsOf(s.Meta.Parse)
	if fields.Err != nil {
		if _, noted := f.parsersNoted.LoadOrStore(s.Meta.Parse, true); !noted {
			f.Recorder.Note("%s: %v; the fields of its messages are found by auto", s, fields.Err)
		}
	}
	return fields
}

// checksOf returns the checks that the records of a segment's block need.
func (f *Fetcher) checksOf(s *source.Segment, b segment.Block) match.Checks {
	checks := f.Matcher.ChecksFor(&b, s.Name.Service, s.Meta.Instance)
	checks.Fields = f.fieldsOf(s)
	return checks
}

// Interruptible returns a fetcher for a step that can restart: if its segments have to be replaced, the fetcher calls
// interrupt with a [*MovedError], and the caller ends the step.
func (f *Fetcher) Interruptible(interrupt func(cause error)) *Fetcher {
	other := *f
	other.interrupt = interrupt
	return &other
}

// Release drops the blocks made of foreign segments. It must not be called while blocks are read.
func (f *Fetcher) Release() error { return f.scratch.release() }

// MetadataSuffices reports whether a segment's metadata determine how many of its records match. They do not if they come
// from the index, because the segment may have been deleted, or if the blob is too short for them: reading it then reports the
// damage.
func (f *Fetcher) MetadataSuffices(s *source.Segment) bool {
	return !s.Foreign && !f.indexed && s.Excluded == nil && s.Meta.Footer < s.Size && f.Matcher.LevelsSuffice(s.Meta.Start, s.Meta.End)
}
