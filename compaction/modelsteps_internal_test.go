//go:build !race

package compaction

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"logstow/blobnaming"
	"logstow/catalog"
	"logstow/internal/retry"
	"logstow/store"
)

// compactor is one that runs Run's steps. It is comparable.
type compactor struct {
	phase, at uint8
	left      uint8 // commits
	seen      shelf
	known     uint8 // slots of outputs whose list it has read
	damaged   codes // inputs that could not be merged
	slot      uint8 // of the generation that it makes
	file      mask
	inputs    codes // also those to remove
}

// again makes a compactor list again.
func (c *compactor) again() { *c = compactor{left: c.left, known: c.known, damaged: c.damaged} }

func (c *compactor) done() { *c = compactor{phase: phaseDone} }

// setting is how a compactor is run: which hours have ended, and how many inputs an output has at most.
type setting uint8

const (
	firstHour setting = iota
	wholeDay
	oneInput
	settings
)

func (s setting) String() string { return [...]string{"first hour", "day", "day, one input each"}[s] }

func (s setting) limits() (l Limits, to time.Time) {
	l, to = DefaultLimits(), modelDay().Add(day)
	l.Late, l.Pending = 1, 1
	switch s {
	case firstHour:
		to = hourOf(0).Add(time.Hour)
	case oneInput:
		l.Inputs = 1
	}
	return l, to
}

// planKey is what a plan depends on.
type planKey struct {
	seen, now shelf
	known     uint8
	skip      codes
	young     uint8
}

// decision is what a compactor does after it has listed: make an output, or end.
type decision struct {
	setting setting
	slot    uint8
	inputs  codes
	err     error
}

// now is what matters of what is stored now to one who has listed seen.
func (s *state) now(seen shelf) shelf {
	for i, c := range seen.raw {
		if s.raw[i] != c {
			seen.raw[i] = 0
		}
	}
	for i, o := range seen.comp {
		if s.comp[i].inputs != o.inputs {
			seen.comp[i] = output{}
		} else {
			seen.comp[i] = s.comp[i]
		}
	}
	return seen
}

// chains are the chains of a listing, with the lists of the outputs as they are read now.
func (m *model) chains(k planKey) []*Chain {
	r := m.use(m.storeOf(k.seen, k.now, k.young))
	known := make(map[store.BlobRef]catalog.Output)
	for slot, o := range k.seen.comp {
		if k.known&(1<<slot) != 0 && o.inputs != 0 {
			m.mustKnow(known, slot, o)
		}
	}
	var all []*Chain
	m.must(r.catalog.Walk(m.ctx, "web", modelDay(), modelDay().Add(day), InChain, func(d *catalog.Day) error {
		all = Chains(d)
		return nil
	}))
	for _, c := range all {
		m.must(r.readOutputs(m.ctx, c.Outputs, known))
	}
	return all
}

// mustKnow adds the intact list of an output.
func (m *model) mustKnow(known map[store.BlobRef]catalog.Output, slot int, o output) {
	o.damage = intact
	b := m.outputBlob(slot, o, false)
	meta, err := blobnaming.ParseMetadata(b.Metadata)
	m.must(err)
	s := catalog.Segment{Name: nameOfSlot(slot), Meta: meta, Size: b.Size, ETag: b.ETag, Created: b.Created}
	got, err := catalog.ReadOutput(m.ctx, retry.Range(&container{stored: []blob{b}}, s.Ref()), s)
	m.must(err)
	known[s.Ref()] = got
}

