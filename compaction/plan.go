package compaction

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"logstow/blobnaming"
	"logstow/columns"
	"logstow/containment"
	"logstow/segment"
	"logstow/store"
)

// Limits bound an output and decide which segments are worth merging.
type Limits struct {
	// Target is the target size of an output in stored bytes. Segments larger than half of it are not merged.
	Target int64
	// Inputs, Blocks and Footer limit an output too. Footer is the estimated size of footer and list of inputs in bytes.
	Inputs, Blocks, Footer int
	// The first output is made of two or more segments. A later one is made of at least Late segments; of two or more if
	// one of them was stored before the first output, because it did not fit, or at least LateAge ago.
	Late    int
	LateAge time.Duration
}

// DefaultLimits returns the limits of shipper compact.
func DefaultLimits() Limits {
	return Limits{Target: 64 << 20, Inputs: segment.MaxOrigins, Blocks: 2048, Footer: 2 << 20, Late: 8, LateAge: 24 * time.Hour}
}

// inputBytes and blockBytes are the maximum sizes of an input and a block in footer and list, without instance names.
const (
	inputBytes = 128
	blockBytes = 80
)

// The reasons for which a scope is not compacted.
var (
	// ErrGap: a generation is missing before another. The listing is incomplete, or retention is deleting outputs in their
	// order.
	ErrGap = errors.New("a generation of outputs is missing")
	// ErrDamaged: the list of inputs of an output cannot be read, so its contents are unknown.
	ErrDamaged = errors.New("the inputs of an output are not known")
	// ErrClassHash: an output of another class has the names of this one's.
	ErrClassHash = errors.New("another class has the same hash")
)

// Hour is one scope as listed.
type Hour struct {
	containment.Scope
	// Plain are the plain segments, in order of name.
	Plain []containment.Segment
	// Outputs are the blobs with the name of an output of the class, in order of generation, valid or not.
	Outputs []containment.Output
}

// check returns why a scope must not be compacted; nil if it may be.
func (h *Hour) check() error {
	for i, o := range h.Outputs {
		switch {
		case o.Meta.IsOutput() && o.Meta.Class != h.Class:
			return fmt.Errorf("%s is of class %q: %w", o.Name, o.Meta.Class, ErrClassHash)
		case o.Name.Output() != i+1 || errors.Is(o.Err, store.ErrNotFound):
			return fmt.Errorf("generation %d of %s: %w", i+1, h.Scope, ErrGap)
		case o.Err != nil && !o.Rejected:
			return fmt.Errorf("%s: %w: %w", o.Name, ErrDamaged, o.Err)
		}
	}
	return nil
}

// places returns, for each plain segment, the output that contains it.
func (h *Hour) places() []containment.Place { return containment.Contain(h.Plain, h.Outputs) }

// Generation is an output to make.
type Generation struct {
	Name blobnaming.Name
	// Inputs are in order of Start, and have the same parser.
	Inputs []containment.Segment
}

// Plan returns the outputs to make of an hour: the next generations, in order. Each contains segments that no other output
// contains. Only the first one is final: after committing it, or if its name is taken, the caller must list and plan again. skip
// excludes segments, such as damaged ones; it may be nil. now is storage's time.
func (h *Hour) Plan(l Limits, now time.Time, skip func(containment.Segment) bool) ([]Generation, error) {
	if err := h.check(); err != nil {
		return nil, err
	}
	byParser := make(map[string][]containment.Segment)
	seen := make(map[containment.Identity]bool)
	for i, p := range h.places() {
		s := h.Plain[i]
		if p.Contained() || seen[s.Identity()] || !l.mergeable(s) || skip != nil && skip(s) {
			continue
		}
		seen[s.Identity()] = true
		byParser[s.Meta.Parse] = append(byParser[s.Meta.Parse], s)
	}
	var plans []Generation
	for _, parser := range slices.Sorted(maps.Keys(byParser)) {
		eligible := byParser[parser]
		slices.SortFunc(eligible, compareStart)
		first, later := h.firstOutput(parser)
		for ; l.worthwhile(eligible, later, first, now); later = true {
			next := len(h.Outputs) + len(plans) + 1
			if next > blobnaming.MaxGeneration {
				return nil, fmt.Errorf("%s has %d generations", h.Scope, next-1)
			}
			n := l.take(eligible)
			plans = append(plans, Generation{
				Name:   blobnaming.OutputName(h.Service, h.Hour, h.Class, next),
				Inputs: eligible[:n:n],
			})
			eligible = eligible[n:]
		}
	}
	return plans, nil
}

// mergeable reports whether a plain segment may become an input.
func (l Limits) mergeable(s containment.Segment) bool {
	return l.small(s) && !inOtherTier(s)
}

// small reports whether a segment is plain and not too large to become an input.
func (l Limits) small(s containment.Segment) bool {
	return !s.Meta.IsOutput() && s.Name.Output() == 0 && s.Size <= l.Target/2
}

// inOtherTier reports whether a segment is in a tier from which it costs more to read.
func inOtherTier(s containment.Segment) bool { return s.Tier != "" && s.Tier != store.Hot }

// otherTier returns the number of plain segments that are not merged only because of their tier.
func (h *Hour) otherTier(l Limits) (n int) {
	for i, p := range h.places() {
		if s := h.Plain[i]; !p.Contained() && l.small(s) && inOtherTier(s) {
			n++
		}
	}
	return n
}

// firstOutput returns the time at which the first output with a parser was stored, if there is one.
func (h *Hour) firstOutput(parser string) (created time.Time, ok bool) {
	i := slices.IndexFunc(h.Outputs, func(o containment.Output) bool { return o.Meta.Parse == parser })
	if i < 0 {
		return created, false
	}
	return h.Outputs[i].Created, true
}

