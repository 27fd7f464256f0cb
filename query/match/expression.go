package match

import (
	"slices"

	"logstow/columns"
	"logstow/field"
	"logstow/field/where"
	"logstow/record"
)

// Columns has columns of a block.
type Columns interface {
	// Page is the page of a column other than that of times; nil if the block has none.
	Page(name columns.Name) *columns.Page
	// Seconds are the runs of the column of times; nil if the block has none.
	Seconds() []columns.Run
}

// Columnar reports whether columns may have all that an expression is about: not times or the whole message.
func Columnar(p *where.Program) bool { return p.FieldsOnly() && !p.Timed() }

// Expression evaluates expressions on the records of blocks by their columns, each different combination of
// values once where these are few. The zero value is ready to use, for one goroutine.
type Expression struct {
	known  []truth
	values values
}

// truth is what is known of whether an expression is true.
type truth uint8

const (
	unknown truth = iota
	isTrue
	notTrue
)

// maxKnown is the number of combinations of values whose truth is kept.
const maxKnown = 1 << 12

// values are those of the fields of one program.
type values []field.Value

// Value implements [where.Fields].
func (v values) Value(i int) field.Value { return v[i] }

// operands are the columns that an expression is about: those of its fields, then those of level and source where
// it uses them.
type operands struct {
	pages         []*columns.Page
	level, source int // in pages, or -1
	// combinations is the number of combinations of values, more than maxKnown if they are many.
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
	o = operands{level: -1, source: -1, combinations: 1}
	for _, name := range p.Fields() {
		if !o.add(cols.Page(columns.Name{Field: name})) {
			return o, false
		}
	}
	if p.Leveled() {
		o.level = len(o.pages)
		if !o.add(cols.Page(columns.Name{Fixed: field.Level})) {
			return o, false
		}
	}
	if p.Sourced() {
		o.source = len(o.pages)
		if !o.add(cols.Page(columns.Name{Fixed: field.Source})) {
			return o, false
		}
	}
	return o, true
}

// Of returns a function of the records of a block that reports whether an expression, which has to be
// [Columnar], is true for them; nil if a column is missing. The function is valid until the next call.
func (x *Expression) Of(p *where.Program, e *where.Evaluator, service string, cols Columns) func(record int) bool {
	o, ok := operandsOf(p, cols)
	if !ok {
		return nil
	}
	x.values = slices.Grow(x.values[:0], len(o.pages))[:len(o.pages)]
	r := where.Record{Service: service, Fields: x.values}
	var scratch []byte
	holds := func(record int) bool {
		scratch = scratch[:0]
		for k, page := range o.pages {
			x.values[k], scratch = page.Value(record, scratch)
		}
		if o.level >= 0 {
			r.Level = LevelOf(x.values[o.level])
		}
		if o.source >= 0 {
			r.Source = x.values[o.source].Text
		}
		return e.Holds(&r)
	}
	if o.combinations > maxKnown {
		return holds
	}
	x.known = slices.Grow(x.known[:0], o.combinations)[:o.combinations]
	clear(x.known)
	known, pages := x.known, o.pages
	return func(record int) bool {
		of := 0
		for _, page := range pages {
			of = of*len(page.Entries) + page.ID(record)
		}
		if known[of] == unknown {
			known[of] = notTrue
			if holds(record) {
				known[of] = isTrue
			}
		}
		return known[of] == isTrue
	}
}

// LevelOf is the level of a value of the column of levels.
func LevelOf(v field.Value) record.Level {
	if v.Kind == field.Missing {
		return record.None
	}
	return record.LevelFromAlias(string(v.Text))
}
