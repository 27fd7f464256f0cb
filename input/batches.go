package input

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
	i, ok := b.indexes[service]
	if !ok {
		if b.indexes == nil {
			b.indexes = map[string]int{}
		}
		i = len(b.all)
		b.indexes[service] = i
		b.all = append(b.all, Batch{Service: service})
	}
	b.all[i].Events = append(b.all[i].Events, e)
}

// All returns the batches in the order of their first events.
func (b *Batches) All() []Batch { return b.all }
