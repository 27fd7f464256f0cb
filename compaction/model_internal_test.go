package compaction

import (
	"fmt"
	"hash/maphash"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"logstow/blobnaming"
	"logstow/containment"
	"logstow/store"
)

// The model visits all interleavings of a short history: two compactors, which list name
// by name, lose responses and stall anywhere; removal without grace, by listings of any age; late
// segments and a batch that is stored twice; retention; and a reader that lists name by name, looks
// at the outputs a second time, and finds inputs that vanish meanwhile. What is planned, created,
// removed and hidden is decided by the code that Run and readers use.

// The names of the model in the order of a listing. Plain segments lie before and behind the
// outputs; copyA has the content of plainA.
const (
	plainA = iota
	copyA
	output1
	output2
	output3
	plainB
	plainC
	modelNames
)

// mask is a set of contents: bit 0 is A.
type mask uint8

// contentOf is the content of a plain segment.
func contentOf(name int) mask {
	return [modelNames]mask{plainA: 1, copyA: 1, plainB: 2, plainC: 4}[name]
}

func isOutput(name int) bool { return name >= output1 && name <= output3 }

// shelf is what there is under each name: nothing, or its content.
type shelf [modelNames]mask

// The phases of actors.
const (
	phaseList = iota
	phaseCreate
	phaseRetry // the response of a create was lost
	phaseRelist
	phaseRemove
	phaseLookAgain
	phasePlan
	phaseRead
	phaseDone
)

// compactor is one that runs Run's steps. It is comparable.
type compactor struct {
	phase, at  uint8
	seen       shelf
	generation uint8
	inputs     mask  // of the generation it makes
	remove     uint8 // set of names
}

// reader is a query.
type reader struct {
	phase, at uint8
	seen      shelf
	got       mask
	todo      uint8 // set of names
	started   mask  // what was stored when it began
	twice     bool
	lost      bool
}

// state is all there is. It is comparable.
type state struct {
	stored     shelf
	compactors [2]compactor
	reader     reader
	reads      bool // the reader began
	late, dup  bool // were stored
	losses     uint8
	// retention deletes names up to retained; it began if expired.
	expired  bool
	retained uint8
}

// rules are what a test breaks on purpose.
type rules struct {
	ignoreContained  bool // a compactor merges what outputs contain
	noSecondLook     bool // a reader does not look at the outputs again
	overwrite        bool // creates are not conditional
	freeNames        bool // a compactor deletes its output if inputs vanished
	noVanishedInputs bool // a reader does not look for vanished inputs in outputs
}

// model explores states.
type model struct {
	rules   rules
	scene   state
	limits  Limits
	now     time.Time
	plain   [modelNames]containment.Segment
	outputs map[[2]int]containment.Output // by name and content
	seed    maphash.Seed
	visited map[uint64]struct{}
	path    []string
	fault   string
	most    int
}

func newModel(scene state, broken rules) *model {
	hour := time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC)
	m := &model{
		rules: broken, scene: scene, now: hour.Add(5 * time.Hour), limits: DefaultLimits(), seed: maphash.MakeSeed(),
		outputs: make(map[[2]int]containment.Output), visited: make(map[uint64]struct{}), most: 40_000_000,
	}
	m.limits.Late = 1
	for i, number := range map[int]uint64{plainA: 1, copyA: 2, plainB: 990_001, plainC: 990_002} {
		content := contentOf(i)
		start := hour.Add(time.Duration(content) * time.Minute).UnixNano()
		m.plain[i] = containment.Segment{
			Name: blobnaming.Name{Service: "web", Bucket: hour, Number: number}, Size: 100, ETag: fmt.Sprint(i), Created: hour,
			Meta: blobnaming.Metadata{Start: start, End: start, Records: 1, Batch: blobnaming.Batch{byte(content)}, Instance: "pod", Seq: int64(content), Footer: 50},
		}
	}
	for i := output1; i <= output3; i++ {
		for content := mask(1); content < 8; content++ {
			m.outputs[[2]int{i, int(content)}] = m.makeOutput(i, content)
		}
	}
	return m
}

// makeOutput is an output of content as Run makes it.
func (m *model) makeOutput(name int, content mask) containment.Output {
	var inputs []containment.Segment
	for _, i := range []int{plainA, plainB, plainC} {
		if contentOf(i)&content != 0 {
			inputs = append(inputs, m.plain[i])
		}
	}
	first, last := inputs[0].Meta, inputs[len(inputs)-1].Meta
	o := containment.Output{Segment: containment.Segment{
		Name: blobnaming.OutputName("web", m.plain[plainA].Name.Bucket, "", name-output1+1), Size: 1000, ETag: fmt.Sprint(name, content),
		Meta: blobnaming.Metadata{
			Start: first.Start, End: last.End, Records: uint64(len(inputs)), Batch: batchOf(m.limits, inputs),
			Instance: blobnaming.OutputInstance, Seq: last.Seq, Footer: 900, Origins: 800,
		},
	}}
	for _, s := range inputs {
		o.Inputs = append(o.Inputs, s.Origin())
	}
	return o
}

// hour is what a compactor knows after it listed and read the outputs' lists.
func (m *model) hour(seen, stored shelf) *Hour {
	var segments []containment.Segment
	for i, content := range seen {
		switch {
		case content == 0:
		case isOutput(i):
			segments = append(segments, m.outputs[[2]int{i, int(content)}].Segment)
		default:
			segments = append(segments, m.plain[i])
		}
	}
	hours := Group(segments, nil)
	if len(hours) == 0 {
		return &Hour{}
	}
	h := hours[0]
	for i, o := range h.Outputs {
		name := output1 + o.Name.Output() - 1
		h.Outputs[i] = m.outputs[[2]int{name, int(seen[name])}]
		if stored[name] != seen[name] {
			h.Outputs[i].Inputs, h.Outputs[i].Err = nil, store.ErrNotFound
		}
		if m.rules.ignoreContained {
			h.Outputs[i].Inputs = nil
		}
	}
	return h
}

