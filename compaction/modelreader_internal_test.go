//go:build !race

package compaction

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"logstow/catalog"
	"logstow/query/explain"
	reading "logstow/query/fetch"
	"logstow/query/plan"
	"logstow/query/source"
	"logstow/store"
	"logstow/store/listcache"
)

// reader is a query. It is comparable.
type reader struct {
	phase   uint8
	raw, at uint8 // pages of the raw and of the compacted container that it has listed
	begun   bool
	seen    shelf
	want    mask // the honest contents that were stored when it began
	excused mask // of these, those that were damaged when it could not list another copy
	plan    readPlan
	missing code // the item that vanished
	got     mask
	twice   bool
}

// readPlan is what a reader is to read.
type readPlan struct {
	raw, hidden codes
	comp        uint8       // slots
	read        uint8       // slots that it has read
	without     [slots]mask // identities that it leaves out of outputs
	elsewhere   [slots]codes
	reported    bool // that something is missing
}

// wrong returns what a reader did wrong, "" if nothing.
func (r *reader) wrong(m *model, s *state) string {
	switch missing := r.want &^ r.got; {
	case r.twice:
		return "the reader has a record twice"
	case r.got&^certified != 0 && !m.off("verify"): // otherwise more than what is stored is no fault
		return "the reader has forged records"
	case r.phase != phaseDone || !r.begun || s.expired:
	case missing&^s.lost&^r.excused != 0:
		return fmt.Sprintf("the reader misses a record: has %03b of %03b", r.got, r.want)
	case missing != 0 && !r.plan.reported:
		return fmt.Sprintf("the reader does not report a record that it misses: has %03b of %03b", r.got, r.want)
	}
	return ""
}

// take notes that a reader has the records of some contents.
func (r *reader) take(content mask) {
	r.twice = r.twice || r.got&content != 0
	r.got |= content
}

// excuse notes that contents became unreadable in an output: a running reader can only have them of honest items that it has
// listed, or will.
func (r *reader) excuse(m *model, s *state, unreadable mask) {
	if !r.begun {
		return
	}
	for name, c := range s.raw[:rawNames] {
		if listed := r.seen.raw[name] == c || r.phase == phaseList && name >= int(r.raw); c != 0 && listed {
			unreadable &^= m.content(c)
		}
	}
	r.excused |= unreadable
}

// readerSteps are those of the reader.
func (m *model) readerSteps(s state) {
	r := &s.reader
	switch {
	case r.phase == phaseDone || s.replica.on:
	case !r.begun:
		m.beginSteps(s)
	case r.phase == phaseList:
		m.listSteps(s)
	case r.phase == phaseRead:
		m.readStep(s)
	case r.phase == phaseMissing && int(r.at) < len(m.pages):
		planned := r.seen.comp
		p := m.list(&r.seen, &s.shelf, int(r.at))
		if r.plan.comp&(1<<p.slot) != 0 {
			r.seen.comp[p.slot] = planned[p.slot]
		}
		r.at++
		m.step(s, "reader lists %s", p)
	case r.phase == phaseMissing:
		m.missingStep(s)
	}
}

// beginSteps begin the reader. Before it a server may have listed the compacted container for another one.
func (m *model) beginSteps(s state) {
	if !m.pairs && s.cached == (shelf{}) {
		next := s
		next.cached.forged = true // it has a listing, maybe an empty one
		for at := range m.pages {
			m.list(&next.cached, &next.shelf, at)
		}
		m.step(next, "a server lists the compacted container")
	}
	r := &s.reader
	r.begun = true
	r.want = m.readable(&s)
	if m.scene.indexed {
		r.want = m.indexed(&s)
	}
	if s.cached.forged {
		r.seen.comp, r.seen.marks, r.at = s.cached.comp, s.cached.marks, uint8(len(m.pages))
	}
	m.step(s, "reader begins")
}

// listSteps list the next page: of the raw container, or after its end of the compacted one.
func (m *model) listSteps(s state) {
	raw, comp := s.reader.raw < rawNames, int(s.reader.at) < len(m.pages)
	rawNow, compNow := raw, comp && !raw
	switch {
	case m.off("barrier"):
		compNow = comp
	case m.off("order"):
		rawNow, compNow = raw && !comp, comp
	}
	if rawNow {
		next := s
		r := &next.reader
		r.seen.raw[r.raw] = s.raw[r.raw]
		if m.scene.indexed {
			r.seen.raw[r.raw] = s.index.raw[r.raw]
		}
		r.seen.raw[elsewhere], r.seen.forged = s.raw[elsewhere], s.forged
		r.raw++
		m.step(next, "reader lists raw %d", r.raw-1)
	}
	if compNow {
		next := s
		r := &next.reader
		at := int(r.at)
		r.at++
		from := s.shelf
		if m.scene.indexed {
			from.comp = s.index.comp
		}
		listed := m.list(&r.seen, &from, at)
		m.step(next, "reader lists %s", listed)
	}
	if !raw && !comp {
		m.readerPlans(s)
	}
}

