package compaction

import (
	"errors"
	"fmt"
	"slices"

	"logstow/blobnaming"
	"logstow/containment"
	"logstow/store"
)

// compactorSteps are those of one compactor.
func (m *model) compactorSteps(s state, i int) {
	c := &s.compactors[i]
	who := fmt.Sprintf("compactor %d", i+1)
	switch c.phase {
	case phaseList, phaseRelist:
		if c.at < modelNames {
			c.seen[c.at] = s.stored[c.at]
			c.at++
			m.step(s, "%s lists %d", who, c.at-1)
			return
		}
		if c.phase == phaseList {
			m.planStep(s, i, who)
			return
		}
		m.removeStep(s, i, who)
	case phaseCreate, phaseRetry:
		m.createSteps(s, i, who)
	case phaseRemove:
		for name := range modelNames {
			if c.remove&(1<<name) != 0 {
				next := s
				next.compactors[i].remove &^= 1 << name
				next.stored[name] = 0
				if next.compactors[i].remove == 0 {
					next.compactors[i] = compactor{phase: phaseDone}
				}
				m.step(next, "%s removes %d", who, name)
			}
		}
	}
}

// planStep plans by what a compactor listed.
func (m *model) planStep(s state, i int, who string) {
	c := &s.compactors[i]
	h := m.hour(c.seen, s.stored)
	plans, err := h.Plan(m.limits, m.now, nil)
	switch {
	case errors.Is(err, ErrGap):
		*c = compactor{}
		m.step(s, "%s finds a gap", who)
	case err != nil:
		m.fault = err.Error()
	case len(plans) == 0:
		m.removeStep(s, i, who)
	case plans[0].Name.Output() > 3:
		*c = compactor{phase: phaseDone}
		m.step(s, "%s has no name left", who)
	default:
		c.phase, c.at, c.seen, c.generation, c.inputs = phaseCreate, 0, shelf{}, uint8(plans[0].Name.Output()), 0
		for _, in := range plans[0].Inputs {
			c.inputs |= contentOf(m.nameOf(in))
		}
		m.step(s, "%s plans output %d of %03b", who, c.generation, c.inputs)
	}
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
		m.step(lost, "%s creates output %d of %03b, response lost", who, c.generation, c.inputs)
	}
	batch := m.outputs[[2]int{name, int(c.inputs)}].Meta.Batch
	switch judge(err, found, batch) {
	case committed:
		c.phase = phaseRelist
		m.step(s, "%s has output %d of %03b", who, c.generation, c.inputs)
	case taken:
		*c = compactor{}
		m.step(s, "%s finds output %d taken", who, c.generation)
	case unknown:
		m.fault = "a create is unknown"
	}
}

// removeStep decides by a listing what to remove, and looks whether the outputs are there.
func (m *model) removeStep(s state, i int, who string) {
	c := &s.compactors[i]
	h := m.hour(c.seen, s.stored)
	if m.rules.freeNames && c.generation > 0 {
		name := output1 + int(c.generation) - 1
		var listed mask
		for n, content := range c.seen {
			if !isOutput(n) {
				listed |= content
			}
		}
		if c.inputs&^listed != 0 {
			if s.stored[name] == c.inputs {
				s.stored[name] = 0
			}
			*c = compactor{phase: phaseDone}
			m.step(s, "%s deletes output %d", who, name)
			return
		}
	}
	if h.check() != nil {
		*c = compactor{phase: phaseDone}
		m.step(s, "%s ends", who)
		return
	}
	byOutput, _ := removable(h, m.now, 0)
	c.remove = 0
	for _, inputs := range byOutput {
		for _, in := range inputs {
			c.remove |= 1 << m.nameOf(in)
		}
	}
	c.phase, c.at, c.seen = phaseRemove, 0, shelf{}
	if c.remove == 0 {
		*c = compactor{phase: phaseDone}
	}
	m.step(s, "%s is to remove %07b", who, c.remove)
}

