package match

import (
	"slices"
	"sync"

	"logstow/field/where"
)

// origins decides for which instances of services expressions may be true. Safe for concurrent use.
type origins struct {
	mu   sync.Mutex
	each []func(service, instance string) bool
}

// newOrigins returns nil if the expressions may be true for every instance.
func newOrigins(programs []*where.Program) *origins {
	o := &origins{}
	for _, p := range programs {
		if holds := p.OfOrigins(); holds != nil {
			o.each = append(o.each, holds)
		}
	}
	if len(o.each) == 0 {
		return nil
	}
	return o
}

// mayHold reports whether all expressions may be true for records of an instance of a service.
func (o *origins) mayHold(service, instance string) bool {
	if o == nil {
		return true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return !slices.ContainsFunc(o.each, func(holds func(string, string) bool) bool { return !holds(service, instance) })
}
