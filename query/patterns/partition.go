package patterns

// partitionValues is the minimum number of values of each of several variable words, if all other words are equal.
const partitionValues = 2 * wordValues

// partition merges drafts, which have the same number of words, in which several words vary, so that [generalize] finds no
// drafts that differ in only one word. It repeatedly divides the drafts by the word with the fewest values, until all words
// that vary have many values, and not more words vary than are constant.
func partition(drafts []*draft) {
	if len(drafts) < partitionValues {
		return
	}
	fewest, constant, varying := -1, 0, 0
	var least int
	values := map[uint64]struct{}{}
	for i := range drafts[0].words {
		n := countValues(drafts, i, values)
		switch {
		case n == 1 && isLiteral(drafts[0].words[i]):
			constant++
		case n > 1:
			if varying++; fewest < 0 || n < least {
				fewest, least = i, n
			}
		}
	}
	switch {
	case fewest < 0:
	case least >= partitionValues && constant >= 2 && constant >= varying:
		mergeVarying(drafts)
	default:
		parts := map[string][]*draft{}
		for _, d := range drafts {
			parts[d.words[fewest]] = append(parts[d.words[fewest]], d)
		}
		for _, part := range parts {
			partition(part)
		}
	}
}

// countValues is the number of values of word i; it uses a map for them.
func countValues(drafts []*draft, i int, values map[uint64]struct{}) int {
	clear(values)
	for _, d := range drafts {
		values[d.hashes[i]] = struct{}{}
	}
	return len(values)
}

// mergeVarying makes one of drafts: words that vary become wildcards.
func mergeVarying(drafts []*draft) {
	first := drafts[0]
	for i, word := range first.words {
		v := newVariants(word)
		for _, d := range drafts[1:] {
			v.add(d.words[i])
		}
		if v.n > 1 {
			word, _ = v.generalized()
			first.set(i, word)
			first.wild |= 1 << i
		}
	}
	for _, d := range drafts[1:] {
		first.tally.merge(d.tally)
		d.into = first
	}
}
