package where

// Conditions are a list of conditions on the same records. The zero value has none.
type Conditions struct {
	Programs []*Program
	// Names are the fields of all programs, one after the other; first has the index of the first one of each.
	Names []string
	first []int
}

// Add adds a condition and returns its index.
func (c *Conditions) Add(p *Program) int {
	c.Programs, c.first = append(c.Programs, p), append(c.first, len(c.Names))
	c.Names = append(c.Names, p.fields...)
	return len(c.Programs) - 1
}

// Evaluators makes evaluators of the conditions.
func (c *Conditions) Evaluators() *Evaluators {
	e := &Evaluators{first: c.first}
	for _, p := range c.Programs {
		e.Each = append(e.Each, p.Evaluator())
	}
	return e
}

// Evaluators evaluate [Conditions]. Not safe for concurrent use.
type Evaluators struct {
	Each  []*Evaluator
	first []int
}

// Holds reports whether a condition is true for a record whose Fields are the Names of the conditions.
func (e *Evaluators) Holds(condition int, r *Record) bool {
	r.First = e.first[condition]
	return e.Each[condition].Holds(r)
}

// AllHold reports whether all conditions are true for such a record.
func (e *Evaluators) AllHold(r *Record) bool {
	for i := range e.Each {
		if !e.Holds(i, r) {
			return false
		}
	}
	return true
}
