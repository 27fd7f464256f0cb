// Package retention deletes logs past their retention.
//
// [Policy] is pure: it decides for a class and a day whether logs have expired, and why. The day is
// the UTC day of the bucket, which is the day of the records' own timestamps, never that of the
// upload. [Run] applies the policy: it deletes blobs in batches, verifies by listing again, and
// drops the day's index table in one request. It deletes nothing of a class that the policy does not
// name. It reads no blob, except, with a limit of the size, the lists of inputs of compaction's outputs.
package retention

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"logstow/blobnaming"
	"logstow/store"
)

// The limits of a policy.
const (
	// MinKeep is the shortest retention allowed without force.
	MinKeep = day
	// MaxKeep is the longest retention allowed, other than Forever.
	MaxKeep = 100 * 366 * day
	// Forever keeps a class as long as the size limit allows.
	Forever = time.Duration(math.MaxInt64)

	// The minimum time for which Azure charges a tier, even if the blob leaves it earlier:
	// https://learn.microsoft.com/azure/storage/blobs/access-tiers-overview
	coolCharged = 30 * day
	coldCharged = 90 * day

	day = 24 * time.Hour
)

// ErrPolicy is returned for a policy that is rejected before anything is read.
var ErrPolicy = errors.New("invalid retention policy")

// Policy determines how long logs are kept.
type Policy struct {
	// Keep is how long the logs of a class are kept, counted from the end of their day; "" is the
	// default class. Logs of classes that are not named are kept.
	Keep map[string]time.Duration
	// CoolAfter and ColdAfter are how long after the end of their day the logs of all classes are
	// moved to the cool and to the cold tier; 0 is never.
	CoolAfter, ColdAfter time.Duration
	// MaxBytes bounds the stored size of all blobs: the oldest days of the named classes are
	// deleted first, never today. 0 is unbounded.
	MaxBytes int64
}

// Check reports, as [ErrPolicy], every reason to reject a policy. With force, less than [MinKeep]
// is allowed.
func (p Policy) Check(force bool) error {
	var wrong []error
	reject := func(format string, args ...any) {
		wrong = append(wrong, fmt.Errorf("%w: "+format, append([]any{ErrPolicy}, args...)...))
	}
	if len(p.Keep) == 0 && p.CoolAfter == 0 && p.ColdAfter == 0 {
		reject("neither a class nor a retention is given: nothing would be deleted")
	}
	if p.MaxBytes < 0 {
		reject("a maximum size of %d bytes: want more than 0", p.MaxBytes)
	}
	for _, after := range []time.Duration{p.CoolAfter, p.ColdAfter} {
		if after != 0 && (after < MinKeep || after > MaxKeep) {
			reject("moving to a cooler tier after %v: want 1 day to 100 years", after)
		}
	}
	if p.ColdAfter != 0 && p.CoolAfter >= p.ColdAfter {
		reject("cold after %s is not later than cool after %s", span(p.ColdAfter), span(p.CoolAfter))
	}
	for _, class := range slices.Sorted(maps.Keys(p.Keep)) {
		keep := p.Keep[class]
		switch {
		case !blobnaming.ValidClass(class):
			reject("%q is not a class: at most %d of a-z and 0-9", class, blobnaming.MaxClass)
		case keep <= 0:
			reject("%s would be kept for %v: want more than 0", className(class), keep)
		case keep < MinKeep && !force:
			reject("%s would be kept for %s, less than a day: --force allows this", className(class), span(keep))
		case keep > MaxKeep && keep != Forever:
			reject("%s would be kept for %s, more than 100 years", className(class), span(keep))
		}
	}
	return errors.Join(wrong...)
}

// Early describes, in one sentence each, which logs leave a cooler tier before the minimum time that the
// tier charges.
func (p Policy) Early() (all []string) {
	add := func(what, tier string, stays, charged time.Duration) {
		if stays > 0 && stays < charged {
			all = append(all,
				fmt.Sprintf("%s %s after it was moved to the %s tier, which always charges at least %s", what, span(stays),
					tier, span(charged)))
		}
	}
	if p.CoolAfter > 0 && p.ColdAfter > 0 {
		add("what is kept moves to the cold tier", "cool", p.ColdAfter-p.CoolAfter, coolCharged)
	}
	for _, class := range slices.Sorted(maps.Keys(p.Keep)) {
		switch keep, what := p.Keep[class], className(class)+" is deleted"; {
		case p.ColdAfter > 0 && p.ColdAfter < keep:
			add(what, "cold", keep-p.ColdAfter, coldCharged)
		case p.CoolAfter > 0:
			add(what, "cool", keep-p.CoolAfter, coolCharged)
		}
	}
	return all
}

// Verdict is the decision for a class's logs of one day.
type Verdict uint8

// The verdicts.
const (
	// Unnamed means that the policy does not name the class.
	Unnamed Verdict = iota
	// Young means that the retention of the class has not passed.
	Young
	// Expired means that the retention has passed.
	Expired
	// Oversize means that the retention has not passed, but the store exceeds its size limit.
	Oversize
)

