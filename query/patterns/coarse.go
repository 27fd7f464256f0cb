package patterns

import (
	"bytes"
	"math/bits"
)

const (
	// groupCount is how many groups of shapes there are: by the number of words, up to maxWords, and
	// a hash of the first words.
	groupCount = (maxWords + 1) * hashGroups
	hashGroups = 16
	// groupLimit is the maximum number of shapes of a group, if there are more than MaxShapes, before it is made coarse.
	groupLimit = 64
	// manyValues is the number of bits of 64, set by the hashes of the values of a word, from which on the word becomes a
	// wildcard. It is about the number of values.
	manyValues = 12
	// keptColumns is how many words of a coarse group's shapes, from the first, may vary and be kept.
	keptColumns = 3
)

// shapeSet are shapes with the tallies of their records.
type shapeSet struct {
	// limit is MaxShapes, most is twice that.
	limit, most int
	groups      [groupCount]*group
	// shapes is the number of shapes in all groups.
	shapes int
	// coarse is set once there were more than limit shapes.
	coarse bool
}

// group is a set of shapes with the same number of words.
//
// A group is coarse if it had more than groupLimit shapes while the counter had more than its limit.
// Then a set of bits for each position of a word has a bit for each value, several values may share one.
// A position is a wildcard if manyValues bits are set, or if keptColumns positions before it vary. As sets
// only grow, a position that is a wildcard remains one, and the shapes of a group depend on all
// shapes ever added only: not on their order, nor on when the group became coarse.
type group struct {
	shapes map[string]*tally
	// columns are the sets of the positions, nil unless the group is coarse.
	columns []uint64
	// wild has the bits of the positions that are wildcards.
	wild uint64
	key  uint16
}

// group is the group of a key.
func (s *shapeSet) group(key uint16) *group {
	if s.groups[key] == nil {
		s.groups[key] = &group{shapes: map[string]*tally{}, key: key}
	}
	return s.groups[key]
}

// groupKey is the key of a shape's group.
func groupKey(shape []byte, words int) uint16 {
	hash, known := uint64(0), 0
	for word := range bytes.SplitSeq(shape, []byte(" ")) {
		if string(word) == Wildcard {
			continue
		}
		hash = hash<<7 + hash + hashOf(word)
		if known++; known == 3 {
			break
		}
	}
	return uint16(words*hashGroups) + uint16(mix(hash)%hashGroups)
}

// tally is the tally of a shape, nil if there are too many shapes.
func (s *shapeSet) tally(shape []byte, words int) *tally {
	return s.tallyIn(groupKey(shape, words), shape)
}

// tallyIn is the tally of a shape in a group.
func (s *shapeSet) tallyIn(key uint16, shape []byte) *tally {
	g := s.group(key)
	// A shape that is there has no words at wildcards, nor new values.
	if t := g.shapes[string(shape)]; t != nil {
		return t
	}
	if g.columns != nil {
		shape = g.project(s, shape)
		if t := g.shapes[string(shape)]; t != nil {
			return t
		}
	}
	if s.shapes >= s.most {
		return nil
	}
	t := &tally{}
	g.shapes[string(shape)] = t
	s.shapes++
	switch {
	case !s.coarse && s.shapes > s.limit:
		s.coarsen()
	case s.coarse && g.columns == nil && len(g.shapes) > groupLimit:
		g.coarsen(s)
	default:
		return t
	}
	return s.tallyIn(key, shape)
}

// coarsen makes groups of many shapes coarse, now and later.
func (s *shapeSet) coarsen() {
	if s.coarse {
		return
	}
	s.coarse = true
	for _, g := range s.groups {
		if g != nil && len(g.shapes) > groupLimit {
			g.coarsen(s)
		}
	}
}

// coarsen makes the group coarse.
func (g *group) coarsen(s *shapeSet) {
	if g.columns != nil {
		return
	}
	g.columns = make([]uint64, max(1, g.key/hashGroups))
	for shape := range g.shapes {
		g.note([]byte(shape))
	}
	if g.settle() {
		g.merge(s)
	}
}

// adopt makes the group coarse with the values of another.
func (g *group) adopt(s *shapeSet, o *group) {
	g.coarsen(s)
	for i, set := range o.columns {
		g.columns[i] |= set
	}
	if g.settle() {
		g.merge(s)
	}
}

// project counts the words of a shape and replaces words at wildcards.
func (g *group) project(s *shapeSet, shape []byte) []byte {
	if g.note(shape) && g.settle() {
		g.merge(s)
	}
	return g.coarseShape(shape)
}

// note adds the words of a shape to the sets; it reports whether one was new.
func (g *group) note(shape []byte) (changed bool) {
	i := 0
	for word := range bytes.SplitSeq(shape, []byte(" ")) {
		set := g.columns[i] | 1<<(mix(hashOf(word))%64)
		changed = changed || set != g.columns[i]
		g.columns[i] = set
		i++
	}
	return changed
}

// settle finds the wildcards; it reports whether there are new ones.
func (g *group) settle() bool {
	before := g.wild
	varying := 0
	for i, set := range g.columns {
		n := bits.OnesCount64(set)
		if n == 1 {
			continue
		}
		if varying++; n >= manyValues || varying > keptColumns {
			g.wild |= 1 << i
		}
	}
	return g.wild != before
}

// merge replaces the words at wildcards in all shapes of the group.
func (g *group) merge(s *shapeSet) {
	s.shapes -= len(g.shapes)
	before := g.shapes
	g.shapes = make(map[string]*tally, len(before)/2)
	for shape, t := range before {
		to := string(g.coarseShape([]byte(shape)))
		if same := g.shapes[to]; same != nil {
			same.merge(t)
		} else {
			g.shapes[to] = t
		}
	}
	s.shapes += len(g.shapes)
}

// coarseShape is a shape with wildcards for the words at wildcards.
func (g *group) coarseShape(shape []byte) []byte {
	out := make([]byte, 0, len(shape))
	i := 0
	for word := range bytes.SplitSeq(shape, []byte(" ")) {
		if i > 0 {
			out = append(out, ' ')
		}
		if g.wild>>i&1 != 0 {
			out = append(out, Wildcard...)
		} else {
			out = append(out, word...)
		}
		i++
	}
	return out
}
