package filter

// sortKeys sorts keys by radix sort with digits of 11 bits, using spare as scratch. It returns the sorted keys and the
// other slice.
func sortKeys(keys, spare []Key) (sorted, other []Key) {
	const digits, width = 3, 11
	if cap(spare) < len(keys) {
		spare = make([]Key, len(keys), cap(keys))
	}
	spare = spare[:len(keys)]
	var counts [digits][1 << width]uint32
	for _, k := range keys {
		counts[0][k%(1<<width)]++
		counts[1][k>>width%(1<<width)]++
		counts[2][k>>(2*width)]++
	}
	for d := range counts {
		var at uint32
		for i, n := range counts[d] {
			counts[d][i], at = at, at+n
		}
		shift := uint(d * width)
		places := &counts[d]
		for _, k := range keys {
			place := &places[k>>shift%(1<<width)]
			spare[*place] = k
			*place++
		}
		keys, spare = spare, keys
	}
	return keys, spare
}
