package metrics

import (
	"sync"

	"logstow/input"
)

// Inputs holds the counters of inputs by kind, service and address, so that a restarted input continues
// them. The zero value is ready to use; it is safe for concurrent use.
type Inputs struct {
	mu    sync.Mutex
	stats map[inputLabels]*input.Stats
}

type inputLabels struct{ kind, service, address string }

// For returns the counters of inputs of a kind (files, syslog, …) for a service, or for the pattern
// that determines its services; address is the one that it listens on, or "".
func (i *Inputs) For(kind, service, address string) *input.Stats {
	i.mu.Lock()
	defer i.mu.Unlock()
	key := inputLabels{kind, service, address}
	s := i.stats[key]
	if s == nil {
		if i.stats == nil {
			i.stats = make(map[inputLabels]*input.Stats)
		}
		s = new(input.Stats)
		i.stats[key] = s
	}
	return s
}

// each calls yield for all of them.
func (i *Inputs) each(yield func(l inputLabels, s *input.Stats)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for l, s := range i.stats {
		yield(l, s)
	}
}

// Total adds up the numbers of all inputs.
func (i *Inputs) Total() (total InputTotal) {
	i.each(func(_ inputLabels, s *input.Stats) {
		total.Records += s.Records.Load()
		total.Bytes += s.Bytes.Load()
		total.Cut += s.Cut.Load()
		total.Split += s.Split.Load()
		total.TimesRejected += s.TimesRejected.Load()
		total.Ahead += s.Ahead.Load()
		total.TimesNotFound += s.TimesNotFound.Load()
	})
	return total
}

// InputTotal are totals as in [input.Stats].
type InputTotal struct {
	Records, Bytes, Cut, Split, TimesRejected, Ahead, TimesNotFound int64
}
