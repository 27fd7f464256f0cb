package patterns

import (
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// wordValues is the minimum number of values that make a word variable, if all other words are equal.
	wordValues = 5
	// maxRounds is how often variable words are looked for: two that vary together are found one
	// after the other.
	maxRounds = 8
)

// draft is a template in the making.
type draft struct {
	words []string
	// hashes are the hashes of the words at their positions, sum is their sum.
	hashes []uint64
	sum    uint64
	// literals is how many words are not only wildcards.
	literals int
	tally    *tally
	// wild has the bits of the words that were found to be variable.
	wild uint64
	// into is the draft that this one was merged into, nil if it was not.
	into  *draft
	shape string
}

// newDraft makes a draft of a shape.
func newDraft(shape string, t *tally) *draft {
	d := &draft{shape: shape, words: strings.Split(shape, " "), tally: t}
	d.hashes = make([]uint64, len(d.words))
	for i, word := range d.words {
		d.add(i, word)
	}
	return d
}

// add adds a word at its position.
func (d *draft) add(i int, word string) {
	d.words[i], d.hashes[i] = word, mix(hashOf(word)+uint64(i))
	d.sum += d.hashes[i]
	if isLiteral(word) {
		d.literals++
	}
}

// set replaces a word.
func (d *draft) set(i int, word string) {
	d.sum -= d.hashes[i]
	if isLiteral(d.words[i]) {
		d.literals--
	}
	d.add(i, word)
}

// isLiteral reports whether a word has two letters in a row that are constant.
func isLiteral(word string) bool {
	for i := 1; i < len(word); i++ {
		if isLetter(word[i]) && isLetter(word[i-1]) {
			return true
		}
	}
	return false
}

// place is a position in the drafts whose other words have a sum of hashes.
type place struct {
	position int
	others   uint64
}

// variants are the values of a word in drafts that agree in all others.
type variants struct {
	// seen are the first of the values, n their number.
	seen [wordValues]string
	n    int
	// prefix and suffix are how many bytes all values have in common.
	prefix, suffix int
	// shortest is the length of the shortest value.
	shortest int
}

// newVariants makes variants with one value.
func newVariants(word string) *variants {
	return &variants{seen: [wordValues]string{word}, n: 1, prefix: len(word), suffix: len(word), shortest: len(word)}
}

// generalize replaces variable words of drafts, which have the same number of words, by wildcards, and merges drafts that
// become equal. It returns the remaining drafts.
func generalize(drafts []*draft) []*draft {
	for range maxRounds {
		varying := variable(drafts)
		if len(varying) == 0 {
			break
		}
		for _, d := range drafts {
			d.replace(varying)
		}
		drafts = mergeEqual(drafts)
	}
	return drafts
}

// replace replaces words that vary.
func (d *draft) replace(varying map[place]string) {
	sum := d.sum // of the words before any is replaced
	for i, before := range d.words {
		if word, ok := varying[place{i, sum - d.hashes[i]}]; ok && word != before {
			d.set(i, word)
			d.wild |= 1 << i
		}
	}
}

// variable returns the places of variable words in drafts, which have the same number of words, and their replacements.
func variable(drafts []*draft) map[place]string {
	varying := map[place]string{}
	if len(drafts) == 0 {
		return varying
	}
	first, more := map[uint64]string{}, map[uint64]*variants{} // by the sum of the other words
	for i := range drafts[0].words {
		clear(first)
		clear(more)
		for _, d := range drafts {
			if !d.sustains(i) {
				continue
			}
			others := d.sum - d.hashes[i]
			word, known := first[others]
			if !known { // most are the only ones
				first[others] = d.words[i]
				continue
			}
			if more[others] == nil {
				more[others] = newVariants(word)
			}
			more[others].add(d.words[i])
		}
		for others, v := range more {
			if word, ok := v.generalized(); ok {
				varying[place{i, others}] = word
			}
		}
	}
	return varying
}

// sustains reports whether enough of a draft is constant without word i: two words.
func (d *draft) sustains(i int) bool {
	others := d.literals
	if isLiteral(d.words[i]) {
		others--
	}
	return others >= 2
}

// add adds a value.
func (v *variants) add(word string) {
	first := v.seen[0]
	v.shortest = min(v.shortest, len(word))
	v.prefix = min(v.prefix, len(word))
	for v.prefix > 0 && word[:v.prefix] != first[:v.prefix] {
		v.prefix--
	}
	v.suffix = min(v.suffix, len(word))
	for v.suffix > 0 && word[len(word)-v.suffix:] != first[len(first)-v.suffix:] {
		v.suffix--
	}
	if v.n < wordValues && !slices.Contains(v.seen[:v.n], word) {
		v.seen[v.n] = word
		v.n++
	}
}

// generalized returns the replacement of the values: their common prefix and suffix, up to punctuation, around a wildcard.
// It is not ok if the values are not variable.
func (v *variants) generalized() (word string, ok bool) {
	if v.n == 1 {
		return "", false
	}
	first := v.seen[0]
	prefix, suffix := v.prefix, v.suffix
	for prefix > 0 && !isBoundary(first[:prefix], first[prefix-1]) {
		prefix--
	}
	for suffix > 0 && !isBoundary(first[:len(first)-suffix+1], first[len(first)-suffix]) {
		suffix--
	}
	if v.shortest < prefix+suffix {
		suffix = 0
	}
	variable := v.n == wordValues
	for _, value := range v.seen[:v.n] {
		if strings.IndexByte(value[prefix:], '=') > 0 { // pairs of different keys
			return Wildcard, false
		}
		variable = variable || isIdentifier(value[prefix:len(value)-suffix])
	}
	return first[:prefix] + Wildcard + first[len(first)-suffix:], variable
}

// isBoundary reports whether a common prefix or suffix may end at punctuation c, with which text ends: not inside a
// wildcard or next to one.
func isBoundary(text string, c byte) bool {
	return !isAlnum(c) && c < utf8.RuneSelf && c != '<' && c != '>' && (c != '_' || !strings.HasSuffix(text, "<_"))
}

// isIdentifier reports whether a word looks like a name rather than a word of a sentence: it has a
// variable part, or punctuation inside.
func isIdentifier(word string) bool {
	return strings.Contains(word, Wildcard) || strings.ContainsAny(strings.Trim(word, `.,:;!?()[]{}"'`), `./\@$_:`)
}

// mergeEqual merges drafts of the same words.
func mergeEqual(drafts []*draft) []*draft {
	known := map[string]*draft{}
	var merged []*draft
	for _, d := range drafts {
		template := strings.Join(d.words, " ")
		if same := known[template]; same != nil {
			same.tally.merge(d.tally)
			d.into = same
			continue
		}
		known[template] = d
		merged = append(merged, d)
	}
	return merged
}
