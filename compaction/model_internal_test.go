// The model is explored by one goroutine at a time: the race detector would find nothing, and take gigabytes.

//go:build !race

package compaction

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"testing"
	"time"

	"logstow/blobnaming"
	"logstow/containment"
	"logstow/internal/test/effort"
	"logstow/store"
)

// The model visits all interleavings of a short history: two compactors, which list name
// by name, lose responses and stall anywhere; removal without grace, by listings of any age; late
// segments and a batch that is stored twice; outputs of a part of an hour; an output that becomes
// unreadable, wholly or in part, and its rejection; retention; and a reader that lists name by name, looks
// at the outputs a second time, and finds inputs that vanish meanwhile. What is planned, created,
// removed, rejected and hidden is decided by the code that Run, Reject and readers use.

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
	plainD
	modelNames
)

// mask is a set of contents: bit 0 is A.
type mask uint8

const allContents mask = 1<<4 - 1

// contentOf is the content of a plain segment.
func contentOf(name int) mask {
	return [modelNames]mask{plainA: 1, copyA: 1, plainB: 2, plainC: 4, plainD: 8}[name]
}

func isOutput(name int) bool { return name >= output1 && name <= output3 }

// shelf is what there is under each name: nothing, or its content.
type shelf [modelNames]mask

// names is a set of names.
type names uint8

func setOf(all ...int) (set names) {
	for _, name := range all {
		set |= 1 << name
	}
	return set
}

func (s names) has(name int) bool { return s&(1<<name) != 0 }

// The phases of actors.
const (
	phaseList = iota
	phaseCreate
	phaseRetry // the response of a create was lost
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
	known      names // outputs whose list it has read
	generation uint8
	inputs     mask // of the generation it makes
	remove     names
}

// state is all there is. It is comparable.
type state struct {
	stored     shelf
	came       mask  // contents that were ever stored
	coming     names // segments that are still to be stored
	compactors [2]compactor
	reader     reader
	losses     uint8 // of responses that may still happen
	harm       harm
	// retention deletes names up to retained; it began if expired.
	expired  bool
	retained uint8
}

// rules are what a test breaks on purpose.
type rules struct {
	ignoreContained  bool // a compactor merges what outputs contain
	overwrite        bool // creates are not conditional
	freeNames        bool // a compactor deletes its output if inputs vanished
	noReadBack       bool // inputs are removed without reading their output back
	guessInputs      bool // a compactor goes on although the list of an output cannot be read
	noSecondLook     bool // a reader does not look at the outputs again
	noVanishedInputs bool // a reader does not look for vanished inputs in outputs
	noFallback       bool // a reader gives up an output that is damaged
	readUnlisted     bool // a reader reads an output whose list cannot be read beside plain segments
	forgetReplaced   bool // a reader does not return to inputs that it replaced by an output
	rejectAlways     bool // an output is rejected although inputs are gone
}

// model explores states.
type model struct {
	rules   rules
	scene   state
	limits  Limits
	grace   time.Duration
	now     time.Time
	plain   [modelNames]containment.Segment
	outputs map[[2]int]containment.Output // by name and content
	seed    maphash.Seed
	visited map[uint64]struct{}
	path    []string
	fault   string
	most    int
}

func newModel(scene scene, broken rules) *model {
	hour := time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC)
	m := &model{
		rules: broken, scene: scene.state, now: hour.Add(5 * time.Hour), limits: DefaultLimits(), seed: maphash.MakeSeed(),
		outputs: make(map[[2]int]containment.Output), visited: make(map[uint64]struct{}), most: 40_000_000,
	}
	m.limits.Late = 1
	m.grace = scene.grace
	m.limits.Inputs = cmp.Or(scene.inputs, m.limits.Inputs)
	for i, number := range map[int]uint64{plainA: 1, copyA: 2, plainB: 990_001, plainC: 990_002, plainD: 990_003} {
		content := contentOf(i)
		start := hour.Add(time.Duration(content) * time.Minute).UnixNano()
		m.plain[i] = containment.Segment{
			Name: blobnaming.Name{Service: "web", Bucket: hour, Number: number}, Size: 100, ETag: fmt.Sprint(i), Created: hour,
			Meta: blobnaming.Metadata{Start: start, End: start, Records: 1, Batch: blobnaming.Batch{byte(content)}, Instance: "pod", Seq: int64(content), Footer: 50},
		}
	}
	m.plain[plainB].Created = m.now
	for i := output1; i <= output3; i++ {
		for content := range allContents {
			content++
			m.outputs[[2]int{i, int(content)}] = m.makeOutput(i, content)
		}
	}
	return m
}