// Deletes reports whether the logs are to be deleted.
func (v Verdict) Deletes() bool { return v >= Expired }

// Cutoffs are a policy at a point in time. They are immutable.
type Cutoffs struct {
	policy Policy
	now    time.Time
	// first is the first day that each class keeps.
	first map[string]time.Time
	// cool and cold are the first days that are not moved to these tiers; zero if no day is.
	cool, cold time.Time
	// size is the first day that the size limit keeps; zero if there is no limit.
	size time.Time
}

// Cutoffs returns the policy at a point in time.
func (p Policy) Cutoffs(now time.Time) Cutoffs {
	c := Cutoffs{policy: p, now: now.UTC(), first: make(map[string]time.Time, len(p.Keep))}
	for class, keep := range p.Keep {
		// Truncate works on the time since year 1, whose days are UTC's.
		c.first[class] = c.now.Add(-keep).Truncate(day)
	}
	if p.CoolAfter > 0 {
		c.cool = c.now.Add(-p.CoolAfter).Truncate(day)
	}
	if p.ColdAfter > 0 {
		c.cold = c.now.Add(-p.ColdAfter).Truncate(day)
	}
	return c
}

// Tier returns the tier for logs of the UTC day of t; now is their current tier. The result is never a
// warmer tier.
func (c Cutoffs) Tier(t time.Time, now store.Tier) store.Tier {
	switch d := t.UTC().Truncate(day); {
	case now != store.Hot && now != store.Cool:
		return now
	case d.Before(c.cold):
		return store.Cold
	case d.Before(c.cool):
		return store.Cool
	}
	return now
}

// Judge returns the decision for a class's logs of the UTC day of t.
func (c Cutoffs) Judge(class string, t time.Time) Verdict {
	first, named := c.first[class]
	switch d := t.UTC().Truncate(day); {
	case !named:
		return Unnamed
	case d.Before(first):
		return Expired
	case d.Before(c.size):
		return Oversize
	}
	return Young
}

// Why is the reason of Judge's verdict, for messages.
func (c Cutoffs) Why(class string, t time.Time) string {
	d := t.UTC().Truncate(day)
	last := "forever"
	if keep := c.policy.Keep[class]; keep != Forever {
		last = span(keep) + ", until " + d.Add(day).Add(keep).Format("2006-01-02 15:04")
	}
	switch c.Judge(class, t) {
	case Expired:
		return fmt.Sprintf("%s was kept %s", className(class), last)
	case Oversize:
		return fmt.Sprintf("the store is larger than %d bytes and this is one of its oldest days", c.policy.MaxBytes)
	case Young:
		return fmt.Sprintf("%s is kept %s", className(class), last)
	default:
		return fmt.Sprintf("%s is not in the policy", className(class))
	}
}

// End returns the first day from which on nothing is deleted in any class: a walk over days in order may
// stop there.
func (c Cutoffs) End() time.Time {
	end := c.size
	for _, first := range c.first {
		if first.After(end) {
			end = first
		}
	}
	return end
}

// end returns the first day from which on nothing is deleted or moved.
func (c Cutoffs) end() time.Time {
	return slices.MaxFunc([]time.Time{c.End(), c.cool, c.cold}, time.Time.Compare)
}

// Usage is the number and size of a class's blobs of one day.
type Usage struct {
	Class string
	// Day is the day's start, UTC.
	Day          time.Time
	Blobs, Bytes int64
}

// Fit moves the cutoffs so that the blobs that are kept have at most the policy's MaxBytes. left is their
// size; it exceeds MaxBytes if the blobs of today and of classes that are not named exceed it.
func (c Cutoffs) Fit(usage []Usage) (fitted Cutoffs, left int64) {
	today := c.now.Truncate(day)
	var deletable []Usage
	for _, u := range usage {
		verdict := c.Judge(u.Class, u.Day)
		if verdict.Deletes() {
			continue
		}
		left += u.Bytes
		if verdict != Unnamed && u.Day.Before(today) {
			deletable = append(deletable, u)
		}
	}
	if c.policy.MaxBytes == 0 {
		return c, left
	}
	slices.SortFunc(deletable, func(a, b Usage) int { return a.Day.Compare(b.Day) })
	for len(deletable) > 0 && left > c.policy.MaxBytes {
		d := deletable[0].Day
		for len(deletable) > 0 && deletable[0].Day.Equal(d) {
			left -= deletable[0].Bytes
			deletable = deletable[1:]
		}
		c.size = d.Add(day)
	}
	return c, left
}

// span formats a duration, in days if it is a whole number of days.
func span(d time.Duration) string {
	if d%day == 0 {
		return fmt.Sprintf("%dd", d/day)
	}
	return d.String()
}

// className returns the name of a class for messages.
func className(class string) string {
	return cmp.Or(class, "the default class")
}
