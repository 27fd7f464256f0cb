package agent

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"logstow/buffer"
	"logstow/internal/progress"
	"logstow/internal/units"
	"logstow/metrics"
	"logstow/upload"
)

// Summary are the totals of a run.
type Summary struct {
	// Incomplete is set if the run failed, or not everything was stored and indexed.
	Incomplete bool
	// Read is what was read, Uploaded what was stored, and Held what the buffer did with it and has left.
	Read     metrics.InputTotal
	Uploaded upload.Stats
	Held     buffer.Stats
	// Processed is the number of records that processing changed and dropped, by reason.
	Processed map[string]int64
	// Requests is the number of requests to the stores, Quarantined that of files in the quarantine of the buffer.
	Requests    int64
	Quarantined int
	Took        time.Duration
}

// summarize reports the totals of the run.
func (p *pipeline) summarize(err error) {
	if n := p.buffer.InQuarantine(); n > 0 {
		p.log.Error("the quarantine is not empty", "dir", p.BufferDir, "files", n)
	}
	s := Summary{
		Incomplete:  err != nil,
		Read:        p.inputStats.Total(),
		Uploaded:    p.uploader.Stats(),
		Held:        p.buffer.Stats(),
		Processed:   p.processed.Counts(),
		Requests:    p.requests.Counts().Total(),
		Quarantined: p.buffer.InQuarantine(),
		Took:        time.Since(p.began).Round(time.Millisecond),
	}
	if p.summarized != nil {
		p.summarized(s)
		return
	}
	s.log(p.log)
}

// log logs the summary.
func (s *Summary) log(log *slog.Logger) {
	message, write := "done", log.Info
	if s.Incomplete {
		message, write = "incomplete", log.Warn
	}
	var processed []slog.Attr
	for _, reason := range slices.Sorted(maps.Keys(s.Processed)) {
		if n := s.Processed[reason]; n > 0 {
			processed = append(processed, slog.Int64(reason, n))
		}
	}
	write(message,
		"records", s.Uploaded.Records, "input_bytes", s.Read.Bytes, "raw_bytes", s.Uploaded.RawBytes,
		"segments", s.Uploaded.Segments, "stored_bytes", s.Uploaded.StoredBytes,
		"creates", s.Uploaded.Creates, "conflicts", s.Uploaded.Conflicts, "requests", s.Requests,
		"truncated", s.Read.Cut, "split", s.Read.Split, "late", s.Held.Late, "processed", slog.GroupValue(processed...),
		"times_rejected", s.Read.TimesRejected, "times_ahead", s.Read.Ahead, "times_missed", s.Read.TimesNotFound,
		"replayed", s.Held.Replayed, "dropped", s.Held.Dropped, "waiting", s.Held.Waiting+s.Held.Sending, "quarantined", s.Quarantined,
		"seconds", s.Took.Seconds())
}

// String is the summary as a sentence for people.
func (s Summary) String() string {
	var b strings.Builder
	if s.Incomplete {
		b.WriteString("incomplete: ")
	}
	fmt.Fprintf(&b, "shipped %s (%s) in %s (%s stored), in %v; ",
		units.Count(s.Uploaded.Records, "record"), units.FormatSize(s.Read.Bytes), units.Count(s.Uploaded.Segments, "segment"), units.FormatSize(int64(s.Uploaded.StoredBytes)), s.Took)
	if n := s.Held.Waiting + s.Held.Sending + s.Quarantined; n > 0 {
		fmt.Fprintf(&b, "%s left in the buffer; ", units.Count(n, "segment"))
	}
	dropped := s.dropped()
	if len(dropped) == 0 {
		return b.String() + "nothing was dropped"
	}
	return b.String() + "dropped: " + strings.Join(dropped, ", ")
}

// dropped is what was read or received and not stored.
func (s *Summary) dropped() (all []string) {
	add := func(n int64, what, why string) {
		if n > 0 {
			all = append(all, units.Count(n, what)+" "+why)
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(s.Processed)) {
		if !strings.HasPrefix(reason, "redact:") { // these are stored
			add(s.Processed[reason], "record", "by "+reason)
		}
	}
	add(int64(s.Held.DroppedRecords), "record", "because the buffer was full")
	add(int64(s.Held.LostRecords), "record", "by damage of the buffer")
	add(s.Read.Dropped, "message", "because there was no space")
	add(s.Read.LostByKernel, "datagram", "by the kernel")
	add(s.Read.Incomplete, "message", "that came incomplete")
	add(s.Read.Invalid, "datagram", "that could not be decoded")
	if n := s.Read.Cut; n > 0 {
		all = append(all, "what was too long of "+units.Count(n, "line"))
	}
	return all
}

// showProgress shows the progress of a run with Once until end is called.
func (p *pipeline) showProgress() (end func()) {
	if !p.Once || p.progress == nil {
		return func() {}
	}
	return p.progress(func() string { return progressText(p.inputStats.Total(), p.uploader.Stats()) })
}

// progressText is what a run has read and stored so far; with files also the share of them that it has read.
func progressText(read metrics.InputTotal, stored upload.Stats) string {
	text := fmt.Sprintf("%s, %s read, %s stored", units.FormatSize(read.Bytes), units.Count(read.Records, "record"),
		units.Count(stored.Segments, "segment"))
	if read.FileBytes == 0 {
		return text
	}
	return progress.Bar(read.FileBytesRead, read.FileBytes) + "  " + text
}
