package source

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Recorder counts the work of a query. Safe for concurrent use.
type Recorder struct {
	// Counters of the same names as in [Report].
	Prefixes, SegmentsListed, SegmentsPruned, SegmentsRepeated, SegmentsFiltered, SegmentsRead atomic.Int64
	BlocksTotal, BlocksFiltered, BlocksExcluded, BlocksColumns, BlocksRead                     atomic.Int64
	BytesStoredRead, BytesScanned, BytesDecoded, LinesDecoded, BytesCached, BytesSpilled       atomic.Int64

	processed atomic.Int64
	// qualify makes problems name their store, because the query reads several.
	qualify bool

	mu       sync.Mutex
	problems []*Problem
	notes    []string
}

// NewRecorder makes a recorder for a query over a number of stores.
func NewRecorder(stores int) *Recorder { return &Recorder{qualify: stores > 1} }

// Problem adds a problem, unless it was added before.
func (r *Recorder) Problem(p *Problem) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.problems, p) {
		r.problems = append(r.problems, p)
	}
}

// SegmentProblem adds a failure to read a segment, or a part of it.
func (r *Recorder) SegmentProblem(s *Segment, err error) {
	object := s.String()
	if r.qualify {
		object = s.Store + ": " + object
	}
	r.Problem(&Problem{s.Store, object, err, s})
}

// Note adds a note, unless it was added before.
func (r *Recorder) Note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if note := fmt.Sprintf(format, args...); !slices.Contains(r.notes, note) {
		r.notes = append(r.notes, note)
	}
}

// Processed counts stored bytes of a segment as done, for [Progress]. It ignores foreign segments, whose bytes
// [Recorder.ProcessedBytes] counts as they are read.
func (r *Recorder) Processed(s *Segment, n int64) {
	if !s.Foreign {
		r.processed.Add(n)
	}
}

// ProcessedBytes counts stored bytes as done, for [Progress].
func (r *Recorder) ProcessedBytes(n int64) { r.processed.Add(n) }

// Progress returns the progress of the query.
func (r *Recorder) Progress() Progress {
	return Progress{
		Listed: r.SegmentsListed.Load(), Segments: r.SegmentsRead.Load(), Bytes: r.processed.Load(),
		Decoded: r.BytesDecoded.Load(), Lines: r.LinesDecoded.Load(),
	}
}

// Report returns the report so far, without Plan, Requests, CostUSD and BytesRetrieved.
func (r *Recorder) Report() Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := Report{
		Prefixes:         r.Prefixes.Load(),
		SegmentsListed:   r.SegmentsListed.Load(),
		SegmentsPruned:   r.SegmentsPruned.Load(),
		SegmentsRepeated: r.SegmentsRepeated.Load(),
		SegmentsFiltered: r.SegmentsFiltered.Load(),
		SegmentsRead:     r.SegmentsRead.Load(),
		BlocksTotal:      r.BlocksTotal.Load(),
		BlocksFiltered:   r.BlocksFiltered.Load(),
		BlocksExcluded:   r.BlocksExcluded.Load(),
		BlocksColumns:    r.BlocksColumns.Load(),
		BlocksRead:       r.BlocksRead.Load(),
		BytesStoredRead:  r.BytesStoredRead.Load(),
		BytesScanned:     r.BytesScanned.Load(),
		BytesDecoded:     r.BytesDecoded.Load(),
		LinesDecoded:     r.LinesDecoded.Load(),
		BytesCached:      r.BytesCached.Load(),
		BytesSpilled:     r.BytesSpilled.Load(),
		Problems:         slices.Clone(r.problems),
		Notes:            slices.Clone(r.notes),
	}
	slices.SortStableFunc(out.Problems, func(a, b *Problem) int { return strings.Compare(a.Object, b.Object) })
	slices.Sort(out.Notes)
	return out
}