// readerSteps are those of the reader.
func (m *model) readerSteps(s state) {
	r := &s.reader
	if !s.reads {
		if r.phase == phaseDone {
			return
		}
		s.reads = true
		for _, content := range s.stored {
			r.started |= content
		}
		m.step(s, "reader begins")
		return
	}
	switch r.phase {
	case phaseList, phaseLookAgain:
		from, to := 0, modelNames
		if r.phase == phaseLookAgain {
			from, to = output1, output3+1
		}
		if at := from + int(r.at); at < to {
			if s.stored[at] != 0 {
				r.seen[at] = s.stored[at]
			}
			r.at++
			m.step(s, "reader lists %d", at)
			return
		}
		r.at, r.phase = 0, r.phase+1
		if r.phase == phaseList+1 {
			r.phase = phaseLookAgain
			if m.rules.noSecondLook {
				r.phase = phasePlan
			}
		}
		m.step(s, "reader goes on")
	case phasePlan:
		m.readerPlans(s)
	case phaseRead:
		m.readerReads(s)
	}
}

// take notes that a reader has the records of some content.
func (r *reader) take(content mask) {
	r.twice = r.twice || r.got&content != 0
	r.got |= content
}

// readerPlans hides what outputs contain and reads the outputs.
func (m *model) readerPlans(s state) {
	r := &s.reader
	var segments []containment.Segment
	var outputs []containment.Output
	for i, content := range r.seen {
		switch {
		case content == 0:
		case isOutput(i):
			o := m.outputs[[2]int{i, int(content)}]
			if s.stored[i] != content {
				r.lost = true // only retention deletes outputs
				continue
			}
			outputs = append(outputs, o)
		default:
			segments = append(segments, m.plain[i])
		}
	}
	shared := containment.Shared(outputs)
	for i, o := range outputs {
		for j, in := range o.Inputs {
			if !slices.Contains(shared[i], j) {
				r.take(mask(in.Batch[0]))
			}
		}
	}
	seen := make(map[containment.Identity]bool)
	for i, place := range containment.Contain(segments, outputs) {
		if place.Contained() || seen[segments[i].Identity()] {
			continue
		}
		seen[segments[i].Identity()] = true
		r.todo |= 1 << m.nameOf(segments[i])
	}
	r.phase, r.seen = phaseRead, shelf{}
	m.step(s, "reader reads outputs, then %07b", r.todo)
}

// readerReads reads a plain segment, or looks for its records where they went.
func (m *model) readerReads(s state) {
	r := &s.reader
	if r.todo == 0 {
		r.phase = phaseDone
		m.step(s, "reader ends")
		return
	}
	for name := range modelNames {
		if r.todo&(1<<name) == 0 {
			continue
		}
		next := s
		next.reader.todo &^= 1 << name
		content := contentOf(name)
		if next.reader.take(content); s.stored[name] == 0 && !m.elsewhere(s.stored, name) {
			next.reader.lost = true
			next.reader.got &^= content
		}
		m.step(next, "reader reads %d", name)
		return // the order of reads does not matter
	}
}

// elsewhere reports whether the records of a vanished segment are in an output or a copy.
func (m *model) elsewhere(stored shelf, name int) bool {
	if m.rules.noVanishedInputs {
		return false
	}
	var outputs []containment.Output
	for i, content := range stored {
		switch {
		case content != 0 && isOutput(i):
			outputs = append(outputs, m.outputs[[2]int{i, int(content)}])
		case content != 0 && content == contentOf(name):
			return true
		}
	}
	return containment.Contain([]containment.Segment{m.plain[name]}, outputs)[0].Contained()
}

// otherSteps are those of shippers and of retention.
func (m *model) otherSteps(s state) {
	if !s.late {
		next := s
		next.late, next.stored[plainC] = true, contentOf(plainC)
		m.step(next, "late segment is stored")
	}
	if !s.dup {
		next := s
		next.dup, next.stored[copyA] = true, contentOf(copyA)
		m.step(next, "batch is stored again")
	}
	order := []int{plainA, copyA, plainB, plainC, output1, output2, output3}
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
