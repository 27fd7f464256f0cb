package match

import (
	"slices"
	"sort"

	"logstow/columns"
	"logstow/exact"
	"logstow/field"
	"logstow/field/where"
	"logstow/message"
	"logstow/record"
)

// Columns are the columns of a block.
type Columns interface {
	// Page returns the page of any column but times; nil if the block has none. The page of instances is derived from the
	// segments in which the records were written.
	Page(name columns.Name) *columns.Page
	// Values returns the distinct values of any column but times and instances; nil if the block has none. It is much
	// faster than Page.
	Values(name columns.Name) *columns.Values
	// Seconds returns the runs of the column of times; nil if the block has none.
	Seconds() []columns.Run
	// Form returns the form of the messages of the block: see [columns.Builder.Forms].
	Form() message.Form
}

// Columnar reports whether columns can decide an expression: it uses neither times nor the whole message.
func Columnar(p *where.Program) bool { return p.FieldsOnly() && !p.Timed() }

// Expression evaluates expressions on the records of blocks by their columns. If there are few distinct combinations of
// values, it evaluates each once. The zero value is ready to use. Not safe for concurrent use.
type Expression struct {
	known   []truth // by combination
	entries [columns.MaxEntries]bool
	values  values
	scratch []byte
}

// truth is a cached result of an expression.
type truth uint8

const (
	unknown truth = iota
	isTrue
	notTrue
)

// maxKnown is the maximum number of combinations of values whose result is cached.
const maxKnown = 1 << 12

// values are the values of the fields of one program.
type values []message.Value

// Value implements [where.Fields].
func (v values) Value(i int) message.Value { return v[i] }

// operands are the pages of the columns that an expression uses: its fields, then level, source and instance.
type operands struct {
	pages                   []*columns.Page
	level, source, instance int // indexes into pages, -1 if not used
	// combinations is the number of combinations of values, at most maxKnown+1.
	combinations int
}

func (o *operands) add(page *columns.Page) bool {
	if page == nil {
		return false
	}
	o.pages = append(o.pages, page)
	if page.Plane >= 0 {
		o.combinations = maxKnown + 1
	}
	o.combinations = min(o.combinations*len(page.Entries), maxKnown+1)
	return true
}

func operandsOf(p *where.Program, cols Columns) (o operands, ok bool) {
	o = operands{combinations: 1}
	for _, name := range p.Fields() {
		if !o.add(cols.Page(columns.Name{Field: name})) {
			return o, false
		}
	}
	for _, fixed := range []struct {
		used  bool
		name  field.Fixed
		index *int
	}{{p.Leveled(), field.Level, &o.level}, {p.Sourced(), field.Source, &o.source}, {p.Instanced(), field.Instance, &o.instance}} {
		*fixed.index = -1
		if !fixed.used {
			continue
		}
		*fixed.index = len(o.pages)
		if !o.add(cols.Page(columns.Name{Fixed: fixed.name})) {
			return o, false
		}
	}
	return o, true
}

// OfEntries evaluates a [Columnar] expression that uses one column, for each entry of the column's page in a block. holds is
// valid until the next call. page is nil if the expression uses several columns, or the page is missing or has numbers.
func (x *Expression) OfEntries(p *where.Program, e *where.Evaluator, service string, cols Columns) (page *columns.Page, holds []bool) {
	o, ok := operandsOf(p, cols)
	if !ok || len(o.pages) != 1 || o.pages[0].Plane >= 0 {
		return nil, nil
	}
	x.values = slices.Grow(x.values[:0], 1)[:1]
	holds, _, _ = x.ofEntries(p, &o, e, &where.Record{Service: service, Fields: x.values})
	return o.pages[0], holds
}