// plan returns what a compactor may do after it has listed.
func (m *model) plan(k planKey) []decision {
	if got, ok := m.memo.plans[k]; ok {
		return got
	}
	chains := m.chains(k)
	skip := func(s catalog.Segment) bool { return k.skip.has(m.codeOf(s)) }
	all := []decision{}
	for _, c := range chains {
		if len(c.Plain) == 0 {
			continue
		}
		if m.off("contain") {
			for i := range c.Outputs {
				c.Outputs[i].Inputs = nil
			}
		}
		for how := range settings {
			l, to := how.limits()
			for _, c := range m.grouped(c) {
				plans, err := c.Plan(l, modelDay().Add(36*time.Hour), to, skip)
				switch {
				case err != nil:
					all = append(all, decision{setting: how, err: err})
				case len(plans) > 0:
					d := decision{setting: how, slot: uint8(slotOf(plans[0].Name))}
					for _, s := range plans[0].Inputs {
						d.inputs |= 1 << m.codeOf(s)
					}
					if d.slot < slots && !slices.ContainsFunc(all, func(o decision) bool { return o.slot == d.slot && o.inputs == d.inputs }) {
						all = append(all, d)
					}
				}
			}
		}
	}
	m.memo.plans[k] = all
	return all
}

// grouped is a chain alone; if the rule that twins are resolved before grouping is broken, its parsers are planned each for itself.
func (m *model) grouped(c *Chain) []*Chain {
	if !m.off("pregroup") {
		return []*Chain{c}
	}
	var all []*Chain
	for _, parser := range []string{"", "json/1"} {
		one := *c
		other := func(s catalog.Segment) bool { return s.Meta.Parse != parser || s.Meta.Class != c.Class }
		one.Plain = slices.DeleteFunc(slices.Clone(c.Plain), other)
		one.Twins = make(map[blobnaming.Batch][]catalog.Segment)
		for batch, twins := range c.Twins {
			one.Twins[batch] = slices.DeleteFunc(slices.Clone(twins), other)
		}
		all = append(all, &one)
	}
	return all
}

func (m *model) codeOf(s catalog.Segment) code {
	for c, b := range m.blobs {
		if b.ETag == s.ETag {
			return code(c)
		}
	}
	m.must(fmt.Errorf("%s is unknown", s.Name))
	return 0
}

// compactorSteps are those of one compactor.
func (m *model) compactorSteps(s state, i int) {
	c := &s.compactors[i]
	who := i + 1
	switch c.phase {
	case phaseList:
		if c.at < rawNames {
			c.seen.raw[c.at] = s.raw[c.at]
			c.seen.forged = s.forged
			c.at++
			m.step(s, "compactor %d lists raw %d", who, c.at-1)
		} else if at := int(c.at) - rawNames; at < len(m.pages) {
			c.at++
			m.step(s, "compactor %d lists %s", who, m.list(&c.seen, &s.shelf, at))
		} else {
			m.planSteps(s, i, who)
		}
	case phaseCreate:
		m.createSteps(s, i, who)
	case phaseNames:
		if int(c.at) < len(m.pages) {
			c.at++
			m.step(s, "compactor %d lists %s", who, m.list(&c.seen, &s.shelf, int(c.at)-1))
		} else {
			m.renameStep(s, i, who)
		}
	case phaseRemove:
		m.removeSteps(s, i, who)
	}
}

// list adds a page of the compacted container to what someone has seen.
func (m *model) list(seen *shelf, s *shelf, at int) page {
	p := m.pages[at]
	if p.mark {
		seen.marks |= s.marks & (1 << p.slot)
	} else {
		seen.comp[p.slot] = output{inputs: s.comp[p.slot].inputs}
	}
	return p
}

// planSteps plan by what a compactor listed, and remove if there is nothing to make.
func (m *model) planSteps(s state, i int, who int) {
	c := &s.compactors[i]
	all := m.plan(planKey{seen: c.seen, now: s.now(c.seen), known: c.known, skip: c.damaged})
	for slot, o := range c.seen.comp {
		if o.inputs != 0 && s.comp[slot].inputs == o.inputs && s.comp[slot].damage != listDamaged {
			c.known |= 1 << slot
		}
	}
	if c.left == 0 || len(all) == 0 {
		m.ownRemoval(s, i, who)
		return
	}
	for _, d := range all {
		next := s
		c := &next.compactors[i]
		if d.err != nil {
			c.done()
			m.step(next, "compactor %d (%s) ends: %v", who, d.setting, d.err)
			continue
		}
		m.buildStep(next, i, d, who)
	}
}

