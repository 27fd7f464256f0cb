package plan

import (
	"crypto/sha256"
	"fmt"
	"path"
	"strings"
	"time"

	"logstow/query/match"
	"logstow/query/source"

	"logstow/blobnaming"
	"logstow/store"
)

const (
	// analyticsContainer is the container of the logs of Azure Storage Analytics, whose blob names look like those of
	// segments.
	analyticsContainer = "$logs"
	// analyticsSlack is the maximum distance of a record of Storage Analytics from the times in its blob's metadata. These
	// are whole seconds, and late records are in the blob of a later hour.
	analyticsSlack = time.Hour
)

// slackOf returns the maximum distance of a record from the hour in its blob's name.
func slackOf(s *source.Store) time.Duration {
	if s.Container == analyticsContainer || path.Base(s.Name) == analyticsContainer { // a copy in a directory
		return analyticsSlack
	}
	return 0
}

// listingRange returns the range of hours to list in a store.
func (p *Planner) listingRange(s *source.Store) (from, to time.Time) {
	from, to = p.Matcher.Selection.From, p.Matcher.Selection.To
	if slack := slackOf(s); slack > 0 && from.Year() > 1 && to.Year() < 9999 {
		return from.Add(-slack), to.Add(slack)
	}
	return from, to
}

// parseName parses the name of a segment or of a blob of Storage Analytics, whose numbers start at 000000 instead of 000001.
func parseName(s string) (blobnaming.Name, error) {
	const first = "/000000" + blobnaming.Suffix
	hour, ok := strings.CutSuffix(s, first)
	if !ok {
		return blobnaming.Parse(s)
	}
	name, err := blobnaming.Parse(hour + "/000001" + blobnaming.Suffix)
	name.Number = 0
	return name, err
}

// isForeign reports whether a blob's metadata were not written by any version of Logstow.
func isForeign(metadata map[string]string) bool {
	for key, value := range metadata {
		if strings.EqualFold(key, "LogVersion") && strings.HasPrefix(value, "logstow/") {
			return false
		}
	}
	return true
}

// foreignMetadata makes metadata for a blob that another program wrote: bounds of its records' times, and an identity.
func foreignMetadata(s *source.Store, name blobnaming.Name, b *store.Blob) blobnaming.Metadata {
	hour := name.Bucket.Truncate(time.Hour)
	slack := slackOf(s)
	first, last := hour, hour.Add(time.Hour-1)
	if start, end, ok := analyticsTimes(b.Metadata); ok {
		first, last, slack = start, end, analyticsSlack
	}
	meta := blobnaming.Metadata{Start: match.Nanos(first.Add(-slack)), End: match.Nanos(last.Add(slack)), Instance: "-"}
	id := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s\n%d", s.Name, b.Name, b.ETag, b.Size))
	copy(meta.Batch[:], id[:])
	return meta
}

// analyticsTimes returns the times in the metadata of a blob of Storage Analytics.
func analyticsTimes(metadata map[string]string) (start, end time.Time, ok bool) {
	var startErr, endErr error
	logs := false
	for key, value := range metadata {
		switch strings.ToLower(key) {
		case "logtype":
			logs = true
		case "starttime":
			start, startErr = time.Parse(time.RFC3339, value)
		case "endtime":
			end, endErr = time.Parse(time.RFC3339, value)
		}
	}
	ok = logs && startErr == nil && endErr == nil && !start.IsZero() && !end.Before(start)
	return start.UTC(), end.UTC(), ok
}

// foreign adds a blob that another program wrote, unless it is empty or out of the range.
func (p *Planner) foreign(h *listResult, s *source.Store, name blobnaming.Name, b *store.Blob) {
	meta := foreignMetadata(s, name, b)
	if !p.Matcher.InRange(meta.Start, meta.End) || b.Size == 0 {
		h.pruned++
		return
	}
	h.findings.Foreign++
	h.segments = append(h.segments, &source.Segment{Store: s.Name, Name: name, Meta: meta, Size: b.Size, Foreign: true, Tier: b.Tier, Blobs: source.InTier(s.Blobs, b.Tier), Cache: s.Cache})
}
