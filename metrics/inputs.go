package metrics

import (
	"sync"

	"logstow/input"
)

// Inputs holds the numbers of inputs by kind and service, so that those of an
// input that was ended and begun again go on. The zero value is ready; it is
// safe for concurrent use.
type Inputs struct {
	mu    sync.Mutex
	stats map[inputLabels]*input.Stats
}

type inputLabels struct{ kind, service string }

// For is what an input of that kind (files, syslog, …) counts in for a service, or for
// the pattern that finds its services.
func (i *Inputs) For(kind, service string) *input.Stats {
	i.mu.Lock()
	defer i.mu.Unlock()
	key := inputLabels{kind, service}
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

// InputTotal are numbers as in [input.Stats].
type InputTotal struct {
	Records, Bytes, Cut, Split, TimesRejected, Ahead, TimesNotFound int64
}