// buildKey is what the build of an output depends on: the items that were listed, and those under their names now.
type buildKey struct {
	inputs codes
	now    [rawNames + 1]code
}

// buildStep builds an output.
func (m *model) buildStep(s state, i int, d decision, who int) {
	c := &s.compactors[i]
	var now shelf
	file, gone, bad := mask(0), false, code(0)
	d.inputs.each(func(listed code) {
		name := m.items[listed].name
		now.raw[name] = s.raw[name]
		if s.raw[name] != listed && m.off("etag") {
			bad = listed
		}
		gone = gone || s.raw[name] == 0 || s.raw[name] != listed && !m.off("etag")
		file |= m.content(listed)
	})
	if !gone && bad == 0 && !m.off("verify") {
		bad = m.build(buildKey{d.inputs, now.raw})
	}
	switch {
	case gone:
		c.again()
		m.step(s, "compactor %d lists again: an input is gone", who)
	case bad != 0:
		c.damaged |= 1 << bad
		c.again()
		m.step(s, "compactor %d leaves out %s", who, m.items[bad])
	default:
		*c = compactor{phase: phaseCreate, left: c.left, known: c.known, damaged: c.damaged, slot: d.slot, file: file, inputs: d.inputs}
		m.step(s, "compactor %d (%s) builds %07b as output %d", who, d.setting, file, d.slot+1)
	}
}

// build returns an input that cannot be merged, 0 if there is none.
func (m *model) build(k buildKey) (bad code) {
	if got, ok := m.memo.builds[k]; ok {
		return got
	}
	g := Generation{Name: nameOfSlot(0)}
	k.inputs.each(func(c code) { g.Inputs = append(g.Inputs, m.segments[c]) })
	slices.SortFunc(g.Inputs, compareStart)
	b, err := m.run.builder.build(m.ctx, g)
	var damaged *inputError
	switch {
	case errors.As(err, &damaged):
		bad = m.codeOf(damaged.s)
	case err != nil:
		m.must(err)
	default:
		m.must(b.close())
	}
	m.memo.builds[k] = bad
	return bad
}

// createSteps create an output; the response may be lost.
func (m *model) createSteps(s state, i int, who int) {
	c := &s.compactors[i]
	had := s.comp[c.slot]
	var err error
	var found *blobnaming.Metadata
	if had.inputs != 0 && !m.off("cond") {
		err = store.ErrExists
		found = m.metaOf(int(c.slot), had)
	} else {
		s.comp[c.slot] = output{inputs: c.file}
		if m.off("cond") {
			s.marks &^= 1 << c.slot
		}
	}
	if err == nil && s.losses > 0 {
		lost := s
		lost.losses--
		m.step(lost, "compactor %d creates output %d of %07b, response lost", who, c.slot+1, c.file)
	}
	switch judge(err, found, m.metaOf(int(c.slot), output{inputs: c.file}).Batch) {
	case committed:
		slot, file := c.slot+1, c.file
		if c.left--; c.left == 0 && !m.scene.own {
			c.done()
		} else {
			c.again()
		}
		m.step(s, "compactor %d has output %d of %07b", who, slot, file)
	case taken:
		c.phase, c.at, c.seen = phaseNames, 0, shelf{}
		m.step(s, "compactor %d finds output %d taken", who, c.slot+1)
	case unknown:
		m.fault = "a create is unknown"
	}
}

func (m *model) metaOf(slot int, o output) *blobnaming.Metadata {
	meta, err := blobnaming.ParseMetadata(m.outputBlob(slot, output{inputs: o.inputs}, false).Metadata)
	m.must(err)
	return &meta
}

// renameKey is what the decision after a conflict depends on.
type renameKey struct {
	seen, now shelf
	slot      uint8
	inputs    codes
}

type renamed struct {
	outcome outcome
	slot    int
	err     error
}

