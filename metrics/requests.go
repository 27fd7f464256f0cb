package metrics

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"logstow/store"
)

// Requests observes the requests to the stores that it wraps: their number, status and duration,
// and the sizes of segments. Make it with [NewRequests]; it is safe for concurrent use.
type Requests struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	sizes    prometheus.Histogram
	retries  prometheus.Counter
	counter  store.Counter
	// lastCreate is when storage last accepted a segment, in Unix nanoseconds.
	lastCreate atomic.Int64
}

// NewRequests returns a Requests that has observed nothing.
func NewRequests() *Requests {
	const kib = 1 << 10
	return &Requests{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "logstow_storage_requests_total", Help: "Requests to storage by operation and status.",
		}, []string{"operation", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "logstow_storage_request_duration_seconds", Help: "Duration of requests to storage.",
			Buckets: []float64{0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30},
		}, []string{"operation"}),
		sizes: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "logstow_segment_size_bytes", Help: "Stored sizes of segments.",
			Buckets: []float64{kib, 4 * kib, 16 * kib, 64 * kib, 256 * kib, 1024 * kib, 4096 * kib, 16384 * kib},
		}),
		retries: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "logstow_output_retries_total", Help: "Failed writes to storage that are retried.",
		}),
	}
}

// LastCreate returns when storage last accepted a segment, or the Unix epoch if it has not.
func (r *Requests) LastCreate() time.Time { return time.Unix(0, r.lastCreate.Load()) }

// Counts returns the numbers of requests so far.
func (r *Requests) Counts() store.Requests { return r.counter.Requests() }

// Store returns a store that sends requests to s and observes them.
func (r *Requests) Store(s store.Store) store.Store { return observedStore{r.counter.Store(s), r} }

// Reading returns the collectors for a program that only reads.
func (r *Requests) Reading() []prometheus.Collector {
	return []prometheus.Collector{r.requests, r.seconds}
}

func (r *Requests) collectors() []prometheus.Collector {
	return []prometheus.Collector{r.requests, r.seconds, r.sizes, r.retries}
}

// observe records a request that began at began and has ended now.
func (r *Requests) observe(operation string, began time.Time, err error) {
	r.requests.WithLabelValues(operation, status(err)).Inc()
	r.seconds.WithLabelValues(operation).Observe(time.Since(began).Seconds())
}

// observeWrite is observe for writes. It also counts failures that are retried.
func (r *Requests) observeWrite(operation string, began time.Time, err error) {
	r.observe(operation, began, err)
	if store.Retryable(err) {
		r.retries.Inc()
	}
}

// status returns the status label of a request.
func status(err error) string {
	if err == nil {
		return "ok"
	}
	for _, c := range []struct {
		class error
		name  string
	}{
		{context.Canceled, "canceled"},
		{store.ErrExists, "exists"},
		{store.ErrNotFound, "not_found"},
		{store.ErrNoContainer, "not_found"},
		{store.ErrNoTable, "not_found"},
		{store.ErrTableBusy, "busy"},
		{store.ErrRange, "invalid"},
		{store.ErrInvalid, "invalid"},
		{store.ErrUnusable, "unusable"},
		{store.ErrAccessDenied, "access_denied"},
		{store.ErrThrottled, "throttled"},
		{store.ErrUnavailable, "unavailable"},
		{store.ErrHeld, "held"},
	} {
		if errors.Is(err, c.class) {
			return c.name
		}
	}
	return "failed"
}

// pages observes each page as a request. The duration does not include the time of the consumer.
func pages[T any](r *Requests, operation string, pages iter.Seq2[[]T, error]) iter.Seq2[[]T, error] {
	return func(yield func([]T, error) bool) {
		began := time.Now()
		for page, err := range pages {
			r.observe(operation, began, err)
			if !yield(page, err) {
				return
			}
			began = time.Now()
		}
	}
}
