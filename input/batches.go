package input

import "slices"

// Batch has events of one service; Service "" means the configured one.
type Batch struct {
	Service string
	Events  []Event
}

// Batches collects events by service. The zero value is empty.
type Batches struct {
	all []Batch
	// indexes are the indexes of the services in all.
	indexes map[string]int
}

// Add adds an event of a service.
func (b *Batches) Add(service string, e Event) {
	events := b.Of(service, 0)
	*events = append(*events, e)
}

// Of returns the events of a service, with space for n more. It is valid until the next call.
func (b *Batches) Of(service string, n int) *[]Event {
	i, ok := b.indexes[service]
	if !ok {
		if b.indexes == nil {
			b.indexes = map[string]int{}
		}
		i = len(b.all)
		b.indexes[service] = i
		b.all = append(b.all, Batch{Service: service})
	}
	events := &b.all[i].Events
	*events = slices.Grow(*events, n)
	return events
}

// All returns the batches in the order of their first events.
func (b *Batches) All() []Batch { return b.all }