// makeOutput is an output of content as Run makes it.
func (m *model) makeOutput(name int, content mask) containment.Output {
	var inputs []containment.Segment
	for _, i := range []int{plainA, plainB, plainC, plainD} {
		if contentOf(i)&content != 0 {
			inputs = append(inputs, m.plain[i])
		}
	}
	first, last := inputs[0].Meta, inputs[len(inputs)-1].Meta
	o := containment.Output{Segment: containment.Segment{
		Name: blobnaming.OutputName("web", m.plain[plainA].Name.Bucket, "", name-output1+1), Size: 1000, ETag: fmt.Sprint(name, content),
		Meta: blobnaming.Metadata{
			Start: first.Start, End: last.End, Records: uint64(len(inputs)), Batch: batchOf(m.limits, nil, inputs),
			Instance: blobnaming.OutputInstance, Seq: last.Seq, Footer: 900, Origins: 800,
		},
	}}
	for _, s := range inputs {
		o.Inputs = append(o.Inputs, s.Origin())
	}
	return o
}

// hour is what a compactor has read after it listed and read the outputs' lists.
func (m *model) hour(s *state, c *compactor) *Hour {
	var segments []containment.Segment
	var rejected []blobnaming.Name
	for i, content := range c.seen {
		switch {
		case content == 0:
		case isOutput(i):
			segments = append(segments, m.outputs[[2]int{i, int(content)}].Segment)
			if s.harm.rejected.has(i) {
				rejected = append(rejected, segments[len(segments)-1].Name)
			}
		default:
			segments = append(segments, m.plain[i])
		}
	}
	hours := Group(segments, rejected)
	if len(hours) == 0 {
		return &Hour{}
	}
	h := hours[0]
	for i := range h.Outputs {
		o := &h.Outputs[i]
		if o.Rejected {
			continue
		}
		name := m.nameOf(o.Segment)
		o.Inputs = m.outputs[[2]int{name, int(c.seen[name])}].Inputs
		switch {
		case s.stored[name] != c.seen[name]:
			o.Inputs, o.Err = nil, store.ErrNotFound
		case s.harm.of(name) == listDamaged && !c.known.has(name):
			o.Inputs = nil
			if !m.rules.guessInputs {
				o.Err = errDamagedList
			}
		default:
			c.known |= setOf(name)
		}
		if m.rules.ignoreContained {
			o.Inputs = nil
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
	m.harmSteps(s)
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

// wrong returns what is wrong with a state, "" if nothing.
func (m *model) wrong(s state) string {
	var all mask
	for i := output1; i <= output3; i++ {
		if s.harm.rejected.has(i) {
			continue
		}
		if all&s.stored[i] != 0 && !s.expired {
			return "two outputs share an input"
		}
		all |= s.stored[i]
	}
	nowhere := s.came &^ s.readable(0) &^ s.harm.lost
	if nowhere != 0 && !s.expired {
		return fmt.Sprintf("%04b is nowhere", nowhere)
	}
	return s.reader.wrong(&s)
}

// readable are the contents that can be read without segments of some names.
func (s *state) readable(without names) (all mask) {
	for i, content := range s.stored {
		switch {
		case without.has(i), s.harm.rejected.has(i):
		case isOutput(i):
			all |= content &^ s.harm.unreadable(i, content)
		default:
			all |= content
		}
	}
	return all
}

// scene is a beginning: what is stored, and which actors there are.
type scene struct {
	state
	inputs int           // of an output, at most; 0 is no limit
	grace  time.Duration // B is too young for any
}

// newScene has the segments of some names, two compactors, a reader and nothing that is to happen.
func newScene(names []int, change func(*scene)) scene {
	s := scene{state: state{retained: modelNames}}
	for _, name := range names {
		s.stored[name] = contentOf(name)
		s.came |= contentOf(name)
	}
	change(&s)
	return s
}

// scenes are the histories that are visited: a part of the actors each, in the long form more.
func scenes(long bool) map[string]scene {
	late, repeated := setOf(plainC), setOf(copyA)
	two, three := []int{plainA, plainB}, []int{plainA, plainB, plainC}
	oneCompactor := func(s *scene) { s.compactors[1].phase = phaseDone }
	noReader := func(s *scene) { s.reader.phase = phaseDone }
	all := map[string]scene{
		"two compactors, late and repeated segments": newScene(two, func(s *scene) { noReader(s); s.coming = late | repeated }),
		"a compactor and a reader":                   newScene(two, func(s *scene) { oneCompactor(s); s.coming = late | repeated }),
		"lost responses":                             newScene(two, func(s *scene) { noReader(s); s.losses, s.coming = 2, late }),
		"retention":                                  newScene(two, func(s *scene) { oneCompactor(s); noReader(s); s.retained, s.losses, s.coming = 0, 1, late|repeated }),
		"retention and a reader":                     newScene(two, func(s *scene) { oneCompactor(s); s.retained = 0 }),
		"two compactors and a reader":                newScene(three, func(s *scene) {}),
		"small outputs":                              newScene(three, func(s *scene) { noReader(s); s.inputs, s.coming = 2, setOf(plainD) }),
		"small outputs and a reader":                 newScene(three, func(s *scene) { oneCompactor(s); s.inputs, s.coming = 2, setOf(plainD) }),
		"damage, two compactors":                     newScene(two, func(s *scene) { noReader(s); s.harm.left, s.coming = 1, late|repeated }),
		"damage, two compactors and a reader":        newScene(two, func(s *scene) { s.harm.left = 1 }),
		"damage and a reader":                        newScene(two, func(s *scene) { oneCompactor(s); s.harm.left, s.coming = 1, late }),
		"damage, a young input and a reader":         newScene(two, func(s *scene) { oneCompactor(s); s.harm.left, s.grace = 1, time.Hour }),
		"damage of small outputs and a reader":       newScene(three, func(s *scene) { oneCompactor(s); s.harm.left, s.inputs = 1, 2 }),
	}
	if long {
		for name, s := range map[string]scene{
			"two compactors, late and repeated segments, and a reader": newScene(two, func(s *scene) { s.coming = late | repeated }),
			"retention, lost responses and a reader":                   newScene(two, func(s *scene) { oneCompactor(s); s.retained, s.losses, s.coming = 0, 1, late }),
			"two compactors, retention, lost responses":                newScene(two, func(s *scene) { noReader(s); s.retained, s.losses, s.coming = 0, 1, late }),
			"small outputs, two compactors and a reader":               newScene(three, func(s *scene) { s.inputs, s.coming = 2, setOf(plainD) }),
			"damage, a late and a repeated segment, and a reader":      newScene(two, func(s *scene) { oneCompactor(s); s.harm.left, s.coming = 1, late|repeated }),
			"damage, lost responses, two compactors":                   newScene(two, func(s *scene) { noReader(s); s.harm.left, s.losses, s.coming = 1, 1, late }),
		} {
			all[name] = s
		}
	}
	return all
}

func TestLongModel(t *testing.T) {
	t.Parallel()
	for name, scene := range scenes(effort.Of() == effort.Long) {
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
	all := scenes(false)
	for name, c := range map[string]struct {
		scene string
		rules rules
		fault string
	}{
		"contained segments are merged again":      {"two compactors, late and repeated segments", rules{ignoreContained: true}, "share an input"},
		"outputs are overwritten":                  {"two compactors, late and repeated segments", rules{overwrite: true}, "nowhere"},
		"an output is deleted again":               {"two compactors, late and repeated segments", rules{freeNames: true}, "nowhere"},
		"inputs are removed without a read-back":   {"damage, two compactors", rules{noReadBack: true}, "nowhere"},
		"a list that cannot be read is no reason":  {"damage, two compactors", rules{guessInputs: true}, "share an input"},
		"an output is rejected without its inputs": {"damage, two compactors", rules{rejectAlways: true}, "nowhere"},
		"a reader looks at outputs once":           {"a compactor and a reader", rules{noSecondLook: true}, "misses"},
		"a reader gives up what vanishes":          {"a compactor and a reader", rules{noVanishedInputs: true}, "misses"},
		"a reader gives up what is damaged":        {"damage and a reader", rules{noFallback: true}, "misses"},
		"a reader forgets what it replaced":        {"damage, a young input and a reader", rules{forgetReplaced: true}, "misses"},
		"a reader reads outputs without lists":     {"damage and a reader", rules{readUnlisted: true}, "twice"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, fault := newModel(all[c.scene], c.rules).run()
			if !strings.Contains(fault, c.fault) {
				t.Errorf("fault %q", fault)
			}
		})
	}
}
