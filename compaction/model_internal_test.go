//go:build !race

// The model is explored by one goroutine at a time: the race detector would find nothing, and take gigabytes.

package compaction

import (
	"context"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"testing"
	"time"

	"logstow/catalog"
	"logstow/internal/retry"
	"logstow/internal/test/effort"
	"logstow/query/match"
)

// The model visits all interleavings of a short history, one storage request at a time. Its actors are two compactors of any settings,
// which list name by name, stall anywhere and lose responses; removal without grace; late and repeated segments; a hostile writer,
// who creates any blob in the raw container, but neither overwrites nor deletes there, nor writes to the compacted one; damage of
// an output and its rejection; retention; replication to another region and failover; and a reader. Each name is a page of its own
// in a listing.
//
// The blobs are real ones, in a store in memory. What is listed, planned, built, committed, removed, rejected and hidden, and which
// of several blobs of a batch counts, is decided by the code that Run, Reject and queries use. Modelled are the reader's steps after its
// plan (package fetch), retention, the order in which the index is read, and the page by page order of listings.

// The phases of actors.
const (
	phaseList    = iota
	phaseCreate  // an output
	phaseNames   // lists the outputs after a conflict
	phaseRemove  // inputs
	phaseRead    // segments of the plan
	phaseMissing // lists the outputs for a segment that vanished
	phaseDone
)

// state is all there is. It is comparable.
type state struct {
	shelf
	came, lost mask  // honest contents that were ever stored; those whose only copy was damaged
	coming     uint8 // honest segments of the scene that are still to be stored
	hostiles   uint8 // blobs that the hostile writer may still create
	losses     uint8 // responses that may still be lost
	harms      uint8 // outputs that may still be damaged
	second     int8
	compactors [2]compactor
	reader     reader
	expired    bool
	retention  retention
	cached     shelf // a server's listing of the compacted container
	replica    replica
	index      index
}

// scene is a beginning: what is stored, and what may happen.
type scene struct {
	raw     []item
	comp    [slots]output
	stalled mask // contents of an output that the first compactor is about to create as generation 1
	// coming are stored once each; of hostile as many as hostiles.
	coming, hostile []item
	names           [batches]uint8 // under which each batch is stored first
	classes         [batches]string
	parsers         [batches]string
	commits         [2]uint8 // of each compactor, at most; 0 is no compactor
	hostiles        uint8
	losses, harms   uint8
	seconds         int8
	forged          bool // forged outputs and markers in the raw container
	own             bool // compactors remove by their own listings; otherwise anyone does by one of this instant
	retention       bool
	replicated      bool
	indexed         bool // the reader plans by the index
	noReader        bool
}

func (s *scene) nameOf(batch uint8) uint8 { return s.names[batch] }

// model explores states.
type model struct {
	ctx     context.Context //nolint:containedctx // that of the test
	t       *testing.T
	scene   scene
	broken  []string // rules
	run     *run
	matcher *match.Matcher
	// items are all that may be stored, by code, blobs and segments the same; copies are those with the same metadata, ids the batches
	// that they have the identity of.
	items    []item
	blobs    []blob
	segments []catalog.Segment
	copies   []codes
	ids      []mask
	outputs  map[output]blob
	pages    []page // of a listing of the compacted container
	pairs    bool   // a server's cached listing of it is not used with a later listing of the raw container
	memo     memo

	seed    maphash.Seed
	visited map[uint64]struct{}
	path    []event
	fault   string
	most    int
}

// event is a step, to be printed.
type event struct {
	format string
	args   []any
}

// page is one name of the compacted container.
type page struct {
	slot uint8
	mark bool
}

func (p page) String() string {
	if p.mark {
		return fmt.Sprintf("marker %d", p.slot+1)
	}
	return fmt.Sprintf("output %d", p.slot+1)
}

// memo has what the functions under test returned.
type memo struct {
	plans    map[planKey][]decision
	removals map[planKey]removals
	renames  map[renameKey]renamed
	builds   map[buildKey]code
	rejects  map[shelfPair]uint8
	reads    map[shelfPair]readPlan
	answers  map[shelfPair]answer
}

func newModel(t *testing.T, scene scene, broken ...string) *model {
	m := &model{
		ctx: t.Context(), t: t, scene: scene, broken: broken, items: []item{{}}, blobs: []blob{{}}, segments: []catalog.Segment{{}}, outputs: make(map[output]blob),
		seed: maphash.MakeSeed(), visited: make(map[uint64]struct{}), most: 30_000_000,
		memo: memo{
			make(map[planKey][]decision), make(map[planKey]removals), make(map[renameKey]renamed), make(map[buildKey]code),
			make(map[shelfPair]uint8), make(map[shelfPair]readPlan),
			make(map[shelfPair]answer),
		},
	}
	o := DefaultOptions()
	o.TempDir, o.Columns = t.TempDir(), nil
	everything := &container{}
	m.run = newRun(&modelStore{}, o)
	m.run.builder.blobs = everything
	for _, i := range slices.Concat(scene.raw, scene.coming, scene.hostile) {
		for second := range scene.seconds + 1 {
			i.second += second
			m.code(i)
		}
	}
	for batch, name := range scene.names {
		m.code(item{name: name, batch: uint8(batch)})
	}
	everything.stored = m.blobs
	m.copies, m.ids = make([]codes, len(m.items)), make([]mask, len(m.items))
	for c, s := range m.segments {
		for other, o := range m.segments[1:] {
			if s.Meta == o.Meta && s.Size == o.Size {
				m.copies[c] |= 1 << (other + 1)
			}
		}
		m.ids[c] = m.identityOf(s)
	}
	for slot := range uint8(slots) {
		if slot == auditSlot && !slices.Contains(scene.classes[:], "audit") {
			continue
		}
		m.pages = append(m.pages, page{slot, false})
		if scene.harms > 0 {
			m.pages = append(m.pages, page{slot, true})
		}
	}
	m.pairs = !m.off("pair") && pairsListings(t)
	var err error
	m.matcher, err = match.Compile(match.Selection{Services: []string{"web"}, From: modelDay(), To: modelDay().Add(day)})
	m.must(err)
	return m
}

