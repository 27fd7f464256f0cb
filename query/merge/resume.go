package merge

// A Resumer emits records in output order once, although they are found several times: from the
// start, or a later point, each time.
type Resumer struct {
	order Order
	emit  func(Match) error
	// time is that of the last record, of which emitted have come.
	time    int64
	emitted int
	skip    int // of time, in this run
}

// NewResumer makes a Resumer for records in an order.
func NewResumer(o Order, emit func(Match) error) *Resumer { return &Resumer{order: o, emit: emit} }

// Resume is the function that takes the records of the next run, which has all that were not
// emitted and all of the last time.
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
