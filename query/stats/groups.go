package stats

// groupOverhead is about what a group takes beside its key: in the map while records
// are counted, and as a row of the result.
const groupOverhead = 192

// groups are counts by key.
type groups struct {
	counts map[string]*uint64
	total  uint64
	// bytes is about the memory that they take, at most limit; full is set when one more
	// group would take more.
	bytes, limit int64
	full         bool
}

func newGroups(limit int64) *groups { return &groups{counts: map[string]*uint64{}, limit: limit} }

// add counts n records of a group, unless there is no memory for it.
func (g *groups) add(key []byte, n uint64) {
	g.total += n
	if count := g.counts[string(key)]; count != nil {
		*count += n
		return
	}
	g.insert(string(key), n)
}

func (g *groups) insert(key string, n uint64) {
	if g.bytes += 2*int64(len(key)) + groupOverhead; g.bytes > g.limit {
		g.full = true
		return
	}
	g.counts[key] = &n
}

// merge adds what another has.
func (g *groups) merge(other *groups) {
	g.total += other.total
	g.full = g.full || other.full
	for key, n := range other.counts {
		if count := g.counts[key]; count != nil {
			*count += *n
		} else {
			g.insert(key, *n)
		}
	}
}
