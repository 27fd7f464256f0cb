package compaction

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"logstow/blobnaming"
	"logstow/catalog"
	"logstow/internal/units"
	"logstow/segment"
	"logstow/store"
)

const day = 24 * time.Hour

// Limits bound an output and decide when segments are merged.
type Limits struct {
	// Target is the target size of an output in stored bytes.
	Target int64
	// Inputs, Blocks and Footer limit an output too. Footer is the estimated size of footer and list of inputs in bytes.
	Inputs, Blocks, Footer int
	// Pending and PendingBytes are the number and the size of segments of ended hours that are merged before their day has ended.
	Pending      int
	PendingBytes int64
	// All segments of a day are merged once it has ended. Later ones are merged when there are Late of them, or one was stored
	// LateAge ago.
	Late    int
	LateAge time.Duration
}

// DefaultLimits returns the limits of shipper compact.
func DefaultLimits() Limits {
	return Limits{
		Target: 64 << 20, Inputs: segment.MaxOrigins, Blocks: 2048, Footer: 2 << 20,
		Pending: 240, PendingBytes: 8 << 20, Late: 8, LateAge: 24 * time.Hour,
	}
}

// inputBytes, blockBytes and partBytes are the maximum sizes of an input, a block and a part in footer and list, the first without the
// name of the instance.
const (
	inputBytes = 128
	blockBytes = 104
	partBytes  = 64
)

// The reasons for which a scope is not compacted.
var (
	// ErrGap: a generation is missing before another. The listing is incomplete, or retention is deleting outputs in their
	// order.
	ErrGap = errors.New("a generation of outputs is missing")
	// ErrDamaged: the list of inputs of an output cannot be read, so its contents are unknown.
	ErrDamaged = errors.New("the inputs of an output are not known")
)

// Chain is one scope as listed: a service's day and class.
type Chain struct {
	catalog.Scope
	// Plain are the plain segments, in order of name.
	Plain []catalog.Segment
	// Twins has, for each Batch of several segments of the day, of any class, the segments in the order in which they are tried.
	Twins map[blobnaming.Batch][]catalog.Segment
	// Outputs are the blobs with the name of an output of the class, in order of generation, valid or not.
	Outputs []catalog.Output
}

// check returns why a scope must not be compacted; nil if it may be.
func (c *Chain) check() error {
	for i, o := range c.Outputs {
		switch {
		case o.Name.Output() != i+1 || errors.Is(o.Err, store.ErrNotFound):
			return fmt.Errorf("generation %d of %s: %w", i+1, c.Scope, ErrGap)
		case o.Err != nil && !o.Rejected:
			return fmt.Errorf("%s: %w: %w", o.Name, ErrDamaged, o.Err)
		}
	}
	return nil
}

// places returns, for each plain segment, the output that contains it.
func (c *Chain) places() []catalog.Place { return catalog.Contain(c.Plain, c.Outputs) }

// pending returns the segments to merge, in order of name: each Batch once, of hours that end at or before to. skip excludes
// segments, such as damaged ones: their twins are tried instead.
func (c *Chain) pending(to time.Time, skip func(catalog.Segment) bool) []catalog.Segment {
	var pending []catalog.Segment
	for i, p := range c.places() {
		s := c.Plain[i]
		_, end := s.Name.Period()
		if p.Contained() || p.Differs || end.After(to) || skip(s) {
			continue
		}
		twins := slices.DeleteFunc(slices.Clone(c.Twins[s.Meta.Batch]), func(s catalog.Segment) bool { return skip(s) || inOtherTier(s) })
		if len(twins) > 0 && twins[0].Name != s.Name {
			continue
		}
		pending = append(pending, s)
	}
	return pending
}

// Generation is an output to make.
type Generation struct {
	Name blobnaming.Name
	// Inputs are in order of Start, and have the same parser.
	Inputs []catalog.Segment
}

// Plan returns the outputs to make of a chain: the next generations, in order. Each contains segments that no other output
// contains. Only the first one is final: after committing it, or if its name is taken, the caller must list and plan again. Segments
// of hours that end after to are left out, as are those for which skip, which may be nil, returns true. now is storage's time.
func (c *Chain) Plan(l Limits, now, to time.Time, skip func(catalog.Segment) bool) ([]Generation, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if skip == nil {
		skip = func(catalog.Segment) bool { return false }
	}
	byParser := make(map[string][]catalog.Segment)
	for _, s := range c.pending(to, skip) {
		if !inOtherTier(s) {
			byParser[s.Meta.Parse] = append(byParser[s.Meta.Parse], s)
		}
	}
	var plans []Generation
	for _, parser := range slices.Sorted(maps.Keys(byParser)) {
		eligible := byParser[parser]
		if !c.due(l, parser, eligible, now, to) {
			continue
		}
		slices.SortFunc(eligible, compareStart)
		for len(eligible) > 0 {
			next := len(c.Outputs) + len(plans) + 1
			if next > blobnaming.MaxGeneration {
				return nil, fmt.Errorf("%s has %s", c.Scope, units.Count(next-1, "generation"))
			}
			n := l.take(eligible)
			plans = append(plans, Generation{Name: blobnaming.OutputName(c.Service, c.Day, c.Class, next), Inputs: eligible[:n:n]})
			eligible = eligible[n:]
		}
	}
	return plans, nil
}

