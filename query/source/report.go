package source

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"logstow/internal/units"
	"logstow/segment"
	"logstow/store"
)

// Retryable reports whether a segment, or a part of it, could not be read and a retry may help.
func (r *Report) Retryable(s *Segment) bool {
	return slices.ContainsFunc(r.Problems, func(p *Problem) bool {
		return p.segment != nil && (p.segment.Blob() == s || slices.Contains(p.segment.Blob().Replaces, s)) && store.Retryable(p)
	})
}

// Failed reports whether a segment, or a part of it, could not be read.
func (r *Report) Failed(s *Segment) bool {
	return slices.ContainsFunc(r.Problems, func(p *Problem) bool { return p.segment != nil && p.segment.Blob() == s })
}

// Problem is a failure to read something, so that the result may be incomplete.
type Problem struct {
	// Store and Object name a blob, or a prefix that could not be listed.
	Store, Object string
	Err           error

	segment *Segment // nil if the object is not a segment
}

// Error reads "<object>: <cause>".
func (p *Problem) Error() string { return p.Object + ": " + p.Err.Error() }

// Unwrap returns the cause.
func (p *Problem) Unwrap() error { return p.Err }

// Advice returns the hint for a damaged or truncated segment; "" for other problems.
func (p *Problem) Advice() string {
	var corrupt *segment.CorruptError
	if p.segment != nil && (errors.As(p.Err, &corrupt) || errors.Is(p.Err, segment.ErrNoFooter) ||
		errors.Is(p.Err, store.ErrRange) || errors.Is(p.Err, io.ErrUnexpectedEOF)) {
		return "the segment is damaged or truncated; shipper verify --full lists all damaged segments"
	}
	return ""
}

// Report counts the work of a query. Its JSON form is printed by --explain with -o json.
type Report struct {
	// Plan is the way in which segments were found: "list" or "index".
	Plan string `json:"plan"`
	// Prefixes is the number of services listed, or queried in the index, each once per store.
	Prefixes int64 `json:"prefixes"`
	// SegmentsListed is the number of segments found there: SegmentsPruned were excluded by their metadata,
	// SegmentsRepeated as copies or as contained in others, SegmentsFiltered by their token filter; SegmentsRead were opened.
	SegmentsListed   int64 `json:"segments_listed"`
	SegmentsPruned   int64 `json:"segments_pruned"`
	SegmentsRepeated int64 `json:"segments_repeated"`
	SegmentsFiltered int64 `json:"segments_filtered"`
	SegmentsRead     int64 `json:"segments_read"`
	// BlocksTotal is the number of blocks in opened segments: BlocksFiltered were excluded by the token filter,
	// BlocksExcluded by columns, BlocksColumns were answered by columns alone; of BlocksRead the text was searched.
	BlocksTotal    int64 `json:"blocks_total"`
	BlocksFiltered int64 `json:"blocks_filtered"`
	BlocksExcluded int64 `json:"blocks_excluded"`
	BlocksColumns  int64 `json:"blocks_columns"`
	BlocksRead     int64 `json:"blocks_read"`
	// BytesStoredRead is the number of bytes read from storage, BytesScanned that of the text searched.
	BytesStoredRead int64 `json:"bytes_stored_read"`
	BytesScanned    int64 `json:"bytes_scanned"`
	// BytesDecoded and LinesDecoded are the decompressed size and the lines of foreign segments. BytesScanned has only
	// their matching records.
	BytesDecoded int64 `json:"bytes_decoded"`
	LinesDecoded int64 `json:"lines_decoded"`
	// BytesCached is the number of bytes read from the cache.
	BytesCached int64 `json:"bytes_cached"`
	// BytesRetrieved is the part of BytesStoredRead from the cool and cold tiers, which bill retrieval.
	BytesRetrieved int64 `json:"bytes_retrieved"`
	// BytesSpilled is the number of bytes written to the temporary file.
	BytesSpilled int64 `json:"bytes_spilled"`
	// Requests are the requests by kind, CostUSD is their cost by the prices of the options. Requests to directories are
	// free.
	Requests Requests `json:"requests"`
	CostUSD  float64  `json:"cost_usd"`
	// Problems are failures to read, Notes other remarks for the user; both are sorted.
	Problems []*Problem `json:"-"`
	Notes    []string   `json:"-"`
}

// Requests counts requests to storage.
type Requests struct {
	List  int64 `json:"list"`
	Get   int64 `json:"get"`
	Table int64 `json:"table"`
}

// Add adds what another query read and cost.
func (r *Report) Add(o Report) {
	r.BytesStoredRead += o.BytesStoredRead
	r.BytesScanned += o.BytesScanned
	r.CostUSD += o.CostUSD
}

// String formats the report for people, in several lines.
func (r Report) String() string {
	var retrieved string
	if r.BytesRetrieved > 0 {
		retrieved = fmt.Sprintf(" (%s of it from the cool or cold tier)", units.Count(r.BytesRetrieved, "byte"))
	}
	var decoded string
	if r.BytesDecoded > 0 {
		decoded = fmt.Sprintf("text of other programs: %s decoded, %s\n", units.Count(r.BytesDecoded, "byte"),
			units.Count(r.LinesDecoded, "line"))
	}
	return fmt.Sprintf(`plan: %s, %s
segments: %d listed, %d pruned by metadata, %d repeats, %d skipped by the token filter, %d read
blocks: %d of %d read, %d answered by columns, %d skipped by columns, %d by the token filter
bytes: %d stored read, %d from the cache, %d scanned, %d through a temporary file
%srequests: %d list, %d get, %d table
cost: %s%s
`, r.Plan, units.Count(r.Prefixes, "prefix"), r.SegmentsListed, r.SegmentsPruned, r.SegmentsRepeated, r.SegmentsFiltered, r.SegmentsRead,
		r.BlocksRead, r.BlocksTotal, r.BlocksColumns, r.BlocksExcluded, r.BlocksFiltered,
		r.BytesStoredRead, r.BytesCached, r.BytesScanned, r.BytesSpilled, decoded, r.Requests.List, r.Requests.Get, r.Requests.Table, units.Dollars(r.CostUSD), retrieved)
}

// Progress is the progress of a query.
type Progress struct {
	// Listed is the number of blobs listed so far.
	Listed int64
	// Segments is the number of segments opened.
	Segments int64
	// Bytes is the stored size of the parts of a plan's segments that were read or skipped. A query with context lines
	// reads segments near matches twice.
	Bytes int64
	// Decoded and Lines are the decompressed size and the lines read of foreign segments.
	Decoded, Lines int64
}
