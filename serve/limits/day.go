package limits

import (
	"sync"
	"time"
)

// spentShare is the share of a day's budget below which what is left counts as nothing.
const spentShare = 1.0 / 1000

// dayBudget is what a process may cost in a day, in UTC. It is safe for concurrent use.
//
// A query reserves at most half of what is left, so that several at once stay within the budget.
type dayBudget struct {
	budget float64 // dollars; 0 is no limit
	now    func() time.Time
	other  func() float64 // of [Options.OtherCost]

	mu              sync.Mutex
	day             int64 // days since 1970
	spent, reserved float64
	counted         float64 // of other
}

// spentToday is today's cost so far, in dollars.
func (d *dayBudget) spentToday() float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.turn()
	return d.spent
}

// reserve takes a part of what is left for a query: wanted, or all that it may take if that is 0. The part is not 0, which would
// be no limit, unless there is no budget.
func (d *dayBudget) reserve(wanted float64) (float64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.turn()
	switch {
	case d.budget == 0:
		return wanted, nil
	case d.isSpent():
		return 0, ErrDay
	}
	left := d.budget - d.spent - d.reserved
	if left <= d.budget*spentShare { // also below 0, since requests that follow new records reserve nothing
		return 0, ErrReserved
	}
	part := left / 2
	if wanted > 0 {
		part = min(part, wanted)
	}
	d.reserved += part
	return part, nil
}

// use turns a part of a reservation into cost.
func (d *dayBudget) use(cost, reserved float64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.turn()
	d.spent += cost
	d.reserved = max(0, d.reserved-reserved)
	if d.isSpent() {
		return ErrDay
	}
	return nil
}

// over reports whether the budget is spent.
func (d *dayBudget) over() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.turn()
	return d.isSpent()
}

func (d *dayBudget) isSpent() bool { return d.budget > 0 && d.budget-d.spent <= d.budget*spentShare }

// turn begins a new day if it is one, and adds what other cost there was since the last call.
func (d *dayBudget) turn() {
	if day := d.now().Unix() / 86400; day != d.day {
		d.day, d.spent = day, 0
	}
	total := d.other()
	d.spent += total - d.counted
	d.counted = total
}

// untilMidnight is the time until the next day.
func (d *dayBudget) untilMidnight() time.Duration {
	now := d.now().UTC()
	return now.Truncate(24 * time.Hour).Add(24 * time.Hour).Sub(now)
}