// inOtherTier reports whether a segment was moved to a tier from which it costs more to read. The default tier of an account does not
// matter: all of its new segments would be left.
func inOtherTier(s catalog.Segment) bool {
	return s.Tier != "" && s.Tier != store.Hot && !s.TierInferred
}

// otherTier returns the number of segments that are not merged only because of their tier.
func (c *Chain) otherTier(to time.Time) (n int) {
	for _, s := range c.pending(to, func(catalog.Segment) bool { return false }) {
		if inOtherTier(s) {
			n++
		}
	}
	return n
}

// due reports whether segments with a parser are to be merged now.
func (c *Chain) due(l Limits, parser string, eligible []catalog.Segment, now, to time.Time) bool {
	var size int64
	oldest := now
	for _, s := range eligible {
		size += s.Size
		if s.Created.Before(oldest) {
			oldest = s.Created
		}
	}
	end := c.Day.Add(day)
	switch {
	case len(eligible) == 0:
		return false
	case end.After(to): // the day has not ended
		return len(eligible) >= l.Pending || size >= l.PendingBytes
	}
	var merged time.Time // when the day was last merged after its end
	for _, o := range c.Outputs {
		if o.Meta.Parse == parser && !o.Created.Before(end) && !o.Rejected && o.Created.After(merged) {
			merged = o.Created
		}
	}
	// A segment that is older than the last output did not fit it: it is no late one.
	return merged.IsZero() || oldest.Before(merged) || len(eligible) >= l.Late || now.Sub(oldest) >= l.LateAge
}

// take returns how many of the segments fit one output: at least one.
func (l Limits) take(eligible []catalog.Segment) int {
	var size int64
	blocks, parts, footer := 0, 0, 0
	for i, s := range eligible {
		size += s.Size
		b := int(s.Meta.RawBytes/segment.DefaultBlockSize) + 1
		if s.Meta.RawBytes < segment.DefaultBlockSize/8 && i%8 != 0 {
			b = 0 // small inputs share blocks
		}
		blocks += b
		parts += int(s.Meta.Instances)
		footer += inputBytes + len(s.Meta.Instance) + b*blockBytes + int(s.Meta.Instances)*partBytes
		if i >= 1 && (parts > segment.MaxParts-l.Inputs || size > l.Target || i >= l.Inputs || blocks > l.Blocks || footer > l.Footer) {
			return i
		}
	}
	return len(eligible)
}

// InChain reports whether [Chains] reads an entry.
func InChain(e *catalog.Entry) bool {
	switch e.Kind {
	case catalog.KindPlain, catalog.KindOutput, catalog.KindRejection:
		return true
	case catalog.KindUnreadable:
		return e.Name.Output() > 0
	}
	return false
}

// Chains returns the chains of a day, in order of class. The Inputs of outputs are not set: see [catalog.ReadOutput].
func Chains(d *catalog.Day) []*Chain {
	byClass := make(map[string]*Chain)
	chain := func(class string) *Chain {
		if byClass[class] == nil {
			byClass[class] = &Chain{Scope: catalog.Scope{Service: d.Service, Day: d.Day, Class: class}}
		}
		return byClass[class]
	}
	first := make(map[blobnaming.Batch]catalog.Segment)
	twins := make(map[blobnaming.Batch][]catalog.Segment)
	for _, e := range d.Raw {
		if e.Kind != catalog.KindPlain {
			continue
		}
		chain(e.Meta.Class).Plain = append(chain(e.Meta.Class).Plain, e.Segment)
		batch := e.Meta.Batch
		if other, twice := first[batch]; twice && len(twins[batch]) == 0 {
			twins[batch] = []catalog.Segment{other, e.Segment}
		} else if twice {
			twins[batch] = append(twins[batch], e.Segment)
		} else {
			first[batch] = e.Segment
		}
	}
	for _, all := range twins {
		slices.SortFunc(all, catalog.CompareTwins)
	}
	rejected := d.Rejected()
	for _, e := range d.Compacted {
		if e.Kind == catalog.KindOutput || e.Kind == catalog.KindUnreadable {
			c := chain(e.Name.Class())
			c.Outputs = append(c.Outputs, catalog.Output{Segment: e.Segment, Err: e.Err, Rejected: rejected[e.Name]})
		}
	}
	sorted := make([]*Chain, 0, len(byClass))
	for _, class := range slices.Sorted(maps.Keys(byClass)) {
		c := byClass[class]
		c.Twins = twins
		slices.SortFunc(c.Plain, catalog.CompareNames)
		slices.SortFunc(c.Outputs, func(a, b catalog.Output) int { return catalog.CompareNames(a.Segment, b.Segment) })
		sorted = append(sorted, c)
	}
	return sorted
}

// compareStart is the order of the first record, then of name.
func compareStart(a, b catalog.Segment) int {
	return cmp.Or(cmp.Compare(a.Meta.Start, b.Meta.Start), catalog.CompareNames(a, b))
}
