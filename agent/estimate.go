package agent

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"logstow/buffer"
	"logstow/internal/price"
	"logstow/internal/retry"
	"logstow/upload"
)

const (
	// firstEstimate is the time after which the requests of a month are estimated for the first time, estimateInterval the
	// time between later estimates. Each is of what was stored since the one before.
	firstEstimate    = time.Hour
	estimateInterval = 24 * time.Hour
	// maxNamedServices is the maximum number of services in the log line of an estimate.
	maxNamedServices = 10
	// suggestedFlushInterval is the --max-flush-interval whose cost is estimated, sharers the number of shippers of the same
	// services that share a relay in the estimate.
	suggestedFlushInterval = 15 * time.Minute
	sharers                = 10

	month = 30 * 24 * time.Hour
)

// Estimate is the estimated cost of the segments of a month at list prices, in dollars: a request for each segment and one for its
// index entity. It is extrapolated from what was stored lately.
type Estimate struct {
	Dollars float64 `json:"dollars"`
	// Services has the part of each service; after [upload.MaxServices], "" is the part of all others.
	Services map[string]float64 `json:"services"`
	// MaxFlushInterval is Dollars at most with --max-flush-interval 15m.
	MaxFlushInterval float64 `json:"with_max_flush_interval_15m"`
	// Relay is this shipper's part if it shared a relay with nine others of the same services.
	Relay float64 `json:"with_relay_of_10"`
}

// estimateRequests extrapolates what was stored between two results of [upload.Uploader.Services] to a month. segment is the cost
// of one segment, flushSize that of Settings.
func estimateRequests(before, after map[string]upload.Delivered, observed time.Duration, segment float64, flushSize int64) Estimate {
	e := Estimate{Services: map[string]float64{}}
	monthly := segment * month.Seconds() / observed.Seconds()
	for name, now := range after {
		was := before[name]
		if now.Segments == was.Segments {
			continue
		}
		segments := float64(now.Segments - was.Segments)
		text, stored := float64(now.RawBytes-was.RawBytes), float64(now.StoredBytes-was.StoredBytes)
		e.Dollars += segments * monthly
		e.Services[name] = segments * monthly
		e.MaxFlushInterval += min(segments, observed.Seconds()/suggestedFlushInterval.Seconds()+text/buffer.LargeText) * monthly
		e.Relay += min(segments, max(segments/sharers, stored/float64(flushSize))) * monthly
	}
	return e
}

// estimateLoop logs the estimated cost of requests and writes it into the status note, until ctx ends.
func (p *pipeline) estimateLoop(ctx context.Context) {
	began, before := time.Now(), p.uploader.Services()
	for wait := firstEstimate; retry.Sleep(ctx, wait) == nil; wait = estimateInterval {
		after := p.uploader.Services()
		if p.opened.billed() {
			usage := price.Usage{Create: 1, Table: 1}
			if p.NoIndex {
				usage.Table = 0
			}
			e := estimateRequests(before, after, time.Since(began), price.Default().Cost(usage), p.FlushSize)
			p.note.update(func(n *Note) { n.Requests = &e })
			e.log(p)
		}
		began, before = time.Now(), after
	}
}

func (e *Estimate) log(p *pipeline) {
	var services []string
	for _, name := range e.byCost() {
		if len(services) == maxNamedServices {
			services = append(services, "…")
			break
		}
		services = append(services, fmt.Sprintf("%s: %.2f", cmp.Or(name, "others"), e.Services[name]))
	}
	p.log.Info("estimated cost of requests", "monthly_dollars", e.Dollars, "services", services,
		"monthly_dollars_with_max_flush_interval_15m", e.MaxFlushInterval, "monthly_dollars_with_relay_of_10", e.Relay)
}

// byCost returns the services, the most expensive first.
func (e *Estimate) byCost() []string {
	return slices.SortedFunc(maps.Keys(e.Services), func(a, b string) int {
		return cmp.Or(cmp.Compare(e.Services[b], e.Services[a]), cmp.Compare(a, b))
	})
}
