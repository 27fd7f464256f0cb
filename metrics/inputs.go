package metrics

import (
	"sync"

	"logstow/input"
)

// Inputs holds the counters of inputs by kind, service and address. An input that is opened again continues
// its counters. The zero value is ready to use. It is safe for concurrent use.
type Inputs struct {
	mu    sync.Mutex
	stats map[inputLabels]*input.Stats
}

type inputLabels struct{ kind, service, address string }

// For returns the counters of the inputs of a kind (files, syslog, …). service is a service or the pattern that
// determines the services. address is the address that the input listens on, or "".
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

// each calls yield with the counters of each input.
func (i *Inputs) each(yield func(l inputLabels, s *input.Stats)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for l, s := range i.stats {
		yield(l, s)
	}
}

// Total returns the sums over all inputs.
func (i *Inputs) Total() (total InputTotal) {
	i.each(func(_ inputLabels, s *input.Stats) {
		total.Records += s.Records.Load()
		total.Bytes += s.Bytes.Load()
		total.Cut += s.Cut.Load()
		total.NULs += s.NULs.Load()
		total.Split += s.Split.Load()
		total.TimesRejected += s.TimesRejected.Load()
		total.Ahead += s.Ahead.Load()
		total.TimesNotFound += s.TimesNotFound.Load()
		total.Dropped += s.Dropped.Load()
		total.LostByKernel += s.LostByKernel.Load()
		total.Incomplete += s.Incomplete.Load()
		total.Invalid += s.Invalid.Load()
		total.FileBytes += s.FileBytes.Load()
		total.FileBytesRead += s.FileBytesRead.Load()
	})
	return total
}

// InputTotal holds sums of counters of [input.Stats].
type InputTotal struct {
	Records, Bytes, Cut, NULs, Split, TimesRejected, Ahead, TimesNotFound int64
	Dropped, LostByKernel, Incomplete, Invalid                            int64
	FileBytes, FileBytesRead                                              int64
}
