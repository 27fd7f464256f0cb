//go:build !race

package compaction

import (
	"strings"
	"testing"

	"logstow/internal/test/effort"
)

// The items of most scenes: A in the middle of the names of the first hour, B and C in the second hour.
func itemA() item { return item{name: 1, batch: 0} }
func itemB() item { return item{name: 3, batch: 1} }
func itemC() item { return item{name: 4, batch: 2} }

// newScene has A and B, a compactor that makes one output, and a reader.
func newScene(change func(*scene)) scene {
	s := scene{raw: []item{itemA(), itemB()}, names: [batches]uint8{1, 3, 4}, commits: [2]uint8{1, 0}}
	change(&s)
	return s
}

// twinsOf are forged blobs of A under the names of its hour.
func twinsOf(second int8, kinds ...kind) (all []item) {
	for name := range uint8(3) {
		for _, k := range kinds {
			all = append(all, item{name: name, kind: k, second: second})
		}
	}
	return all
}

// scenes are the histories that are visited: a part of the actors each, with more effort more of them.
func scenes(level effort.Level) map[string]scene {
	one, two := [2]uint8{1, 0}, [2]uint8{1, 1}
	twins := twinsOf(0, otherBlock, otherParser, otherClass, otherBytes)
	all := map[string]scene{
		"race":           newScene(func(s *scene) { s.commits = two }),
		"late":           newScene(func(s *scene) { s.coming = []item{itemC()} }),
		"late, two":      newScene(func(s *scene) { s.commits, s.coming, s.losses, s.noReader = two, []item{itemC()}, 1, true }),
		"copy":           newScene(func(s *scene) { s.coming = []item{{name: 0}} }),
		"parsers":        newScene(func(s *scene) { s.parsers[1], s.commits = "json/1", [2]uint8{2, 0} }),
		"classes":        newScene(func(s *scene) { s.classes[1], s.commits = "audit", [2]uint8{2, 0} }),
		"twin":           newScene(func(s *scene) { s.hostile, s.hostiles, s.seconds = twins, 1, 1 }),
		"later":          newScene(func(s *scene) { s.raw[0].second, s.hostile, s.hostiles = -1, twins, 1 }),
		"known":          newScene(func(s *scene) { s.raw, s.coming, s.hostile, s.hostiles = []item{itemB()}, []item{itemA()}, twins, 1 }),
		"forged":         newScene(func(s *scene) { s.comp[0], s.forged = output{inputs: 1}, true }),
		"stores":         newScene(func(s *scene) { s.coming = []item{{name: elsewhere, kind: otherBlock}} }),
		"stores, parser": newScene(func(s *scene) { s.coming = []item{{name: elsewhere, kind: otherParser}} }),
		"retention":      newScene(func(s *scene) { s.commits, s.retention, s.losses, s.noReader = two, true, 1, true }),
		"freed":          newScene(func(s *scene) { s.freed(); s.commits = one }),
		"failover":       newScene(func(s *scene) { s.replicated, s.coming = true, []item{{name: 0}} }),
		"damage":         newScene(func(s *scene) { s.harms, s.hostile, s.hostiles = 1, twinsOf(0, otherBlock)[:2], 1 }),
		"own": newScene(func(s *scene) { // C takes the name of A
			s.own, s.commits, s.names[2], s.coming, s.noReader = true, two, 1, []item{{name: 1, batch: 2}}, true
		}),
		"damage, own": newScene(func(s *scene) { s.own, s.harms = true, 1 }),
		"index":       newScene(func(s *scene) { s.own, s.indexed = true, true }),
	}
	if level < effort.Full {
		return all
	}
	for name, s := range map[string]scene{
		"race, late": newScene(func(s *scene) { s.commits, s.coming = two, []item{itemC()} }),
		"race, copy": newScene(func(s *scene) { s.commits, s.coming = two, []item{{name: 0}} }),
		"twin, two":  newScene(func(s *scene) { s.hostile, s.hostiles, s.commits = twins, 1, two }),
		"twins":      newScene(func(s *scene) { s.hostile, s.hostiles = twins, 2 }),
		"twin, copy": newScene(func(s *scene) { s.hostile, s.hostiles, s.coming = twins, 1, []item{{name: 0}} }),
		"twin, stores": newScene(func(s *scene) {
			s.hostile, s.hostiles, s.coming = twins, 1, []item{{name: elsewhere, kind: otherBlock}}
		}),
		"retention, read": newScene(func(s *scene) { s.commits, s.retention = two, true }),
		"freed, two":      newScene(func(s *scene) { s.freed(); s.commits = two }),
		"failover, twin":  newScene(func(s *scene) { s.replicated, s.hostile, s.hostiles = true, twins, 1 }),
		"damage, late":    newScene(func(s *scene) { s.harms, s.coming = 1, []item{itemC()} }),
		"damage, two":     newScene(func(s *scene) { s.harms, s.commits = 1, two }),
		"damage, twin":    newScene(func(s *scene) { s.harms, s.hostile, s.hostiles = 1, twins, 1 }),
		"own, two":        newScene(func(s *scene) { s.own, s.commits, s.coming = true, two, []item{{name: 0}} }),
		"index, late":     newScene(func(s *scene) { s.own, s.indexed, s.coming = true, true, []item{itemC()} }),
		"classes, late":   newScene(func(s *scene) { s.classes[1], s.commits, s.coming = "audit", [2]uint8{2, 0}, []item{itemC()} }),
	} {
		all[name] = s
	}
	return all
}

// freed makes a compactor stall before it creates A and B as generation 1, which exists and has B; A is of the raw container, and
// retention frees the name.
func (s *scene) freed() {
	s.raw, s.comp[0], s.stalled, s.retention = []item{itemA()}, output{inputs: 2}, 3, true
}

// Each rule is needed: without it the model finds a history that goes wrong. Verification makes the order of twins, and that they are
// resolved before grouping, a matter of what is read; without it both are needed, and suffice if the forged twin is the younger one.
func TestBrokenRulesAreFound(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "tests the model of TestLongModel")
	all := scenes(effort.Full)
	for _, c := range []struct{ rules, scene, fault string }{
		{"tier", "forged", ""},
		{"permissions", "twin", "nowhere"},
		{"order", "race", "misses"},
		{"order", "index", "misses"},
		{"barrier", "race", "misses"},
		{"barrier", "index", "misses"},
		{"pair", "race", "misses"},
		{"vanish", "race", "misses"},
		{"etag", "later", "misses"},
		{"etag", "own", "nowhere"},
		{"oldest,verify", "later", ""},
		{"pregroup,verify", "later", ""},
		{"verify", "known", ""},
		{"verify", "twin", ""},
		{"contain", "race", "share an input"},
		{"cond", "late, two", "nowhere"},
		{"recheck", "race", "share an input"},
		{"lowgen", "freed, two", "twice"},
		{"fallback", "damage", "misses"},
		{"reject", "damage", "does not report"},
		{"grace", "failover", "nowhere"},
		{"foreign", "stores", "forged"},
	} {
		t.Run(c.rules+" in "+c.scene, func(t *testing.T) {
			t.Parallel()
			states, fault := newModel(t, all[c.scene], strings.Split(c.rules, ",")...).explore()
			first, _, _ := strings.Cut(fault, "\n")
			t.Logf("%d states, fault: %s", states, first)
			if fault == "" || !strings.Contains(first, c.fault) {
				t.Errorf("fault %q", fault)
			}
		})
	}
}