// renameStep decides after a conflict what becomes of a finished output.
func (m *model) renameStep(s state, i int, who int) {
	c := &s.compactors[i]
	k := renameKey{c.seen, s.now(c.seen), c.slot, c.inputs}
	got, ok := m.memo.renames[k]
	if !ok {
		chains := m.chains(planKey{seen: k.seen, now: k.now})
		of := nameOfSlot(int(c.slot))
		chain := &Chain{Scope: catalog.Scope{Service: "web", Day: modelDay(), Class: of.Class()}}
		for _, one := range chains {
			if one.Class == of.Class() {
				chain = one
			}
		}
		var inputs []catalog.Segment
		if !m.off("recheck") {
			c.inputs.each(func(input code) { inputs = append(inputs, m.segments[input]) })
		}
		b := &built{name: of}
		got.outcome, got.err = rename(chain, b, inputs)
		got.slot = slotOf(b.name)
		m.memo.renames[k] = got
	}
	switch {
	case got.err != nil, got.slot == slots:
		c.done()
		m.step(s, "compactor %d discards the file and ends: %v", who, got.err)
	case got.outcome == taken:
		c.again()
		m.step(s, "compactor %d discards the file: another has its inputs", who)
	default:
		c.phase, c.seen, c.at, c.slot = phaseCreate, shelf{}, 0, uint8(got.slot)
		m.step(s, "compactor %d has the same file for output %d", who, got.slot+1)
	}
}

// removals are the items that may be removed, and whether an output is damaged.
type removals struct {
	inputs codes
	halted bool
}

// removable are the items that are to be removed by a listing, after their outputs were read back.
func (m *model) removable(k planKey) removals {
	got, ok := m.memo.removals[k]
	if ok {
		return got
	}
	chains := m.chains(k)
	for _, c := range chains {
		if c.check() != nil {
			continue
		}
		byOutput, _ := removable(c, ages{storedAt().Add(time.Hour), storedAt().Add(time.Hour)})
		for at, inputs := range byOutput {
			if _, err := m.run.readBack(m.ctx, c.Outputs[at]); err != nil {
				got.halted = true
				continue
			}
			for _, s := range inputs {
				got.inputs |= 1 << m.codeOf(s)
			}
		}
	}
	if got.halted {
		got.inputs = 0
	}
	m.memo.removals[k] = got
	return got
}

// removalSteps remove by a listing of this instant.
func (m *model) removalSteps(s state) {
	shelf := s.shelf
	k := planKey{seen: shelf, now: shelf, young: s.young(m)}
	for slot := range k.seen.comp {
		k.seen.comp[slot].damage = intact
	}
	m.removable(k).inputs.each(func(c code) {
		next := s
		next.raw[m.items[c].name] = 0
		m.step(next, "%s is removed", m.items[c])
	})
}

// ownRemoval decides by a compactor's listing what it removes, and adds its outputs to the index.
func (m *model) ownRemoval(s state, i int, who int) {
	c := &s.compactors[i]
	seen := c.seen
	c.done()
	if m.scene.own {
		got := m.removable(planKey{seen: seen, now: s.now(seen)})
		if c.inputs = got.inputs; c.inputs != 0 {
			c.phase = phaseRemove
			if m.scene.indexed {
				s.index.compacted(seen, c.inputs, m)
			}
		}
	}
	m.step(s, "compactor %d has nothing to make, is to remove %b", who, c.inputs)
}

// removeSteps remove an input of the listing of a compactor.
func (m *model) removeSteps(s state, i int, who int) {
	s.compactors[i].inputs.each(func(listed code) {
		next := s
		c := &next.compactors[i]
		if c.inputs &^= 1 << listed; c.inputs == 0 {
			c.done()
		}
		if name := m.items[listed].name; next.raw[name] == listed || m.off("etag") {
			next.raw[name] = 0
		}
		m.step(next, "compactor %d removes %s", who, m.items[listed])
	})
}
