// The model is explored by one goroutine at a time: the race detector would find nothing, and take gigabytes.

//go:build !race

package compaction

import (
	"fmt"
	"slices"

	"logstow/containment"
)

// reader is a query. It is comparable.
type reader struct {
	phase, at uint8
	begun     bool
	seen      shelf
	rejected  names // outputs whose marker it listed
	// todo are the names to read, without some contents of each; hidden are plain segments that
	// it leaves out because outputs contain them.
	todo, hidden names
	without      shelf
	got          mask
	twice        bool
	// wanted are the contents it is to have: what was stored when it began, and the plain segments
	// it listed. Of an output stored later it has what it reads, or reports it.
	wanted, listed mask
	excused        mask // contents that were lost to it alone: it could not list their copies
	reported       bool // that something is missing
}

// wrong returns what a reader did wrong, "" if nothing.
func (r *reader) wrong(s *state) string {
	missing := r.wanted &^ r.got
	unreported := (r.wanted | r.listed) &^ r.got &^ s.harm.waived
	switch {
	case r.twice:
		return "the reader has a record twice"
	case r.phase != phaseDone || s.expired:
	case missing&^s.harm.lost&^r.excused != 0:
		return fmt.Sprintf("the reader misses a record: has %04b of %04b", r.got, r.wanted)
	case unreported != 0 && !r.reported:
		return fmt.Sprintf("the reader does not report a record that it misses: has %04b, not %04b", r.got, unreported)
	}
	return ""
}

// excuse notes that contents became unreadable in an output: it can only have them of plain segments
// that it listed, or will, and that are not removed.
func (r *reader) excuse(s *state, unreadable mask, removing names) {
	if !r.begun {
		return
	}
	for i, content := range s.stored {
		listed := r.seen[i] != 0 || r.phase == phaseList && i >= int(r.at)
		if !isOutput(i) && listed && !removing.has(i) {
			unreadable &^= content
		}
	}
	r.excused |= unreadable
}

// take notes that a reader has the records of some content.
func (r *reader) take(content mask) {
	r.twice = r.twice || r.got&content != 0
	r.got |= content
}

// readerSteps are those of the reader.
func (m *model) readerSteps(s state) {
	r := &s.reader
	if r.phase == phaseDone {
		return
	}
	if !r.begun {
		r.begun = true
		for i, content := range s.stored {
			if !s.harm.rejected.has(i) {
				r.wanted |= content
			}
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
			r.rejected |= s.harm.rejected & setOf(at)
			r.at++
			m.step(s, "reader lists %d", at)
			return
		}
		if r.at = 0; r.phase == phaseLookAgain || m.rules.noSecondLook {
			r.phase = phasePlan
		} else {
			r.phase = phaseLookAgain
		}
		m.step(s, "reader goes on")
	case phasePlan:
		m.readerPlans(s)
	case phaseRead:
		m.readerReads(s)
	}
}

// readerPlans reads the outputs' lists and hides what they contain.
func (m *model) readerPlans(s state) {
	r := &s.reader
	var segments []containment.Segment
	var outputs []containment.Output
	for i, content := range r.seen {
		switch {
		case content == 0, r.rejected.has(i):
		case !isOutput(i):
			segments = append(segments, m.plain[i])
			r.wanted |= content
		case s.stored[i] != content: // only retention deletes outputs
			r.reported = true
		case s.harm.of(i) == listDamaged:
			r.reported = true
			if m.rules.readUnlisted {
				r.todo |= setOf(i)
			}
		default:
			outputs = append(outputs, m.outputs[[2]int{i, int(content)}])
			r.todo |= setOf(i)
			r.listed |= content
		}
	}
	for i, inputs := range containment.Shared(outputs) {
		for _, input := range inputs {
			r.without[m.nameOf(outputs[i].Segment)] |= mask(outputs[i].Inputs[input].Batch[0])
		}
	}
	seen := make(map[containment.Identity]bool)
	for i, place := range containment.Contain(segments, outputs) {
		if seen[segments[i].Identity()] {
			continue
		}
		seen[segments[i].Identity()] = true
		if name := setOf(m.nameOf(segments[i])); place.Contained() {
			r.hidden |= name
		} else {
			r.todo |= name
		}
	}
	r.phase = phaseRead
	m.step(s, "reader reads %08b, not %08b", r.todo, r.hidden)
}

