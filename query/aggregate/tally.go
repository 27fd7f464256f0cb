package aggregate

// tally counts how often numbers occur. Most follow an equal one, and to increment a counter again waits for the time before, so
// it counts in four tables in turn.
type tally struct {
	tables [3][]uint32
}

// addTally adds to counts, by number, how often the numbers of ids occur; they are less than len(counts), and at most 2^32-1.
func addTally[T uint8 | uint16](t *tally, counts []uint32, ids []T) {
	if len(ids) < 16*len(counts) { // to clear and to add the tables would take longer
		for _, id := range ids {
			counts[id]++
		}
		return
	}
	for i := range t.tables {
		if len(t.tables[i]) < len(counts) {
			t.tables[i] = make([]uint32, len(counts))
		}
		clear(t.tables[i][:len(counts)])
	}
	a, b, c := t.tables[0][:len(counts)], t.tables[1][:len(counts)], t.tables[2][:len(counts)]
	for ; len(ids) >= 4; ids = ids[4:] {
		counts[ids[0]]++
		a[ids[1]]++
		b[ids[2]]++
		c[ids[3]]++
	}
	for _, id := range ids {
		counts[id]++
	}
	for i := range counts {
		counts[i] += a[i] + b[i] + c[i]
	}
}
