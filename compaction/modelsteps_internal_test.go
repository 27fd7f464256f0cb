// The model is explored by one goroutine at a time: the race detector would find nothing, and take gigabytes.

//go:build !race

package compaction

import (
	"errors"
	"fmt"

	"logstow/blobnaming"
	"logstow/store"
)

// compactorSteps are those of one compactor.
func (m *model) compactorSteps(s state, i int) {
	c := &s.compactors[i]
	who := fmt.Sprintf("compactor %d", i+1)
	switch c.phase {
	case phaseList:
		if c.at < modelNames {
			c.seen[c.at] = s.stored[c.at]
			c.at++
			m.step(s, "%s lists %d", who, c.at-1)
			return
		}
		m.planStep(s, i, who)
	case phaseCreate, phaseRetry:
		m.createSteps(s, i, who)
	case phaseRemove:
		for name := range modelNames {
			if c.remove.has(name) {
				next := s
				next.compactors[i].remove &^= setOf(name)
				next.stored[name] = 0
				if next.compactors[i].remove == 0 {
					next.compactors[i] = compactor{phase: phaseDone}
				}
				m.step(next, "%s removes %d", who, name)
			}
		}
	}
}

// planStep plans by what a compactor listed, and removes if there is nothing to make.
func (m *model) planStep(s state, i int, who string) {
	c := &s.compactors[i]
	if m.rules.freeNames && m.freeStep(s, i, who) {
		return
	}
	h := m.hour(&s, c)
	plans, err := h.Plan(m.limits, m.now, nil)
	switch {
	case errors.Is(err, ErrGap):
		*c = compactor{}
		m.step(s, "%s finds a gap", who)
	case errors.Is(err, ErrDamaged):
		*c = compactor{phase: phaseDone}
		m.step(s, "%s halts: %v", who, err)
	case err != nil:
		m.fault = err.Error()
	case len(plans) == 0:
		m.removeStep(s, i, h, who)
	case plans[0].Name.Output() > 3:
		*c = compactor{phase: phaseDone}
		m.step(s, "%s has no name left", who)
	default:
		c.phase, c.at, c.seen, c.generation, c.inputs = phaseCreate, 0, shelf{}, uint8(plans[0].Name.Output()), 0
		for _, in := range plans[0].Inputs {
			c.inputs |= contentOf(m.nameOf(in))
		}
		m.step(s, "%s plans output %d of %04b", who, c.generation, c.inputs)
	}
}

// freeStep deletes the output that a compactor created if an input was not listed then: the broken
// rule of rules.freeNames.
func (m *model) freeStep(s state, i int, who string) bool {
	c := &s.compactors[i]
	if c.generation == 0 {
		return false
	}
	name := output1 + int(c.generation) - 1
	var listed mask
	for n, content := range c.seen {
		if !isOutput(n) {
			listed |= content
		}
	}
	if c.inputs&^listed == 0 {
		return false
	}
	if s.stored[name] == c.inputs {
		s.stored[name] = 0
	}
	*c = compactor{phase: phaseDone}
	m.step(s, "%s deletes output %d", who, name)
	return true
}

// createSteps create an output; the response may be lost.
func (m *model) createSteps(s state, i int, who string) {
	c := &s.compactors[i]
	name := output1 + int(c.generation) - 1
	var err error
	var found *blobnaming.Metadata
	if s.stored[name] != 0 && !m.rules.overwrite {
		err = store.ErrExists
		meta := m.outputs[[2]int{name, int(s.stored[name])}].Meta
		found = &meta
	} else {
		s.stored[name] = c.inputs
	}
	if err == nil && s.losses > 0 {
		lost := s
		lost.losses--
		lost.compactors[i].phase = phaseRetry
		m.step(lost, "%s creates output %d of %04b, response lost", who, c.generation, c.inputs)
	}
	batch := m.outputs[[2]int{name, int(c.inputs)}].Meta.Batch
	switch judge(err, found, batch) {
	case committed:
		made := *c
		*c = compactor{known: c.known}
		if m.rules.freeNames {
			c.generation, c.inputs = made.generation, made.inputs
		}
		m.step(s, "%s has output %d of %04b", who, made.generation, made.inputs)
	case taken:
		generation := c.generation
		*c = compactor{known: c.known}
		m.step(s, "%s finds output %d taken", who, generation)
	case unknown:
		m.fault = "a create is unknown"
	}
}

// removeStep decides by a listing what to remove, and reads the outputs back.
func (m *model) removeStep(s state, i int, h *Hour, who string) {
	c := &s.compactors[i]
	byOutput, _ := removable(h, m.now, m.grace)
	*c = compactor{phase: phaseDone}
	for at, inputs := range byOutput {
		if output := m.nameOf(h.Outputs[at].Segment); s.harm.of(output) != intact && !m.rules.noReadBack {
			*c = compactor{phase: phaseDone}
			m.step(s, "%s reads %d back and halts", who, output)
			return
		}
		c.phase = phaseRemove
		for _, in := range inputs {
			c.remove |= setOf(m.nameOf(in))
		}
	}
	m.step(s, "%s is to remove %08b", who, c.remove)
}

// otherSteps are those of shippers and of retention.
func (m *model) otherSteps(s state) {
	for name := range modelNames {
		if s.coming.has(name) {
			next := s
			next.coming &^= setOf(name)
			next.stored[name] = contentOf(name)
			next.came |= contentOf(name)
			m.step(next, "%d is stored", name)
		}
	}
	order := []int{plainA, copyA, plainB, plainC, plainD, output1, output2, output3}
	if int(s.retained) >= len(order) {
		return
	}
	name := order[s.retained]
	s.expired = true
	s.retained++
	if isOutput(name) && m.highest(s.stored) == name && m.anyPlain(s.stored) {
		s.retained = uint8(len(order)) // the next run goes on
		m.step(s, "retention leaves the last output")
		return
	}
	s.stored[name] = 0
	m.step(s, "retention deletes %d", name)
}

func (m *model) highest(stored shelf) (name int) {
	for i := output1; i <= output3; i++ {
		if stored[i] != 0 {
			name = i
		}
	}
	return name
}

func (m *model) anyPlain(stored shelf) bool {
	for i, content := range stored {
		if content != 0 && !isOutput(i) {
			return true
		}
	}
	return false
}
