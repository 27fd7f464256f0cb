//go:build !race

package compaction

// writerSteps are those of shippers, honest and hostile.
func (m *model) writerSteps(s state) {
	if s.second < m.scene.seconds {
		next := s
		next.second++
		m.step(next, "a second passes")
	}
	for at, i := range m.scene.coming {
		if s.coming&(1<<at) != 0 && s.raw[i.name] == 0 {
			next := s
			next.coming &^= 1 << at
			i.second += s.second
			c := m.code(i)
			next.raw[i.name] = c
			if i.name != elsewhere {
				next.came |= m.content(c)
			}
			if m.scene.indexed {
				next.index.coming |= 1 << c
			}
			m.step(next, "%s is stored", i)
		}
	}
	for _, i := range m.scene.hostile {
		if s.hostiles > 0 && (s.raw[i.name] == 0 || m.off("permissions")) {
			next := s
			next.hostiles--
			i.second += s.second
			next.raw[i.name] = m.code(i)
			m.step(next, "hostile: %s in second %d", i, i.second)
		}
	}
	if m.off("tier") && s.forged { // what is in the raw container counts
		next := s
		next.forged = false
		if next.comp[1].inputs == 0 {
			next.comp[1] = output{inputs: 16 << 1}
		}
		m.step(next, "a forged output of B counts")
		next = s
		next.forged = false
		next.marks |= 1
		m.step(next, "a forged marker counts")
	}
	s.index.coming.each(func(c code) { // late, whatever happened to the segment
		next := s
		next.index.coming &^= 1 << c
		next.index.raw[m.items[c].name] = c
		m.step(next, "%s is indexed", m.items[c])
	})
}

// index has the entities of segments. It is comparable.
type index struct {
	raw    [rawNames]code
	comp   [slots]output
	coming codes // items whose entities are still to be written
}

// compacted adds the outputs that a compactor has listed, and then removes the entities of the inputs that it removes.
func (x *index) compacted(seen shelf, inputs codes, m *model) {
	for slot, o := range seen.comp {
		if o.inputs != 0 {
			x.comp[slot] = o
		}
	}
	inputs.each(func(c code) {
		if name := m.items[c].name; x.raw[name] == c {
			x.raw[name] = 0
		}
	})
}

// indexed are the honest contents that are in the index.
func (m *model) indexed(s *state) (all mask) {
	for _, c := range s.index.raw {
		if c != 0 {
			all |= m.content(c)
		}
	}
	for _, o := range s.index.comp {
		all |= o.inputs
	}
	return all
}

// harmSteps damage an output and reject it.
func (m *model) harmSteps(s state) {
	for slot, o := range s.comp {
		if o.inputs == 0 || s.marks&(1<<slot) != 0 {
			continue
		}
		if o.damage != intact {
			m.rejectStep(s, slot)
			continue
		}
		for damage := uint8(lowDamaged); damage <= listDamaged && s.harms > 0; damage++ {
			next := s
			next.harms--
			next.comp[slot].damage = damage
			unreadable := next.comp[slot].unreadable()
			removing := codes(0)
			for _, c := range s.compactors {
				if c.phase == phaseRemove {
					removing |= c.inputs
				}
			}
			safe := next
			for name, c := range safe.raw {
				if removing.has(c) {
					safe.raw[name] = 0
				}
			}
			next.lost |= unreadable &^ m.readable(&safe)
			next.reader.excuse(m, &safe, unreadable)
			m.step(next, "output %d is damaged: %03b is unreadable", slot+1, unreadable)
		}
	}
}

// The outcomes of a rejection.
const (
	rejected = iota + 1
	refused
)

