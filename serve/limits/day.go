package limits

import (
	"sync"
	"time"
)

// minShare is the share of a day's budget at which the remaining budget counts as nothing.
const minShare = 1.0 / 1000

// dayBudget limits the cost of a process per day in UTC. It is safe for concurrent use.
//
// A query reserves at most half of the remaining budget, so that concurrent queries together do not exceed it.
type dayBudget struct {
	budget float64 // dollars; 0 is no limit
	now    func() time.Time
	other  func() float64 // see [Options.OtherCost]

	mu              sync.Mutex
	day             int64 // days since 1970
	spent, reserved float64
	counted         float64 // the part of other that spent contains
}

// spentToday is today's cost so far, in dollars.
func (d *dayBudget) spentToday() float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.update()
	return d.spent
}

// reserve reserves a part of the remaining budget for a query: at most half of it, and at most wanted unless that is 0. The part is
// greater than 0, which would mean no limit. If there is no budget, reserve returns wanted.
func (d *dayBudget) reserve(wanted float64) (float64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.update()
	switch {
	case d.budget == 0:
		return wanted, nil
	case d.isSpent():
		return 0, ErrDay
	}
	left := d.budget - d.spent - d.reserved
	if left <= d.budget*minShare { // also below 0, since requests that follow new records reserve nothing
		return 0, ErrReserved
	}
	part := left / 2
	if wanted > 0 {
		part = min(part, wanted)
	}
	d.reserved += part
	return part, nil
}

// use adds a cost and reduces the reservations by reserved. It returns [ErrDay] if the budget is spent.
func (d *dayBudget) use(cost, reserved float64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.update()
	d.spent += cost
	d.reserved = max(0, d.reserved-reserved)
	if d.isSpent() {
		return ErrDay
	}
	return nil
}

// exhausted reports whether the budget is spent.
func (d *dayBudget) exhausted() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.update()
	return d.isSpent()
}

func (d *dayBudget) isSpent() bool { return d.budget > 0 && d.budget-d.spent <= d.budget*minShare }

// update resets the cost at the start of a new day, and adds the other cost since the last call. The lock is held.
func (d *dayBudget) update() {
	if day := d.now().Unix() / 86400; day != d.day {
		d.day, d.spent = day, 0
	}
	total := d.other()
	d.spent += total - d.counted
	d.counted = total
}

// untilMidnight returns the time until the next day in UTC.
func (d *dayBudget) untilMidnight() time.Duration {
	now := d.now().UTC()
	return now.Truncate(24 * time.Hour).Add(24 * time.Hour).Sub(now)
}