// shelfPair is what was listed, and what is stored of it now.
type shelfPair struct{ seen, now shelf }

// readerPlans plans what to read.
func (m *model) readerPlans(s state) {
	r := &s.reader
	k := shelfPair{r.seen, s.now(r.seen)}
	p, ok := m.memo.reads[k]
	if !ok {
		p = m.readPlan(k)
		m.memo.reads[k] = p
	}
	r.plan, r.phase = p, phaseRead
	if wrong := m.frozen(&s); wrong != "" {
		m.fails(wrong)
		return
	}
	m.step(s, "reader reads raw %b, not %b, outputs %04b without %v", p.raw, p.hidden, p.comp, p.without)
}

// readPlan finds and hides segments as a query does.
func (m *model) readPlan(k shelfPair) (p readPlan) {
	at := m.storeOf(k.seen, k.now, 0)
	rec, findings := source.NewRecorder(2), explain.NewFindings(false)
	stores := []source.Store{{Name: "store", Container: "logs", Blobs: &at.raw, Compacted: &at.compacted, Free: true}}
	if k.seen.raw[elsewhere] != 0 { // its name is before that of the store
		stores = append(stores, source.Store{Name: "other", Container: "logs", Blobs: &at.other, Compacted: &container{}, Free: true})
	}
	planner := plan.Planner{Matcher: m.matcher, Stores: stores, Recorder: rec, Findings: findings}
	found, err := planner.Find(m.ctx)
	m.must(err)
	slices.SortFunc(found, source.Compare)
	f := reading.NewFetcher(m.matcher, rec, findings, false, false, m.run.o.TempDir, nil)
	certify := func(s *source.Segment) error {
		if m.off("verify") {
			return nil
		}
		return f.Certify(m.ctx, s)
	}
	segments := f.HideContained(m.ctx, plan.Dedupe(rec, found, certify))
	p.reported = len(rec.Report().Problems) > 0
	for _, s := range segments {
		slot := slotOf(s.Name)
		if !s.Meta.IsOutput() {
			p.raw |= 1 << m.codeOf(s.Entry())
			if s.Elsewhere != nil {
				p.elsewhere[slotOf(s.Elsewhere.Name)] |= 1 << m.codeOf(s.Entry())
			}
			continue
		}
		p.comp |= 1 << slot
		inputs := s.Inputs(f.Inputs(m.ctx, s))
		for input := range s.Excluded {
			if shared := slices.Contains(segments, inputs[input].Elsewhere); !m.off("lowgen") || shared {
				p.without[slot] |= m.identityOf(inputs[input].Entry())
			}
		}
		for _, h := range s.Hidden {
			for _, one := range append([]*source.Segment{h}, h.Copies...) {
				p.hidden |= 1 << m.codeOf(one.Entry())
			}
		}
	}
	return p
}

// candidates are a listed item and its copies: those with the same metadata. Without verification the first one counts.
func (m *model) candidates(r *reader, c code) (all codes) {
	first := c
	for _, other := range r.seen.raw {
		if m.copies[c].has(other) {
			all |= 1 << other
			if catalog.CompareTwins(m.segments[other], m.segments[first]) < 0 {
				first = other
			}
		}
	}
	if m.off("verify") {
		return 1 << first
	}
	return all
}

// readStep reads the next segment. The order of reads does not matter, since a reader may stall before each.
func (m *model) readStep(s state) {
	r := &s.reader
	for slot := range slots {
		if r.plan.comp&^r.plan.read&(1<<slot) != 0 {
			m.readsOutput(s, slot)
			return
		}
	}
	for c := range code(len(m.items)) {
		if r.plan.raw.has(c) {
			m.readsRaw(s, c)
			return
		}
	}
	*r = reader{phase: phaseDone, begun: true, got: r.got, want: r.want, excused: r.excused, twice: r.twice, plan: readPlan{reported: r.plan.reported}}
	m.step(s, "reader ends")
}

// readsRaw reads a segment, or a copy of it. If neither is readable and one vanished, it looks for an output that contains it.
func (m *model) readsRaw(s state, c code) {
	r := &s.reader
	r.plan.raw &^= 1 << c
	gone, read := false, code(0)
	m.candidates(r, c).each(func(one code) {
		i := m.items[one]
		switch now := s.raw[i.name]; {
		case now == one && (i.kind == honest || m.off("verify") || i.name == elsewhere && m.off("foreign")):
			read = one
		case now != one && (now == 0 || !m.off("etag")):
			gone = true
		}
	})
	switch {
	case read != 0:
		r.take(m.content(read))
		m.step(s, "reader reads %s", m.items[read])
	case gone && !m.off("vanish"):
		r.phase, r.missing, r.at, r.seen.marks = phaseMissing, c, 0, 0
		m.step(s, "reader finds that %s vanished", m.items[c])
	default:
		m.readElsewhere(s, c)
	}
}

