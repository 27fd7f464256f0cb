package match

import (
	"bytes"
	"math"
	"slices"
	"strings"

	"logstow/filter"
	"logstow/token"
	"logstow/where"
)

// filterQuery is what the token filters of segments are asked for: tokens of which every
// match holds one at least, those that say most of all such tokens.
type filterQuery struct {
	keys  []filter.Key // none where there is nothing to ask for
	score int
}

// filterText is a text that a message holds: as a whole or anywhere.
type filterText struct {
	text  []byte
	whole bool
}

// consider takes the tokens of texts of which every match holds one at least: of each
// text the one that says most. Of several such groups that one is taken whose least
// telling token says most.
func (n *filterQuery) consider(texts ...filterText) {
	group := filterQuery{score: math.MaxInt}
	for _, t := range texts {
		key, score := bestToken(t)
		if score == 0 {
			return
		}
		group.score = min(group.score, score)
		if !slices.Contains(group.keys, key) {
			group.keys = append(group.keys, key)
		}
	}
	if better := group.score > n.score || group.score == n.score && len(group.keys) < len(n.keys); better && len(texts) > 0 {
		*n = group
	}
}

// bestToken is the token that every message holds which a text is in, and how much it
// says: the longest says most, and with a digit more than any without. 0 is none.
func bestToken(t filterText) (key filter.Key, score int) {
	const digit = 1 << 20
	for start, end := range token.Required(t.text, t.whole) {
		says := end - start
		if bytes.ContainsAny(t.text[start:end], "0123456789") {
			says += digit
		}
		if says > score {
			key, score = filter.KeyOf(t.text[start:end]), says
		}
	}
	return key, score
}

// considerFields is consider for texts that a message holds in its fields: they may be
// there with \u escapes, of which the filter knows those of ASCII.
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
