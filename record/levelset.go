package record

import (
	"fmt"
	"strings"
)

// LevelSet is a set of levels; the empty set stands for all of them.
type LevelSet uint8

// Has reports whether the set contains a level.
func (s LevelSet) Has(l Level) bool { return s == 0 || s&(1<<l) != 0 }

// Count is the number of records in c with a level of the set.
func (s LevelSet) Count(c Counts) uint64 {
	var n uint64
	for l, count := range c {
		if s.Has(Level(l)) {
			n += count
		}
	}
	return n
}

// ParseLevels parses a list of levels ("error,fatal"). A plus adds all higher levels ("warn+"). The names
// are those of [LevelFromAlias] (critical is fatal); "-" and "none" are records without a level.
func ParseLevels(s string) (LevelSet, error) {
	var set LevelSet
	for item := range strings.SplitSeq(s, ",") {
		item = strings.TrimSpace(item)
		name, floor := strings.CutSuffix(item, "+")
		l, ok := levelByName(name)
		if !ok || floor && l == None {
			return 0, fmt.Errorf("%q is not a level; want trace, debug, info, warn, error, fatal or - (none), "+
				"as a list (error,fatal) or a minimum (warn+)", item)
		}
		set |= 1 << l
		for ; floor && l <= Fatal; l++ {
			set |= 1 << l
		}
	}
	return set, nil
}

func levelByName(name string) (Level, bool) {
	if name == "-" || strings.EqualFold(name, "none") {
		return None, true
	}
	l := LevelFromAlias(name)
	return l, l != None
}
