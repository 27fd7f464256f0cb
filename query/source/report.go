package source

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"logstow/segment"
	"logstow/store"
)

// Retryable reports whether a segment, or a part of it, could not be read, but may be
// readable later.
func (r *Report) Retryable(s *Segment) bool {
	return slices.ContainsFunc(r.Problems, func(p *Problem) bool {
		return p.segment != nil && (p.segment.Blob() == s || slices.Contains(p.segment.Blob().Replaces, s)) && store.Retryable(p)
	})
}

// Problem is something that could not be read, so that the answer may be incomplete.
type Problem struct {
	// Store and Object name it: a blob, or a prefix that could not be listed.
	Store, Object string
	Err           error

	segment *Segment // nil where it is not one
}

// Error reads "<object>: <cause>".
func (p *Problem) Error() string { return p.Object + ": " + p.Err.Error() }

// Unwrap is the cause.
func (p *Problem) Unwrap() error { return p.Err }

// Advice is the hint for a segment that is damaged or truncated; "" for other problems.
func (p *Problem) Advice() string {
	var corrupt *segment.CorruptError
	if p.segment != nil && (errors.As(p.Err, &corrupt) || errors.Is(p.Err, segment.ErrNoFooter) ||
		errors.Is(p.Err, store.ErrRange) || errors.Is(p.Err, io.ErrUnexpectedEOF)) {
		return "the segment is damaged or truncated; shipper verify --full lists all damaged segments"
	}
	return ""
}

// Report counts what a query did. Its JSON form is printed by --explain with -o json.
type Report struct {
	// Plan is how segments were found.
	Plan string `json:"plan"`
	// Prefixes is the number of name prefixes listed, or of services queried in the index.
	Prefixes int64 `json:"prefixes"`
	// SegmentsListed were found under them, SegmentsPruned left out by their
	// metadata, SegmentsRepeated left out as copies or as contained in others,
	// SegmentsFiltered left out by their token filter, SegmentsRead opened.
	SegmentsListed   int64 `json:"segments_listed"`
	SegmentsPruned   int64 `json:"segments_pruned"`
	SegmentsRepeated int64 `json:"segments_repeated"`
	SegmentsFiltered int64 `json:"segments_filtered"`
	SegmentsRead     int64 `json:"segments_read"`
	// BlocksTotal are in the segments opened, BlocksFiltered were left out by the token
	// filter, BlocksExcluded by columns; BlocksColumns were answered by columns alone, BlocksRead were fetched and
	// their text searched.
	BlocksTotal    int64 `json:"blocks_total"`
	BlocksFiltered int64 `json:"blocks_filtered"`
	BlocksExcluded int64 `json:"blocks_excluded"`
	BlocksColumns  int64 `json:"blocks_columns"`
	BlocksRead     int64 `json:"blocks_read"`
	// BytesStoredRead came from storage; BytesScanned is the text searched.
	BytesStoredRead int64 `json:"bytes_stored_read"`
	BytesScanned    int64 `json:"bytes_scanned"`
	// BytesDecoded and LinesDecoded are the text of other programs that was read,
	// decompressed; BytesScanned has only the records of it that match.
	BytesDecoded int64 `json:"bytes_decoded"`
	LinesDecoded int64 `json:"lines_decoded"`
	// BytesCached came from the cache.
	BytesCached int64 `json:"bytes_cached"`
	// BytesRetrieved is the part of BytesStoredRead that came from cooler tiers, which bill it.
	BytesRetrieved int64 `json:"bytes_retrieved"`
	// BytesSpilled went through the temporary file.
	BytesSpilled int64 `json:"bytes_spilled"`
	// Requests by kind, and their cost by the prices of the options; stores
	// that are directories cost nothing.
	Requests Requests `json:"requests"`
	CostUSD  float64  `json:"cost_usd"`
	// Problems are what could not be read, Notes other remarks for the user; both are sorted.
	Problems []*Problem `json:"-"`
	Notes    []string   `json:"-"`
}

// Requests are numbers of requests to storage.
type Requests struct {
	List  int64 `json:"list"`
	Get   int64 `json:"get"`
	Table int64 `json:"table"`
}

// String is the report for people, in some lines.
func (r Report) String() string {
	var retrieved string
	if r.BytesRetrieved > 0 {
		retrieved = fmt.Sprintf(" (%d bytes of it from the cool or cold tier)", r.BytesRetrieved)
	}
	var decoded string
	if r.BytesDecoded > 0 {
		decoded = fmt.Sprintf("text of other programs: %d bytes decoded, %d lines\n", r.BytesDecoded, r.LinesDecoded)
	}
	return fmt.Sprintf(`plan: %s, %d prefixes
segments: %d listed, %d pruned by metadata, %d repeats, %d skipped by the token filter, %d read
blocks: %d of %d read, %d answered by columns, %d skipped by columns, %d by the token filter
bytes: %d stored read, %d from the cache, %d scanned, %d through a temporary file
%srequests: %d list, %d get, %d table
cost: %s%s
`, r.Plan, r.Prefixes, r.SegmentsListed, r.SegmentsPruned, r.SegmentsRepeated, r.SegmentsFiltered, r.SegmentsRead,
		r.BlocksRead, r.BlocksTotal, r.BlocksColumns, r.BlocksExcluded, r.BlocksFiltered,
		r.BytesStoredRead, r.BytesCached, r.BytesScanned, r.BytesSpilled, decoded, r.Requests.List, r.Requests.Get, r.Requests.Table, Dollars(r.CostUSD), retrieved)
}

// Dollars formats an estimated cost for people.
func Dollars(amount float64) string {
	if amount == 0 {
		return "nothing"
	}
	return fmt.Sprintf("about $%.6f", amount)
}

// Progress is how far a query has come.
type Progress struct {
	// Listed blobs were found under the prefixes listed so far.
	Listed int64
	// Segments were opened.
	Segments int64
	// Bytes is the stored size of the parts of a plan's segments that were read or skipped.
	// A query for context lines reads the segments near matches a second time.
	Bytes int64
	// Decoded and Lines are the bytes and lines of other programs' text that were read,
	// decompressed.
	Decoded, Lines int64
}