// worthwhile reports whether eligible segments are enough for a generation. later is set unless it is the first of its parser;
// first is the time at which the first was stored, zero if it is only planned.
func (l Limits) worthwhile(eligible []containment.Segment, later bool, first, now time.Time) bool {
	if later && len(eligible) > 0 && len(eligible) >= l.Late {
		return true
	}
	return len(eligible) > 1 && (!later || slices.ContainsFunc(eligible, func(s containment.Segment) bool {
		return s.Created.Before(first) || now.Sub(s.Created) >= l.LateAge
	}))
}

// take returns how many of the segments fit one output: at least two, if there are two.
func (l Limits) take(eligible []containment.Segment) int {
	var size int64
	blocks, footer := 0, 0
	for i, s := range eligible {
		size += s.Size
		b := int(s.Meta.RawBytes/segment.DefaultBlockSize) + 1
		if s.Meta.RawBytes < segment.DefaultBlockSize/8 && i%8 != 0 {
			b = 0 // small inputs share blocks
		}
		blocks += b
		footer += inputBytes + len(s.Meta.Instance) + b*blockBytes
		if i >= 2 && (size > l.Target || i >= l.Inputs || blocks > l.Blocks || footer > l.Footer) {
			return i
		}
	}
	return len(eligible)
}

// encoderVersion must change whenever the same inputs give another output.
const encoderVersion = 2

// batchOf returns the Batch of an output: the first 16 bytes of a SHA-256 of the settings and the sorted identities of its
// inputs. It identifies the output after a lost response, and is the same for concurrent compactions that make the same output.
func batchOf(l Limits, c *columns.Options, inputs []containment.Segment) blobnaming.Batch {
	identities := make([]containment.Identity, len(inputs))
	for i, s := range inputs {
		identities[i] = s.Identity()
	}
	slices.SortFunc(identities, compareIdentities)
	h := sha256.New()
	number := func(n uint64) {
		var b [8]byte
		binary.BigEndian.PutUint64(b[:], n)
		_, _ = h.Write(b[:]) // never fails
	}
	number(encoderVersion)
	number(uint64(l.Target))
	if c != nil {
		number(uint64(len(c.Named)) + 1) // 0 stands for no columns
		for _, name := range c.Named {
			number(uint64(len(name)))
			_, _ = h.Write([]byte(name))
		}
	} else {
		number(0)
	}
	for _, id := range identities {
		_, _ = h.Write(id.Batch[:])
		number(uint64(id.Start))
		number(uint64(id.End))
		number(id.Records)
		number(uint64(id.Size))
	}
	return blobnaming.Batch(h.Sum(nil))
}

func compareIdentities(a, b containment.Identity) int {
	return slices.Compare(identityKey(a), identityKey(b))
}

// identityKey returns numbers by which identities are ordered.
func identityKey(i containment.Identity) []uint64 {
	return []uint64{
		binary.BigEndian.Uint64(i.Batch[:8]), binary.BigEndian.Uint64(i.Batch[8:]),
		uint64(i.Start), uint64(i.End), i.Records, uint64(i.Size),
	}
}

// Group groups the listed segments of one service by scope, in order of hour and class. The Inputs of outputs are not set: see
// [containment.ReadOutput]. A blob that has the name of an output and is none belongs to every scope of its hour whose class has
// the hash in its name, and its Err is set.
func Group(segments []containment.Segment, rejected []blobnaming.Name) []*Hour {
	hours := make(map[containment.Scope]*Hour)
	var named []containment.Output
	for _, s := range segments {
		if s.Name.Output() > 0 {
			o := containment.Output{Segment: s, Rejected: slices.Contains(rejected, s.Name)}
			if !s.Meta.IsOutput() {
				o.Err = fmt.Errorf("%s: %w", s.Name, containment.ErrNoOutput)
			}
			named = append(named, o)
			continue
		}
		if s.Meta.IsOutput() {
			continue // a copy of an output under another name
		}
		scope := s.Scope()
		if hours[scope] == nil {
			hours[scope] = &Hour{Scope: scope}
		}
		hours[scope].Plain = append(hours[scope].Plain, s)
	}
	for _, o := range named {
		scope := o.Scope()
		if hours[scope] == nil && o.Meta.IsOutput() {
			hours[scope] = &Hour{Scope: scope}
		}
	}
	sorted := make([]*Hour, 0, len(hours))
	for _, h := range hours {
		for _, o := range named {
			if o.Name.HasClass(h.Class) && o.Name.Bucket.Equal(h.Hour) && o.Name.Service == h.Service {
				h.Outputs = append(h.Outputs, o)
			}
		}
		slices.SortFunc(h.Plain, compareName)
		slices.SortFunc(h.Outputs, func(a, b containment.Output) int { return a.Name.Output() - b.Name.Output() })
		sorted = append(sorted, h)
	}
	slices.SortFunc(sorted, func(a, b *Hour) int {
		if c := a.Hour.Compare(b.Hour); c != 0 {
			return c
		}
		return slices.Compare([]string{a.Service, a.Class}, []string{b.Service, b.Class})
	})
	return sorted
}

// compareStart is the order of the first record, then of name.
func compareStart(a, b containment.Segment) int {
	return cmp.Or(cmp.Compare(a.Meta.Start, b.Meta.Start), compareName(a, b))
}

func compareName(a, b containment.Segment) int {
	return cmp.Or(a.Name.Bucket.Compare(b.Name.Bucket), cmp.Compare(a.Name.Number, b.Name.Number))
}
