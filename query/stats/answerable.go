package stats

import (
	"time"

	"logstow/query/match"
	"logstow/query/source"

	"logstow/record"
)

// answerable decides which counts metadata and footers have.
type answerable struct {
	*Computation
	matcher *match.Matcher
}

// samePeriod reports whether two times are in the same time step.
func (a *answerable) samePeriod(from, to int64) bool {
	start := func(at int64) int64 { return a.plan.Step.Start(a.plan.StepTime(at), a.plan.Zone) }
	return a.plan.Step.IsZero() || start(from) == start(to)
}

// answers reports whether a segment's metadata and footer may suffice. They do not for an output of compaction with excluded inputs, or
// if instances are needed and the segment is mixed.
func (a *answerable) answers(seg *source.Segment) bool {
	return seg.Excluded == nil && (!seg.Meta.Mixed() || !a.needsOrigin())
}

// minuteInRange reports whether a minute of a footer is in the range: its start, if a time is exactly that, otherwise the rest.
func (a *answerable) minuteInRange(at int64) bool {
	first, last := at, at
	if start := record.MinuteOf(at) * int64(time.Second); at != start {
		first, last = start+1, start+int64(time.Minute)-1
	}
	return first >= a.matcher.From && last < a.matcher.To
}

// countedMinute reports whether a record at a time was counted with its minute, in a segment that answers accepts.
func (a *answerable) countedMinute(at int64) bool {
	return !a.plan.Step.IsZero() && a.minuteInRange(at)
}