// Of returns a function that reports whether a [Columnar] expression is true for a record of a block; nil if a column is
// missing. The function is valid until the next call.
func (x *Expression) Of(p *where.Program, e *where.Evaluator, service string, cols Columns) func(record int) bool {
	o, ok := operandsOf(p, cols)
	if !ok {
		return nil
	}
	x.values = slices.Grow(x.values[:0], len(o.pages))[:len(o.pages)]
	r := where.Record{Service: service, Fields: x.values}
	holds := func(record int) bool {
		x.scratch = x.scratch[:0]
		for k, page := range o.pages {
			x.values[k], x.scratch = page.Value(record, x.scratch)
		}
		return x.evaluate(&o, e, &r)
	}
	if len(o.pages) == 1 {
		if known, numbers, ok := x.ofEntries(p, &o, e, &r); ok {
			return func(record int) bool {
				if id := o.pages[0].ID(record); id != o.pages[0].Plane {
					return known[id]
				}
				return numbers.hold(o.pages[0].Numbers.Values[record])
			}
		}
	}
	if o.combinations > maxKnown {
		return holds
	}
	x.known = slices.Grow(x.known[:0], o.combinations)[:o.combinations]
	clear(x.known)
	known, pages := x.known, o.pages
	return func(record int) bool {
		combination := 0
		for _, page := range pages {
			combination = combination*len(page.Entries) + page.ID(record)
		}
		if known[combination] == unknown {
			known[combination] = notTrue
			if holds(record) {
				known[combination] = isTrue
			}
		}
		return known[combination] == isTrue
	}
}

// LevelOf returns the level that a value of the column of levels stands for.
func LevelOf(v message.Value) record.Level {
	if v.Kind == message.Missing {
		return record.None
	}
	return record.LevelFromAlias(string(v.Text))
}

// evaluate reports whether an expression is true for the values of its operands.
func (x *Expression) evaluate(o *operands, e *where.Evaluator, r *where.Record) bool {
	if o.level >= 0 {
		r.Level = LevelOf(x.values[o.level])
	}
	if o.source >= 0 {
		r.Source = x.values[o.source].Text
	}
	if o.instance >= 0 {
		r.Instance = string(x.values[o.instance].Text)
	}
	return e.Holds(r)
}

// ofEntries evaluates an expression with one operand for each entry of its page. If the page has numbers, it also returns for
// which of them the expression is true; it is not ok if the expression is not a comparison.
func (x *Expression) ofEntries(p *where.Program, o *operands, e *where.Evaluator, r *where.Record) (known []bool, n numbers, ok bool) {
	page := o.pages[0]
	if page.Plane >= 0 {
		b, ok := p.Comparison()
		if !ok {
			return nil, n, false
		}
		n = numbersOf(b, &page.Numbers)
	}
	known = x.entries[:len(page.Entries)]
	for id, v := range page.Entries {
		if id != page.Plane {
			x.values[0] = v
			known[id] = x.evaluate(o, e, r)
		}
	}
	return known, n, true
}

// numbers describes the numbers of a page for which a comparison with a constant is true.
type numbers struct {
	// bound is the least integer that is not below the constant; isBound is set if it is equal.
	bound   int64
	isBound bool
	// less, equal and higher are the results for numbers below, equal to and above the constant.
	less, equal, higher bool
}

// hold reports whether the comparison is true for a number.
func (n *numbers) hold(v int64) bool {
	switch {
	case v < n.bound:
		return n.less
	case v == n.bound && n.isBound:
		return n.equal
	}
	return n.higher
}

// numbersOf finds the bound among the numbers of a page.
func numbersOf(b where.Bound, of *columns.Numbers) numbers {
	n := numbers{less: b.Holds(-1), equal: b.Holds(0), higher: b.Holds(1)}
	low, high := slices.Min(of.Values), slices.Max(of.Values)
	compare := func(v int64) int { return b.Compare(exact.FromScaled(v, of.Scale)) }
	// low + i is the bound. The sums do not overflow, because a page limits the magnitude of its numbers.
	i := sort.Search(int(high-low)+1, func(i int) bool { return compare(low+int64(i)) >= 0 })
	n.bound = low + int64(i)
	n.isBound = i <= int(high-low) && compare(n.bound) == 0
	return n
}
