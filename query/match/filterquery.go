package match

import (
	"bytes"
	"math"
	"slices"
	"strings"

	"logstow/field/where"
	"logstow/filter"
	"logstow/filter/token"
)

// filterQuery is a set of tokens of which every match contains at least one. It is looked up in the token filters of
// segments. Of several such sets, consider keeps the most selective.
type filterQuery struct {
	keys  []filter.Key // ascending; none if no token is required
	score int
}

// filterText is a text that a message contains, as a whole token or anywhere.
type filterText struct {
	text  []byte
	whole bool
}

// consider takes a group of texts of which every match contains at least one, and picks the most selective token of each
// text. The score of a group is that of its least selective token; the group with the highest score is kept.
func (n *filterQuery) consider(texts ...filterText) {
	group := filterQuery{score: math.MaxInt}
	for _, t := range texts {
		key, score := bestToken(t)
		if score == 0 {
			return
		}
		group.score = min(group.score, score)
		group.keys = append(group.keys, key)
	}
	slices.Sort(group.keys)
	group.keys = slices.Compact(group.keys)
	if better := group.score > n.score || group.score == n.score && len(group.keys) < len(n.keys); better && len(texts) > 0 {
		*n = group
	}
}

// maxFilterIDs is the maximum number of identifiers for which the filter is checked. With more, the false positives of the
// filter, 1 in [filter.Odds] per identifier, would select nearly every block.
const maxFilterIDs = 8 * filter.Odds

// considerIDs is consider for identifiers.
func (n *filterQuery) considerIDs(ids []string, substring bool) {
	if len(ids) == 0 || len(ids) > maxFilterIDs || len(ids) > filter.Odds && len(n.keys) > 0 {
		return
	}
	texts := make([]filterText, len(ids))
	for i, id := range ids {
		texts[i] = filterText{[]byte(id), !substring && token.Whole([]byte(id))}
	}
	n.consider(texts...)
}

// bestToken returns the most selective token that every message with a text contains. Its score is its length; a token with a
// digit scores higher than any without. The score is 0 if there is no token.
func bestToken(t filterText) (key filter.Key, score int) {
	const digit = 1 << 20
	for start, end := range token.Required(t.text, t.whole) {
		length := end - start
		if bytes.ContainsAny(t.text[start:end], "0123456789") {
			length += digit
		}
		if length > score {
			key, score = filter.KeyOf(t.text[start:end]), length
		}
	}
	return key, score
}

// considerFields is consider for texts in the fields of a message. Groups with non-ASCII texts are ignored: they may be
// written with \u escapes, and the filter handles only those of ASCII.
func (n *filterQuery) considerFields(group []where.Text) {
	texts := make([]filterText, len(group))
	for i, t := range group {
		if strings.IndexFunc(t.Value, func(r rune) bool { return r >= 0x80 }) >= 0 {
			return
		}
		texts[i] = filterText{[]byte(t.Value), t.Whole}
	}
	n.consider(texts...)
}