// nameOf is the place of a segment's name.
func (m *model) nameOf(s containment.Segment) int {
	if g := s.Name.Output(); g > 0 {
		return output1 + g - 1
	}
	return slices.IndexFunc(m.plain[:], func(p containment.Segment) bool { return p.Name == s.Name })
}

// run visits all states that follow from the scene; the fault is how one went wrong.
func (m *model) run() (states int, fault string) {
	m.visit(m.scene)
	return len(m.visited), m.fault
}

func (m *model) visit(s state) {
	key := maphash.Comparable(m.seed, s)
	if _, seen := m.visited[key]; seen || m.fault != "" || len(m.visited) >= m.most {
		return
	}
	m.visited[key] = struct{}{}
	if wrong := m.wrong(s); wrong != "" {
		m.fault = wrong + "\n" + strings.Join(m.path, "\n")
		return
	}
	for i := range s.compactors {
		m.compactorSteps(s, i)
	}
	m.readerSteps(s)
	m.otherSteps(s)
}

// step visits a state that follows.
func (m *model) step(s state, format string, args ...any) {
	if m.fault != "" {
		return
	}
	m.path = append(m.path, fmt.Sprintf(format, args...))
	m.visit(s)
	m.path = m.path[:len(m.path)-1]
}

// wrong says what no state may be.
func (m *model) wrong(s state) string {
	var all mask
	for i := output1; i <= output3; i++ {
		if all&s.stored[i] != 0 && !s.expired {
			return "two outputs share an input"
		}
		all |= s.stored[i]
	}
	ever := contentOf(plainA) | contentOf(plainB)
	if s.late {
		ever |= contentOf(plainC)
	}
	for _, content := range s.stored {
		ever &^= content
	}
	switch r := s.reader; {
	case ever != 0 && !s.expired:
		return fmt.Sprintf("%03b is nowhere", ever)
	case r.twice:
		return "the reader has a record twice"
	case r.phase == phaseDone && !s.expired && (r.lost || r.started&^r.got != 0):
		return fmt.Sprintf("the reader misses a record: has %03b of %03b", r.got, r.started)
	}
	return ""
}

// scene is a beginning: what is stored, and which actors there are.
func scene(change func(*state)) state {
	s := state{retained: modelNames}
	s.stored[plainA], s.stored[plainB] = contentOf(plainA), contentOf(plainB)
	change(&s)
	return s
}

// scenes are the histories that are visited: a part of the actors each, in the long form all.
func scenes() map[string]state {
	all := map[string]state{
		"two compactors, late and repeated segments": scene(func(s *state) { s.reader.phase = phaseDone }),
		"a compactor and a reader":                   scene(func(s *state) { s.compactors[1].phase = phaseDone }),
		"lost responses":                             scene(func(s *state) { s.reader.phase, s.losses, s.dup = phaseDone, 2, true }),
		"retention": scene(func(s *state) {
			s.compactors[1].phase, s.retained, s.reader.phase, s.losses = phaseDone, 0, phaseDone, 1
		}),
		"retention and a reader":      scene(func(s *state) { s.compactors[1].phase, s.retained, s.dup = phaseDone, 0, true }),
		"two compactors and a reader": scene(func(s *state) { s.dup, s.late, s.stored[plainC] = true, true, contentOf(plainC) }),
	}
	if os.Getenv("LOGSTOW_LONG") == "1" {
		all["two compactors, late and repeated segments, and a reader"] = scene(func(s *state) {})
		all["retention, lost responses and a reader"] = scene(func(s *state) { s.compactors[1].phase, s.retained, s.losses = phaseDone, 0, 1 })
		all["two compactors, retention, lost responses"] = scene(func(s *state) { s.reader.phase, s.retained, s.losses, s.dup = phaseDone, 0, 1, true })
	}
	return all
}

func TestLongModel(t *testing.T) {
	t.Parallel()
	for name, scene := range scenes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newModel(scene, rules{})
			states, fault := m.run()
			t.Logf("%d states", states)
			if fault != "" {
				t.Error(fault)
			}
			if states < 1000 || states >= m.most {
				t.Errorf("%d states are not all", states)
			}
		})
	}
}

// Each rule is needed: without it the model finds a history that goes wrong.
func TestBrokenRulesAreFound(t *testing.T) {
	t.Parallel()
	all := scenes()
	for name, c := range map[string]struct {
		scene string
		rules rules
		fault string
	}{
		"contained segments are merged again": {"two compactors, late and repeated segments", rules{ignoreContained: true}, "share an input"},
		"outputs are overwritten":             {"two compactors, late and repeated segments", rules{overwrite: true}, "nowhere"},
		"a reader looks at outputs once":      {"a compactor and a reader", rules{noSecondLook: true}, "misses"},
		"a reader gives up what vanishes":     {"a compactor and a reader", rules{noVanishedInputs: true}, "misses"},
		"an output is deleted again":          {"two compactors, late and repeated segments", rules{freeNames: true}, "nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, fault := newModel(all[c.scene], c.rules).run()
			if fault == "" || !strings.Contains(fault, c.fault) {
				t.Errorf("fault %q", fault)
			}
		})
	}
}
