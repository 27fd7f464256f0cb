package process

import (
	"sync/atomic"

	"logstow/input"
	"logstow/record"
)

// Switch is a processor whose rules can be changed while inputs use it. Safe for concurrent use.
type Switch struct {
	// current is nil if there is nothing to do.
	current atomic.Pointer[input.Processor]
}

// NewSwitch makes a Switch to the processor that [New] returned.
func NewSwitch(p input.Processor) *Switch {
	s := &Switch{}
	s.Set(p)
	return s
}

// Set changes the rules for the records from now on; p is what [New] returned. Samples and rates begin anew.
func (s *Switch) Set(p input.Processor) {
	if p == nil {
		s.current.Store(nil)
		return
	}
	s.current.Store(&p)
}

// Process implements [input.Processor].
func (s *Switch) Process(service string, r *record.Record) (keep bool) {
	p := s.current.Load()
	return p == nil || (*p).Process(service, r)
}
