package query

import (
	"runtime"
	"sync"

	"logstow/segment"
)

// fetcher reads the blocks of segments that may hold matches. Safe for concurrent use,
// but for release.
type fetcher struct {
	matcher *matcher
	rec     *Recorder
	// findings learn from what is read.
	findings *findings
	// indexed says that the segments were planned by the index, which may be stale.
	indexed bool

	decoder *segment.Decoder
	workers chan *worker
	// scratch keeps the blocks made of foreign segments with the compressor.
	scratch    *scratchBlocks
	compressor func() *segment.Compressor
	expired    *expiredDays
}

// newFetcher makes a fetcher; temporary files are created in tempDir, "" is the system's.
func newFetcher(m *matcher, rec *Recorder, found *findings, indexed bool, tempDir string) *fetcher {
	f := &fetcher{
		rec: rec, findings: found, indexed: indexed, decoder: segment.NewDecoder(), scratch: &scratchBlocks{dir: tempDir},
		compressor: sync.OnceValue(segment.NewCompressor), expired: &expiredDays{},
	}
	return f.with(m)
}

// with is the fetcher for another query, which records to the same places.
func (f *fetcher) with(m *matcher) *fetcher {
	other := *f
	other.matcher = m
	other.workers = make(chan *worker, runtime.GOMAXPROCS(0))
	for range cap(other.workers) {
		other.workers <- &worker{scanner: scanner{m: m}}
	}
	return &other
}

// release drops what was kept of foreign segments; to be called when no block is read any more.
func (f *fetcher) release() error { return f.scratch.release() }

// metadataSuffices reports whether a segment's metadata answer how many of its
// records match. Those of the index may be of a segment that is gone.
func (f *fetcher) metadataSuffices(s *Segment) bool {
	return !s.Foreign && !f.indexed && f.matcher.levelsSuffice(s.Meta.Start, s.Meta.End)
}
