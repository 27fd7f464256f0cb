package input

// Batch are events of one service; "" is the configured one.
type Batch struct {
	Service string
	Events  []Event
}

// Batches collects events by service. The zero value is empty.
type Batches struct {
	all []Batch
	// places are the indexes of services in all.
	places map[string]int
}

// Add adds an event of a service.
func (b *Batches) Add(service string, e Event) {
	i, ok := b.places[service]
	if !ok {
		if b.places == nil {
			b.places = map[string]int{}
		}
		i = len(b.all)
		b.places[service] = i
		b.all = append(b.all, Batch{Service: service})
	}
	b.all[i].Events = append(b.all[i].Events, e)
}

// All are the batches, in the order of their first events.
func (b *Batches) All() []Batch { return b.all }
