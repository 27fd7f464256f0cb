// The model is explored by one goroutine at a time: the race detector would find nothing, and take gigabytes.

//go:build !race

package compaction

import "errors"

// The ways in which an output is damaged.
const (
	intact       = iota
	firstDamaged // the block with the records of its first input
	lastDamaged  // that of its last
	listDamaged
)

var errDamagedList = errors.New("damaged")

// harm is what storage and an operator do to outputs. It is comparable.
type harm struct {
	left     uint8 // outputs that may still be damaged
	damage   [3]uint8
	rejected names
	// lost are the contents that were nowhere else when an output was damaged, or were being
	// removed: they cannot be read.
	lost mask
	// waived are the contents of an output that was rejected although its list could not be
	// read: readers do not report what is missing of it.
	waived mask
}

// of is the damage of a name.
func (h *harm) of(name int) uint8 {
	if !isOutput(name) {
		return intact
	}
	return h.damage[name-output1]
}

// unreadable are the contents of an output that cannot be read.
func (h *harm) unreadable(name int, content mask) mask {
	switch h.of(name) {
	case firstDamaged:
		return content & -content
	case lastDamaged:
		last := content
		for last&(last-1) != 0 {
			last &= last - 1
		}
		return last
	case listDamaged:
		return content
	}
	return 0
}

// harmSteps damage an output and reject it.
func (m *model) harmSteps(s state) {
	for name := output1; name <= output3; name++ {
		if s.stored[name] == 0 || s.harm.rejected.has(name) {
			continue
		}
		if damage := s.harm.of(name); damage != intact {
			m.rejectStep(s, name)
			continue
		}
		for damage := uint8(firstDamaged); damage <= listDamaged && s.harm.left > 0; damage++ {
			next := s
			next.harm.left--
			next.harm.damage[name-output1] = damage
			removing := s.compactors[0].remove | s.compactors[1].remove
			unreadable := next.harm.unreadable(name, s.stored[name])
			next.harm.lost |= unreadable &^ next.readable(removing)
			next.reader.excuse(&s, unreadable, removing)
			m.step(next, "output %d is damaged: %d", name, damage)
		}
	}
}

// rejectStep rejects an output and runs compaction again. Reject is for when none runs: one that has not
// listed yet, or is about to create an output, does not matter.
func (m *model) rejectStep(s state, name int) {
	for i := range s.compactors {
		if c := &s.compactors[i]; c.phase == phaseList && c.at > 0 || c.phase == phaseRemove {
			return
		}
	}
	o := m.outputs[[2]int{name, int(s.stored[name])}]
	if s.harm.of(name) == listDamaged {
		o.Inputs = nil
	}
	var l listing
	for i, content := range s.stored {
		if content != 0 && !isOutput(i) {
			l.segments = append(l.segments, m.plain[i])
		}
	}
	if l.missing(o) > 0 && !m.rules.rejectAlways {
		return
	}
	s.harm.rejected |= setOf(name)
	if s.harm.of(name) == listDamaged {
		s.harm.waived |= s.stored[name]
	}
	if s.compactors[0].phase == phaseDone {
		s.compactors[0] = compactor{}
	}
	m.step(s, "output %d is rejected", name)
}