// readElsewhere reads an item that cannot be read in the output that excludes it, if there is one.
func (m *model) readElsewhere(s state, c code) {
	r := &s.reader
	for slot := range r.plan.elsewhere {
		if r.plan.elsewhere[slot].has(c) {
			r.plan.elsewhere[slot] &^= 1 << c
			m.include(r, slot, c)
			m.step(s, "reader reads output %d instead of %s", slot+1, m.items[c])
			return
		}
	}
	r.plan.reported = true
	m.step(s, "reader misses %s", m.items[c])
}

// missingStep looks for a segment that vanished in the outputs that were listed now.
func (m *model) missingStep(s state) {
	r := &s.reader
	c := r.missing
	id := m.ids[c]
	r.phase, r.missing, r.at = phaseRead, 0, 0
	for slot, o := range r.seen.comp {
		now := s.comp[slot]
		readable := now.inputs == o.inputs && now.damage != listDamaged && r.seen.marks&(1<<slot) == 0
		if class := m.segments[c].Meta.Class; readable && o.inputs.identities()&id != 0 && nameOfSlot(slot).HasClass(class) {
			m.include(r, slot, c)
			m.step(s, "reader reads %s in output %d", m.items[c], slot+1)
			return
		}
	}
	m.readElsewhere(s, c)
}

// include makes a reader read an item in an output that contains it, and the output's other inputs that are still to be read if the
// output is not in its plan.
func (m *model) include(r *reader, slot int, c code) {
	inputs := r.seen.comp[slot].inputs.identities()
	id := m.ids[c]
	switch {
	case r.plan.comp&(1<<slot) == 0:
		r.plan.without[slot] = inputs &^ id
		r.plan.raw.each(func(other code) {
			if m.segments[other].Meta.Class == m.segments[c].Meta.Class && m.ids[other]&inputs != 0 {
				r.plan.without[slot] &^= m.ids[other]
				r.plan.raw &^= 1 << other
				r.plan.hidden |= m.candidates(r, other)
			}
		})
	case r.plan.read&(1<<slot) != 0:
		r.plan.without[slot] = inputs &^ id // it has the others
	default:
		r.plan.without[slot] &^= id
	}
	r.plan.comp |= 1 << slot
	r.plan.read &^= 1 << slot
}

// identityOf is the batch of a segment if it has its identity, otherwise none.
func (m *model) identityOf(s catalog.Segment) mask {
	for c, i := range m.items {
		if c > 0 && i.kind == honest && m.segments[c].Identity() == s.Identity() {
			return 1 << i.batch
		}
	}
	return 0
}

// readsOutput reads an output. If a part of it is damaged, it reads the inputs that it hid, and the output for the others, also for
// inputs that cannot be read.
func (m *model) readsOutput(s state, slot int) {
	r := &s.reader
	r.plan.read |= 1 << slot
	o := r.seen.comp[slot]
	now := s.comp[slot]
	if now.inputs != o.inputs {
		r.plan.reported = true
		m.step(s, "reader finds that output %d is gone", slot+1)
		return
	}
	var rest mask
	for batch := range batches {
		if r.plan.without[slot]&(1<<batch) == 0 {
			rest |= o.inputs & (17 << batch)
		}
	}
	bad := rest & now.unreadable()
	if bad != 0 {
		r.plan.hidden.each(func(c code) {
			id := m.ids[c]
			if o.inputs.identities()&id == 0 {
				return
			}
			r.plan.hidden &^= 1 << c
			if rest.identities()&id == 0 { // a copy
				return
			}
			r.plan.raw |= 1 << c
			if !m.off("fallback") {
				r.plan.elsewhere[slot] |= 1 << c
			}
			rest &^= id
			bad &^= id
		})
		r.plan.without[slot] |= o.inputs.identities() &^ rest
	}
	r.take(rest &^ bad)
	r.plan.reported = r.plan.reported || bad != 0
	m.step(s, "reader reads output %d", slot+1)
}

// pairsListings reports whether a server lists the compacted container again for a reader whose listing of the raw container ended
// after the last one began.
func pairsListings(t *testing.T) bool {
	t.Helper()
	clock := modelDay()
	counted := &countedLister{}
	raw, compacted := listcache.New(&container{}, counted, func() time.Time { clock = clock.Add(time.Millisecond); return clock })
	for _, lister := range []store.BlobReader{compacted, raw, compacted} {
		for _, err := range lister.List(t.Context(), "web/2026/11/20/") {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return counted.n == 2
}

type countedLister struct {
	container
	n int
}

func (c *countedLister) List(ctx context.Context, prefix string) iter.Seq2[[]store.Blob, error] {
	c.n++
	return c.container.List(ctx, prefix)
}
