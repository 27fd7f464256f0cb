package rowset

// tally counts the occurrences of small numbers. Equal numbers often follow each other, and incrementing the same counter twice
// in a row stalls the processor, so tally uses four tables in turn: three of its own and that of the result.
type tally struct {
	tables [3][]uint32
}

// addTally adds the number of occurrences of each number in ids to counts. The numbers must be less than len(counts).
func addTally[T uint8 | uint16](t *tally, counts []uint32, ids []T) {
	if len(ids) < 16*len(counts) { // clearing and adding the tables would take longer
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
