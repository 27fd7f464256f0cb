package tailwatch

import (
	"maps"
	"time"

	"logstow/internal/price"
	"logstow/watch"
)

// bill tracks the maximum cost of the watch on a service in a store. The cost is counted in advance, because shippers flush until
// the watch expires, even if no tail follows the service any more. The lock of [Watches] guards it.
type bill struct {
	// counted is when the shippers were last counted. The cost is counted up to the time paid.
	counted, paid time.Time
	shippers      int
	perHour       float64 // dollars
}

// charge updates the bill after the shippers were counted, and returns the additional cost in dollars: for the time until the watch
// expires if nothing renews it, and for each new shipper, which may flush twice before it is counted.
func (b *bill) charge(now time.Time, status watch.Status, prices price.Table) float64 {
	usage := status.Usage
	usage.List = 0 // the watcher does not list services: the tails name them
	perHour := prices.Cost(usage)
	paid := now.Add(watch.Lifetime)
	dollars := perHour*paid.Sub(b.paid).Hours() + max(0, perHour-b.perHour)*b.paid.Sub(b.counted).Hours() +
		prices.Cost(watch.FlushUsage(2*max(0, status.Shippers-b.shippers)))
	*b = bill{counted: now, paid: paid, shippers: status.Shippers, perHour: perHour}
	return dollars
}

// bill returns the bill of a service. It continues the existing bill if the watch has not expired. The lock of [Watches] is held.
func (p *watchedStore) bill(service string, now time.Time) *bill {
	maps.DeleteFunc(p.bills, func(_ string, b *bill) bool { return b.paid.Before(now) })
	if p.bills[service] == nil {
		p.bills[service] = &bill{counted: now, paid: now}
	}
	return p.bills[service]
}

// pay adds the cost of a watch, after its shippers were counted.
func (w *Watches) pay(p *watchedStore, one *watcher) {
	if p.Prices == nil {
		return
	}
	status := one.Status()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cost += one.bill.charge(time.Now(), status, *p.Prices)
}

// Cost returns the maximum cost of the watches since the start, in dollars: of their requests and of early flushes.
func (w *Watches) Cost() float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cost
}