func (m *model) must(err error) {
	if err != nil {
		m.t.Fatal(err)
	}
}

// off reports whether a rule is broken.
func (m *model) off(rule string) bool { return slices.Contains(m.broken, rule) }

// use makes a store the one of the functions under test.
func (m *model) use(s *modelStore) *run {
	m.run.store = s
	m.run.catalog = &catalog.Catalog{Blobs: s.Blobs(), Compacted: s.Compacted(), Retry: retry.Jobs(), Sequential: true}
	return m.run
}

// begin is the first state of the scene.
func (m *model) begin() state {
	s := state{
		shelf: shelf{comp: m.scene.comp, forged: m.scene.forged}, hostiles: m.scene.hostiles, losses: m.scene.losses, harms: m.scene.harms,
		coming: 1<<len(m.scene.coming) - 1,
	}
	for _, i := range m.scene.raw {
		s.raw[i.name] = m.code(i)
	}
	s.came = m.readable(&s)
	for i, commits := range m.scene.commits {
		s.compactors[i].left = commits
		if commits == 0 {
			s.compactors[i].phase = phaseDone
		}
	}
	if m.scene.stalled != 0 {
		c := &s.compactors[0]
		c.phase, c.file = phaseCreate, m.scene.stalled
		for batch := range uint8(batches) {
			if c.file&(1<<batch) != 0 {
				c.inputs |= 1 << m.code(item{name: m.scene.nameOf(batch), batch: batch})
			}
		}
		s.came |= c.file
	}
	if m.scene.noReader {
		s.reader.phase = phaseDone
	}
	s.replica.on = m.scene.replicated
	if m.scene.indexed {
		s.index.coming = m.honestCodes(&s)
	}
	return s
}

// explore visits all states that follow from the scene; the fault is how one went wrong.
func (m *model) explore() (states int, fault string) {
	m.visit(m.begin())
	return len(m.visited), m.fault
}

func (m *model) visit(s state) {
	key := maphash.Comparable(m.seed, s)
	if _, seen := m.visited[key]; seen || m.fault != "" || len(m.visited) >= m.most {
		return
	}
	m.visited[key] = struct{}{}
	if wrong := m.wrong(&s); wrong != "" {
		m.fails(wrong)
		return
	}
	for i := range s.compactors {
		m.compactorSteps(s, i)
	}
	if !m.scene.own {
		m.removalSteps(s)
	}
	m.readerSteps(s)
	m.writerSteps(s)
	m.harmSteps(s)
	m.retentionSteps(s)
	m.replicaSteps(s)
}

// fails notes a fault and how it came about.
func (m *model) fails(wrong string) {
	m.fault = fmt.Sprintf("%s (%d steps)", wrong, len(m.path))
	for _, e := range m.path {
		m.fault += fmt.Sprintf("\n"+e.format, e.args...)
	}
}

// step visits a state that follows.
func (m *model) step(s state, format string, args ...any) {
	if m.fault != "" {
		return
	}
	m.path = append(m.path, event{format, args})
	m.visit(s)
	m.path = m.path[:len(m.path)-1]
}

// wrong returns what is wrong with a state, "" if nothing.
func (m *model) wrong(s *state) string {
	var all mask
	for slot, o := range s.comp {
		if s.marks&(1<<slot) != 0 {
			continue
		}
		if all.identities()&o.inputs.identities() != 0 && !s.expired {
			return "two outputs share an input"
		}
		all |= o.inputs
	}
	if all&^certified != 0 {
		return "an output has forged records"
	}
	if nowhere := s.came &^ m.readable(s) &^ s.lost; nowhere != 0 && !s.expired {
		return fmt.Sprintf("%03b is nowhere", nowhere)
	}
	return s.reader.wrong(m, s)
}

// honestCodes are the honest items that are stored.
func (m *model) honestCodes(s *state) (set codes) {
	for _, c := range s.raw[:rawNames] {
		if c != 0 && m.items[c].kind == honest {
			set |= 1 << c
		}
	}
	return set
}

// readable are the honest contents that can be read.
func (m *model) readable(s *state) (all mask) {
	m.honestCodes(s).each(func(c code) { all |= m.content(c) })
	for slot, o := range s.comp {
		if s.marks&(1<<slot) == 0 {
			all |= o.inputs & certified &^ o.unreadable()
		}
	}
	return all
}

func TestLongModel(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "walks many states")
	all, sample := scenes(effort.Of()), effort.NewSample(t, 2)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !sample.Has() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			m := newModel(t, all[name])
			states, fault := m.explore()
			t.Logf("%d states, %.1f s", states, time.Since(began).Seconds())
			if fault != "" {
				t.Error(fault)
			}
			if states < 500 || states >= m.most {
				t.Errorf("%d states are not all", states)
			}
		})
	}
}
