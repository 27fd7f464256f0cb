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

// filterQuery is looked up in the token filters of segments: tokens of which every match
// contains at least one. Of all such sets it is the most selective.
type filterQuery struct {
	keys  []filter.Key // in order; none if no token is required
	score int
}

// filterText is a text that a message contains: as a whole token or anywhere.
type filterText struct {
	text  []byte
	whole bool
}

// consider takes texts of which every match contains at least one, and uses the most
// selective token of each. Of several such groups the one whose least selective token scores
// highest is kept.
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

// maxFilterIDs is the number of identifiers beyond which the filter is not checked: for one of
// [filter.Odds] tokens that a block does not contain it reports that it may, so that of so many nearly every block may
// contain one.
const maxFilterIDs = 8 * filter.Odds

// considerIDs takes identifiers of which every match contains at least one.
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

// bestToken is the most selective token of every message that contains a text, and its
// score: the length, and tokens with a digit score higher than all without. 0 is none.
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

// considerFields is consider for texts in the fields of a message: they may be written
// with \u escapes, of which the filter decodes those of ASCII.
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