// rejectStep rejects an output, when no compaction runs, and lets one run afterwards.
func (m *model) rejectStep(s state, slot int) {
	for i := range s.compactors {
		if c := &s.compactors[i]; c.phase != phaseDone {
			return
		}
	}
	shelf := s.shelf
	for i := range shelf.comp {
		shelf.comp[i].damage = intact
	}
	k := shelfPair{shelf, s.shelf}
	k.now.marks |= 1 << slot // not of what is stored: it makes the key one of this slot
	got := m.memo.rejects[k]
	if got == 0 {
		r := m.use(m.storeOf(shelf, s.shelf, 0))
		got = rejected
		if _, err := r.inputsExist(m.ctx, nameOfSlot(slot), !m.off("reject")); err != nil {
			got = refused
		}
		m.memo.rejects[k] = got
	}
	if got == refused {
		return
	}
	if o := s.comp[slot]; o.damage == listDamaged { // its inputs are not known: the operator makes sure that they exist
		raw := s
		raw.comp = [slots]output{}
		if o.inputs&^m.readable(&raw) != 0 {
			return
		}
	}
	s.marks |= 1 << slot
	s.compactors[0] = compactor{left: 1}
	m.step(s, "output %d is rejected", slot+1)
}

// retention is one that deletes the day. It is comparable.
type retention struct {
	phase, last uint8
	raw         [rawNames]code // to delete
}

const (
	retainIdle = iota
	retainRaw
	retainOutputs
	retainLooks
	retainLast
)

// retentionSteps delete an expired day: raw segments, then outputs in ascending order, the last one if a new listing shows nothing else.
func (m *model) retentionSteps(s state) {
	if !m.scene.retention {
		return
	}
	t := &s.retention
	first, last := slots, slots
	for slot, o := range s.comp {
		if o.inputs != 0 {
			first, last = min(first, slot), slot
		}
	}
	switch {
	case !s.expired:
		s.expired = true
		m.step(s, "the day expires")
	case t.phase == retainIdle:
		t.phase = retainRaw
		copy(t.raw[:], s.raw[:])
		m.step(s, "retention lists")
	case t.phase == retainRaw:
		for name, c := range t.raw {
			if c == 0 {
				continue
			}
			t.raw[name] = 0
			if s.raw[name] == c {
				s.raw[name] = 0
			}
			m.step(s, "retention deletes raw %d", name)
			return
		}
		t.phase, t.last = retainOutputs, uint8(last)
		m.step(s, "retention lists outputs")
	case first == slots || last > int(t.last) && t.phase != retainLast:
		*t = retention{}
		m.step(s, "retention ends")
	case t.phase == retainOutputs && first < int(t.last):
		s.comp[first] = output{}
		m.step(s, "retention deletes output %d", first+1)
	case t.phase == retainOutputs:
		t.phase = retainLooks
		for _, c := range s.raw[:rawNames] {
			if c != 0 {
				*t = retention{}
			}
		}
		m.step(s, "retention lists raw again")
	case t.phase == retainLooks:
		t.phase = retainLast
		m.step(s, "retention lists outputs again")
	default:
		s.comp[t.last] = output{}
		*t = retention{}
		m.step(s, "retention deletes the last output")
	}
}

// replica is the store in another region. It is comparable.
type replica struct {
	on   bool
	raw  [rawNames]code
	comp [slots]output
	ever mask // honest contents that ever were there
}

// young are the outputs that are not in the other region: they were created after the last synchronization.
func (s *state) young(m *model) (slots uint8) {
	if !s.replica.on || m.off("grace") {
		return 0
	}
	for slot, o := range s.comp {
		if s.replica.comp[slot] != o {
			slots |= 1 << slot
		}
	}
	return slots
}

// replicaSteps replicate changes in any order, and fail over.
func (m *model) replicaSteps(s state) {
	if !s.replica.on {
		return
	}
	for name, c := range s.raw[:rawNames] {
		if s.replica.raw[name] != c {
			next := s
			next.replica.raw[name] = c
			if c != 0 && m.items[c].kind == honest {
				next.replica.ever |= m.content(c)
			}
			m.step(next, "raw %d is replicated", name)
		}
	}
	for slot, o := range s.comp {
		if s.replica.comp[slot] != o {
			next := s
			next.replica.comp[slot] = o
			next.replica.ever |= o.inputs & certified
			m.step(next, "output %d is replicated", slot+1)
		}
	}
	s.raw, s.comp = [rawNames + 1]code{}, s.replica.comp
	copy(s.raw[:], s.replica.raw[:])
	s.came, s.replica = s.replica.ever, replica{}
	for i := range s.compactors {
		s.compactors[i].done()
	}
	m.step(s, "failover")
}
