package aggregate

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"logstow/field"
)

// Spec describes an aggregation.
type Spec struct {
	// By are the keys; without any, all records are one group.
	By []Key
	// Compute are the functions; none means count.
	Compute []Function
	// Sort is the order of the rows; see [Result.Rows] for the default, and the order of equal rows.
	Sort []Order
	// ByKeys orders the rows by the texts of the keys, bytewise with missing ones first, and by nothing else.
	ByKeys bool
	// Pivot is the index of the key of By whose values become columns; -1 for none.
	Pivot int
	// Limit is the maximum number of rows, or with a time step and other keys, of groups of the other keys; 0 for all.
	Limit int
	// From and To are the time range of the records in Unix nanoseconds, To excluded. If both are 0, the range is from the
	// first record to the last.
	From, To int64
	// Zone is the time zone of the time steps; nil is UTC.
	Zone *time.Location
	// Until is set if time steps exclude their start and include their end, as windows of LogQL do.
	Until bool
}

// StepTime returns the time that determines the time step of a record at a time.
func (s *Spec) StepTime(at int64) int64 {
	if s.Until {
		return at - 1
	}
	return at
}

// stat is a part of a group's state from which one or several functions are computed.
type stat struct {
	statType
	offset int // in the state
	input  int // index into Record.Values, or into Record.Holds for holds
}

// Plan is a compiled Spec. Immutable.
type Plan struct {
	Spec
	// Fields are the distinct fields that [Record.Values] must have, in this order.
	Fields []field.Name
	// Conditions are the functions whose Expr [Record.Holds] must have, in this order: one for each distinct Expr.
	Conditions []Function
	// Ordered is set if [Record.Sequence] is needed.
	Ordered bool
	// Step is the length of time steps; zero if no key of By is one.
	Step field.Step

	stats      []stat
	functions  []functionType // by function of Compute
	ofFunction []int          // for each function, an index into stats; -1 if it only needs the number of records
	width      int            // size of a group's state in bytes
	numeric    []int          // indexes into Fields: those read as numbers

	keys  []int // indexes into By, without step and pivot
	step  int   // index into By, -1 for none
	keyOf []int // for each key of By, an index into Fields; -1 for the step
}

const maxKeys = 32

// Compile compiles a Spec. It returns an error if the Spec is invalid.
func Compile(spec Spec) (*Plan, error) {
	p := &Plan{Spec: spec, step: -1}
	if len(p.Compute) == 0 {
		p.Compute = []Function{{Header: "count", Kind: Count, typed: "count"}}
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
			p.step, p.Step = i, k.Step
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
			return nil, errors.New("invalid --sort: the key of --pivot is not a column")
		}
	}
	for _, f := range p.Compute {
		of, ok := typeOf(f.Kind)
		if !ok {
			return nil, fmt.Errorf("unknown function %q", f.Kind)
		}
		p.functions = append(p.functions, of)
		p.ofFunction = append(p.ofFunction, p.function(f, of))
	}
	p.width = 8 // the number of records
	for i := range p.stats {
		p.stats[i].offset = p.width
		p.width += p.stats[i].size()
	}
	return p, nil
}

// field returns the index of a field, which is added if it is new.
func (p *Plan) field(f field.Name) int {
	if i := slices.Index(p.Fields, f); i >= 0 {
		return i
	}
	p.Fields = append(p.Fields, f)
	return len(p.Fields) - 1
}

// number marks a field as read as a number.
func (p *Plan) number(field int) {
	if !slices.Contains(p.numeric, field) {
		p.numeric = append(p.numeric, field)
	}
}

// function returns the index of the stat of a function, -1 if it only needs the number of records.
func (p *Plan) function(f Function, of functionType) int {
	if f.Expr != "" {
		i := slices.IndexFunc(p.Conditions, func(o Function) bool { return o.Expr == f.Expr })
		if i < 0 {
			i = len(p.Conditions)
			p.Conditions = append(p.Conditions, f)
		}
		return p.stat(holds{}, i)
	}
	if of.stat == nil {
		return -1
	}
	if _, ordered := of.stat.(edge); ordered {
		p.Ordered = true
	}
	input := p.field(f.Field)
	if of.numeric {
		p.number(input)
	}
	return p.stat(of.stat, input)
}

// stat returns the index of a stat, which is added if it is new.
func (p *Plan) stat(of statType, input int) int {
	for i := range p.stats {
		s := &p.stats[i]
		if s.input != input {
			continue
		}
		if s.statType == of {
			return i
		}
		if have, ok := s.statType.(sums); ok { // sums with squares serve all functions of sums
			if want, ok := of.(sums); ok {
				s.statType = sums{squares: have.squares || want.squares}
				return i
			}
		}
	}
	p.stats = append(p.stats, stat{statType: of, input: input})
	return len(p.stats) - 1
}

// Timed reports whether [Record.Time] is needed: for a time step, first and last, and for a rate without a range.
func (p *Plan) Timed() bool { return p.step >= 0 || p.Ordered || p.RatesRecords() }

// RatesRecords reports whether there is a rate whose range depends on the times of the records.
func (p *Plan) RatesRecords() bool {
	return !p.Bounded() && slices.ContainsFunc(p.Compute, func(f Function) bool { return f.Kind == Rate })
}

// CountsOnly reports whether all functions only count records, so that [Worker.AddCount] may be used.
func (p *Plan) CountsOnly() bool {
	return !slices.ContainsFunc(p.stats, func(s stat) bool { return s.statType != holds{} })
}

// Bounded reports whether the range is given.
func (p *Plan) Bounded() bool { return p.From != 0 || p.To != 0 }

// ranksGroups reports whether Limit applies to groups over the whole range instead of rows.
func (p *Plan) ranksGroups() bool { return p.Limit > 0 && p.step >= 0 && len(p.keys) > 0 }

// fills reports whether steps without records get a row.
func (p *Plan) fills() bool { return p.step >= 0 && len(p.keys) == 0 }
