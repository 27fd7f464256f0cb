package loki

import (
	"time"

	"logstow/query"
)

// queryStats has the shape of Loki's statistics of a query. Values that do not apply to Logstow are 0.
type queryStats struct {
	Summary  summaryStats  `json:"summary"`
	Querier  querierStats  `json:"querier"`
	Ingester ingesterStats `json:"ingester"`
	Cache    cacheStats    `json:"cache"`
	Index    indexStats    `json:"index"`
}

type summaryStats struct {
	BytesPerSecond     int64   `json:"bytesProcessedPerSecond"`
	LinesPerSecond     int64   `json:"linesProcessedPerSecond"`
	Bytes              int64   `json:"totalBytesProcessed"`
	Lines              int64   `json:"totalLinesProcessed"`
	ExecTime           float64 `json:"execTime"` // seconds
	QueueTime          float64 `json:"queueTime"`
	Subqueries         int64   `json:"subqueries"`
	Entries            int64   `json:"totalEntriesReturned"`
	Splits             int64   `json:"splits"`
	Shards             int64   `json:"shards"`
	PostFilterLines    int64   `json:"totalPostFilterLines"`
	StructuredMetadata int64   `json:"totalStructuredMetadataBytesProcessed"`
}

type querierStats struct {
	Store storeStats `json:"store"`
}

type storeStats struct {
	ChunksRef         int64      `json:"totalChunksRef"`
	ChunksDownloaded  int64      `json:"totalChunksDownloaded"`
	ChunksDownload    int64      `json:"chunksDownloadTime"`
	ReferencedMeta    bool       `json:"queryReferencedStructuredMetadata"`
	Chunk             chunkStats `json:"chunk"`
	ChunkRefsFetch    int64      `json:"chunkRefsFetchTime"`
	CongestionLatency int64      `json:"congestionControlLatency"`
	PipelineFiltered  int64      `json:"pipelineWrapperFilteredLines"`
}

type chunkStats struct {
	HeadBytes         int64 `json:"headChunkBytes"`
	HeadLines         int64 `json:"headChunkLines"`
	DecompressedBytes int64 `json:"decompressedBytes"`
	DecompressedLines int64 `json:"decompressedLines"`
	CompressedBytes   int64 `json:"compressedBytes"`
	Duplicates        int64 `json:"totalDuplicates"`
	PostFilterLines   int64 `json:"postFilterLines"`
	HeadMeta          int64 `json:"headChunkStructuredMetadataBytes"`
	DecompressedMeta  int64 `json:"decompressedStructuredMetadataBytes"`
}

type ingesterStats struct {
	Reached       int64      `json:"totalReached"`
	ChunksMatched int64      `json:"totalChunksMatched"`
	Batches       int64      `json:"totalBatches"`
	LinesSent     int64      `json:"totalLinesSent"`
	Store         storeStats `json:"store"`
}

type cacheStats struct {
	Chunk         cacheUse `json:"chunk"`
	Index         cacheUse `json:"index"`
	Result        cacheUse `json:"result"`
	Stats         cacheUse `json:"statsResult"`
	Volume        cacheUse `json:"volumeResult"`
	Series        cacheUse `json:"seriesResult"`
	Label         cacheUse `json:"labelResult"`
	InstantMetric cacheUse `json:"instantMetricResult"`
}

type cacheUse struct {
	Found     int64 `json:"entriesFound"`
	Requested int64 `json:"entriesRequested"`
	Stored    int64 `json:"entriesStored"`
	Received  int64 `json:"bytesReceived"`
	Sent      int64 `json:"bytesSent"`
	Requests  int64 `json:"requests"`
	Download  int64 `json:"downloadTime"`
	Length    int64 `json:"queryLengthServed"`
}

type indexStats struct {
	Chunks     int64 `json:"totalChunks"`
	PostFilter int64 `json:"postFilterChunks"`
	Shards     int64 `json:"shardsDuration"`
	UsedBloom  bool  `json:"usedBloomFilters"`
}

// stats returns the statistics of the request so far. entries is the number of records or series found.
func (q *request) stats(entries int) *queryStats {
	report := q.view().Report()
	return newStats(&report, q.api.opts.Now().Sub(q.now), entries)
}

// newStats returns the statistics of a report. Segments correspond to Loki's chunks.
func newStats(r *query.Report, took time.Duration, entries int) *queryStats {
	seconds := took.Seconds()
	var s queryStats
	s.Summary = summaryStats{
		Bytes:    r.BytesScanned + r.BytesDecoded,
		Lines:    r.LinesDecoded,
		ExecTime: seconds,
		Entries:  int64(entries),
		Splits:   1,
	}
	if seconds > 0 {
		s.Summary.BytesPerSecond = int64(float64(s.Summary.Bytes) / seconds)
		s.Summary.LinesPerSecond = int64(float64(s.Summary.Lines) / seconds)
	}
	s.Querier.Store.ChunksRef, s.Querier.Store.ChunksDownloaded = r.SegmentsListed, r.SegmentsRead
	s.Querier.Store.Chunk.DecompressedBytes = s.Summary.Bytes
	s.Querier.Store.Chunk.DecompressedLines = s.Summary.Lines
	s.Querier.Store.Chunk.CompressedBytes = r.BytesStoredRead + r.BytesCached
	s.Index.Chunks, s.Index.PostFilter = r.SegmentsListed, r.SegmentsListed-r.SegmentsPruned-r.SegmentsRepeated
	return &s
}
