package merge

// A Resumer emits each record once, in output order, across several runs that find the same records again.
type Resumer struct {
	order Order
	emit  func(Match) error
	// time is the time of the last record emitted, emitted the number of records of this time.
	time    int64
	emitted int
	skip    int // number of records of this time to skip in the current run
}

// NewResumer makes a Resumer for records in an order.
func NewResumer(o Order, emit func(Match) error) *Resumer { return &Resumer{order: o, emit: emit} }

// Resume returns the function that receives the records of the next run. The run must have all records that were not emitted, and
// all records of the last time.
func (r *Resumer) Resume() func(Match) error {
	r.skip = r.emitted
	return r.add
}

func (r *Resumer) add(m Match) error {
	switch {
	case r.emitted > 0 && r.order.before(key{time: m.Time, edge: -1}, key{time: r.time, edge: -1}):
		return nil
	case r.emitted > 0 && m.Time == r.time && r.skip > 0:
		r.skip--
		return nil
	case r.emitted > 0 && m.Time == r.time:
		r.emitted++
	default:
		r.time, r.emitted, r.skip = m.Time, 1, 0
	}
	return r.emit(m)
}
