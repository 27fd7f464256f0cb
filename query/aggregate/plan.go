package aggregate

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"logstow/field"
	"logstow/query/aggregate/exact"
)

// Spec is what to compute.
type Spec struct {
	// By are the keys; without any, all records are one group.
	By []Key
	// Compute are the functions; none means count.
	Compute []Function
	// Sort is the order of the rows; see [Result.Rows] for the order without it, and of equal rows.
	Sort []Order
	// Pivot is the index of the key of By whose values become columns; -1 for none.
	Pivot int
	// Limit is the number of rows to keep, or of groups of the keys other than the time step; 0 for all.
	Limit int
	// From and To are the range that records are selected from in Unix nanoseconds, To excluded. If both
	// are 0, the range is from the first record to the last.
	From, To int64
	// Zone is that of the time steps; nil is UTC.
	Zone *time.Location
}

// stat is a part of a group's state, at an offset in it: what one or several functions are made of.
type stat struct {
	kind    statKind
	offset  int
	input   int  // index into Record.Values or Record.Holds
	squares bool // moments with a sum of squares
}

type statKind uint8

const (
	holds statKind = iota // number of records for which a condition is true
	moments
	minimum
	maximum
	values
	distinct
	first
	last
)

// sumSize is the size of a sum in a state: its words, the last one with an index into wide in its upper
// half.
const sumSize = 8 * exact.SumWords

// slotSize is the size of a slot in a state: the ref of memory with capacity (4 bytes), length (4)
// and bytes that may be replaced.
const slotSize = 8

// valuesSize is the size of the numbers of a field in a state: the ref of the last chunk of encoded
// numbers (4 bytes), how many there are (4), and the index of the sketch that replaces them, or 0 (4).
// A chunk is the ref of the one before (4), used bytes (2), capacity (2), bytes.
const valuesSize = 16

// distinctSize is the size of the different values of a field in a state: the ref of a hash table (4
// bytes) and how many values it has (4), sketched if the ref is an index into counters, from 1. The
// table is its number of slots (8 bytes), then slots of a hash of 128 bits, zero if free.
const distinctSize = 8

// plan is a Spec, compiled. It is immutable.
type plan struct {
	Spec
	fields     []field.Name
	conditions []Function // one for each different Expr
	stats      []stat
	ofFunction []int // index into stats of every function, -1 for those of the number of records
	width      int   // bytes of a group's state
	numeric    []int // indexes into fields of those that are read as numbers
	ordered    bool

	keys  []int // indexes into By without step and pivot
	step  int   // index into By, -1 for none
	keyOf []int // index into fields of every key of By
}

const maxKeys = 32

func newPlan(spec Spec) (*plan, error) {
	p := &plan{Spec: spec, step: -1}
	if len(p.Compute) == 0 {
		p.Compute = []Function{{Header: "count", typed: "count"}}
	}
	if p.Zone == nil {
		p.Zone = time.UTC
	}
	if p.From > p.To || p.Limit < 0 {
		return nil, errors.New("invalid range or limit")
	}
	if p.Pivot < -1 || p.Pivot >= len(p.By) || p.Pivot >= 0 && !p.By[p.Pivot].Step.IsZero() {
		return nil, errors.New("invalid --pivot: not one of the keys of --by other than the time step")
	}
	if len(p.By) > maxKeys {
		return nil, fmt.Errorf("invalid --by: more than %d keys", maxKeys)
	}
	for i, k := range p.By {
		if slices.ContainsFunc(p.Compute, func(f Function) bool { return f.Header == k.Header }) {
			return nil, fmt.Errorf("%q occurs in --by and in --compute", k.Header)
		}
		if !k.Step.IsZero() {
			p.step = i
			p.keyOf = append(p.keyOf, -1)
			continue
		}
		field := p.field(k.Field)
		p.keyOf = append(p.keyOf, field)
		if k.Bucket {
			p.number(field)
		}
		if i != p.Pivot {
			p.keys = append(p.keys, i)
		}
	}
	for _, o := range p.Sort {
		if o.Key >= 0 && o.Key == p.Pivot {
			return nil, errors.New("invalid --sort: the key of --pivot is no column")
		}
	}
	p.width = 8 // the number of records
	for _, f := range p.Compute {
		p.ofFunction = append(p.ofFunction, p.function(f))
	}
	return p, nil
}

// field is the index of a field.
func (p *plan) field(f field.Name) int {
	if i := slices.Index(p.fields, f); i >= 0 {
		return i
	}
	p.fields = append(p.fields, f)
	return len(p.fields) - 1
}

// number marks a field as read as a number.
func (p *plan) number(field int) {
	if !slices.Contains(p.numeric, field) {
		p.numeric = append(p.numeric, field)
	}
}

// function is the index of the stat that a function is made of.
func (p *plan) function(f Function) int {
	switch f.Kind {
	case Count, Ratio:
		if f.Expr == "" {
			return -1
		}
		i := slices.IndexFunc(p.conditions, func(o Function) bool { return o.Expr == f.Expr })
		if i < 0 {
			i = len(p.conditions)
			p.conditions = append(p.conditions, f)
		}
		return p.stat(holds, i, 8)
	case Rate, Share:
		return -1
	case Distinct:
		return p.stat(distinct, p.field(f.Field), distinctSize)
	case First:
		p.ordered = true
		return p.stat(first, p.field(f.Field), slotSize)
	case Last:
		p.ordered = true
		return p.stat(last, p.field(f.Field), slotSize)
	}
	field := p.field(f.Field)
	p.number(field)
	switch f.Kind {
	case Min:
		return p.stat(minimum, field, slotSize)
	case Max:
		return p.stat(maximum, field, slotSize)
	case Quantile:
		return p.stat(values, field, valuesSize)
	}
	// Sum, Avg, Deviation: of one stat if any function needs the squares.
	squares := slices.ContainsFunc(p.Compute, func(o Function) bool { return o.Kind == Deviation && o.Field == f.Field })
	size := 8 + sumSize
	if squares {
		size += sumSize
	}
	i := p.stat(moments, field, size)
	p.stats[i].squares = squares
	return i
}

// stat is the index of a stat, which is added if it is new.
func (p *plan) stat(kind statKind, input, size int) int {
	if i := slices.IndexFunc(p.stats, func(s stat) bool { return s.kind == kind && s.input == input }); i >= 0 {
		return i
	}
	p.stats = append(p.stats, stat{kind: kind, offset: p.width, input: input})
	p.width += size
	return len(p.stats) - 1
}

// bounded reports whether the range is given.
func (p *plan) bounded() bool { return p.From != 0 || p.To != 0 }

// ranksGroups reports whether the limit is one of groups over the whole range, not of rows.
func (p *plan) ranksGroups() bool { return p.Limit > 0 && p.step >= 0 && len(p.keys) > 0 }

// fills reports whether steps without records get a row.
func (p *plan) fills() bool { return p.step >= 0 && len(p.keys) == 0 }
