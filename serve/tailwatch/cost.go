package tailwatch

import (
	"maps"
	"time"

	"logstow/internal/price"
	"logstow/watch"
)

// bill is what the watch on a service costs in a store at most, in advance: shippers flush until the watch expires, with or
// without a tail. The lock of [Watches] guards it.
type bill struct {
	// counted is when the shippers were counted last, paid the time until which their flushes are paid.
	counted, paid time.Time
	shippers      int
	perHour       float64 // dollars
}

// charge is what is to be paid when the shippers were counted: for the time until the watch expires if nothing renews it, and for
// shippers that are new, which flush at once, and may do so again before all are counted.
func (b *bill) charge(now time.Time, status watch.Status, prices price.Table) float64 {
	usage := status.Usage
	usage.List = 0 // the services are those of tails
	perHour := prices.Cost(usage)
	paid := now.Add(watch.Lifetime)
	dollars := perHour*paid.Sub(b.paid).Hours() + max(0, perHour-b.perHour)*b.paid.Sub(b.counted).Hours() +
		prices.Cost(watch.FlushUsage(2*max(0, status.Shippers-b.shippers)))
	*b = bill{counted: now, paid: paid, shippers: status.Shippers, perHour: perHour}
	return dollars
}

// bill is that of a service, which goes on if the watch on it has not expired. The lock of [Watches] is held.
func (p *place) bill(service string, now time.Time) *bill {
	maps.DeleteFunc(p.bills, func(_ string, b *bill) bool { return b.paid.Before(now) })
	if p.bills[service] == nil {
		p.bills[service] = &bill{counted: now, paid: now}
	}
	return p.bills[service]
}

// pay adds the cost of a watch, after its shippers were counted.
func (w *Watches) pay(p *place, one *watcher) {
	if p.Prices == nil {
		return
	}
	status := one.Status()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cost += one.bill.charge(time.Now(), status, *p.Prices)
}

// Cost is the maximum cost of the watches since the start, in dollars: of their requests, and of what shippers flush early.
func (w *Watches) Cost() float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cost
}