// readerReads reads the next segment.
func (m *model) readerReads(s state) {
	r := &s.reader
	for name := range modelNames {
		if !r.todo.has(name) {
			continue
		}
		// The order of reads does not matter.
		r.todo &^= setOf(name)
		if isOutput(name) {
			m.readsOutput(s, name)
		} else {
			m.readsPlain(s, name)
		}
		return
	}
	*r = reader{phase: phaseDone, got: r.got, wanted: r.wanted, listed: r.listed, excused: r.excused, twice: r.twice, reported: r.reported}
	m.step(s, "reader ends")
}

// readsOutput reads an output. If a part of it is damaged, it reads the inputs that it hid for
// the records that it does not have.
func (m *model) readsOutput(s state, name int) {
	r := &s.reader
	content := r.seen[name]
	rest := content &^ r.without[name]
	bad := s.harm.unreadable(name, content)
	if m.rules.readUnlisted {
		bad = 0
	}
	switch {
	case s.stored[name] != content:
		r.reported = true
	case rest&bad == 0:
		r.take(rest)
	default:
		if !m.rules.noFallback {
			for i := range modelNames {
				if r.hidden.has(i) && contentOf(i)&rest != 0 {
					r.todo |= setOf(i)
					r.hidden &^= setOf(i)
					rest &^= contentOf(i)
				}
			}
		}
		r.take(rest &^ bad)
		r.reported = r.reported || rest&bad != 0
	}
	m.step(s, "reader reads output %d", name)
}

// readsPlain reads a plain segment. If it vanished, an output that contains it takes the place of all
// of its inputs that are still to be read.
func (m *model) readsPlain(s state, name int) {
	r := &s.reader
	content := contentOf(name)
	for i, stored := range s.stored { // itself, or a copy that was listed
		if !isOutput(i) && stored == content && r.seen[i] != 0 {
			r.take(content)
			m.step(s, "reader reads %d", i)
			return
		}
	}
	output := m.outputOf(&s, name)
	switch {
	case output < 0:
		r.reported = true
		m.step(s, "reader misses %d", name)
		return
	case r.seen[output] == 0 || r.rejected.has(output):
		r.seen[output] = s.stored[output]
		r.without[output] = s.stored[output]
		for i := range modelNames {
			if r.todo.has(i) && contentOf(i)&s.stored[output] != 0 {
				r.todo &^= setOf(i)
				if !m.rules.forgetReplaced {
					r.hidden |= setOf(i)
				}
				r.without[output] &^= contentOf(i)
			}
		}
		r.without[output] &^= content
	case r.todo.has(output):
		r.without[output] &^= content
	default:
		r.without[output] = s.stored[output] &^ content // it has the others
	}
	r.todo |= setOf(output)
	m.step(s, "reader finds %d in output %d", name, output)
}

// outputOf is the output that contains a plain segment, -1 if there is none.
func (m *model) outputOf(s *state, name int) int {
	if m.rules.noVanishedInputs {
		return -1
	}
	var outputs []containment.Output
	for i, content := range s.stored {
		if content != 0 && isOutput(i) && !s.harm.rejected.has(i) && s.harm.of(i) != listDamaged {
			outputs = append(outputs, m.outputs[[2]int{i, int(content)}])
		}
	}
	place := slices.IndexFunc(outputs, func(o containment.Output) bool {
		return containment.Contain([]containment.Segment{m.plain[name]}, []containment.Output{o})[0].Contained()
	})
	if place < 0 {
		return -1
	}
	return m.nameOf(outputs[place].Segment)
}
