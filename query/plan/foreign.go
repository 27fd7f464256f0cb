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
	"logstow/catalog"
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

// parseAnalytics sets the name of a blob of Storage Analytics whose number is 000000: those of segments start at 000001.
func parseAnalytics(e *catalog.Entry) bool {
	const first = "/000000" + blobnaming.Suffix
	hour, ok := strings.CutSuffix(e.Blob.Name, first)
	if !ok {
		return false
	}
	name, err := blobnaming.Parse(hour + "/000001" + blobnaming.Suffix)
	name.Number = 0
	e.Name = name
	return err == nil
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
