package match

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"

	"logstow/filter"
	"logstow/filter/token"
)

// idSet finds any of many texts in one pass. Each text matches at the same places as a [Literal] of it. Immutable.
//
// Whole identifiers can only begin at the start of a run; other texts are looked up at every byte. In both cases a small
// table of bits, a Bloom filter with one hash, rejects most places.
type idSet struct {
	fold  bool
	isRun [256]bool
	whole wholeIDs
	parts partIDs
}

// wholeIDs are the texts that match as whole tokens.
type wholeIDs struct {
	all map[string]struct{}
	// lengths has true at the length of each text.
	lengths []bool
	// firstLengths has the bit of the length of each text's first run; bit 63 stands for 63 and more. first has the keys
	// of these runs.
	firstLengths uint64
	first        bitTable
}

// partIDs are the texts that match anywhere, in order. None is a prefix of another.
type partIDs struct {
	all [][]byte
	// starts has the hash of the first window bytes of each text; window is at most 8.
	window int
	starts bitTable
}

// bitTable is a set of hashes with false positives.
type bitTable struct {
	bits  []uint64
	shift uint // of a hash of 32 bits
}

// newBitTable makes a table for n hashes, with false positives for at most one in 64 other hashes.
func newBitTable(n int) bitTable {
	log := max(12, bits.Len(uint(64*n-1)))
	return bitTable{make([]uint64, 1<<(log-6)), uint(32 - log)}
}

func (t *bitTable) add(hash uint32) {
	hash >>= t.shift
	t.bits[hash/64] |= 1 << (hash % 64)
}

func (t *bitTable) has(hash uint32) bool {
	hash >>= t.shift
	return t.bits[hash/64]>>(hash%64)&1 != 0
}

// newIDSet makes a set of texts that match like patterns; nil if there are none.
func newIDSet(ids []string, fold, substring bool) *idSet {
	if len(ids) == 0 {
		return nil
	}
	s := &idSet{fold: fold}
	for b := range s.isRun {
		s.isRun[b] = token.IsByte(byte(b))
	}
	var whole [][]byte
	for _, id := range ids {
		text := []byte(id)
		if fold {
			text = appendLower(nil, text)
		}
		if !substring && token.Whole(text) {
			whole = append(whole, text)
		} else {
			s.parts.all = append(s.parts.all, text)
		}
	}
	s.whole.fill(whole)
	s.parts.fill()
	return s
}

func (w *wholeIDs) fill(ids [][]byte) {
	if len(ids) == 0 {
		return
	}
	w.all, w.first = make(map[string]struct{}, len(ids)), newBitTable(len(ids))
	for _, id := range ids {
		w.all[string(id)] = struct{}{}
		if len(w.lengths) <= len(id) {
			w.lengths = append(w.lengths, make([]bool, len(id)+1-len(w.lengths))...)
		}
		w.lengths[len(id)] = true
		run := id[:token.RunEnd(id, 0)]
		w.firstLengths |= 1 << min(len(run), 63)
		w.first.add(uint32(filter.KeyOf(run)))
	}
}

// fill drops each text that has another one as a prefix, since it only matches where that one does.
func (p *partIDs) fill() {
	if len(p.all) == 0 {
		return
	}
	slices.SortFunc(p.all, bytes.Compare)
	kept := p.all[:1]
	p.window = min(len(kept[0]), 8)
	for _, id := range p.all[1:] {
		if !bytes.HasPrefix(id, kept[len(kept)-1]) {
			kept = append(kept, id)
			p.window = min(p.window, len(id))
		}
	}
	p.all, p.starts = kept, newBitTable(len(kept))
	for _, id := range kept {
		var start [8]byte
		copy(start[:], id)
		p.starts.add(startHash(binary.LittleEndian.Uint64(start[:]) << (64 - 8*uint(p.window))))
	}
}

// startHash returns the hash of the window of a text.
func startHash(window uint64) uint32 { return uint32(window * 0x9e3779b97f4a7c15 >> 32) }

// idSearch searches a text for the texts of a set, from its start to its end.
type idSearch struct {
	*idSet
	text  []byte
	lower []byte // the text in lower case if the set folds, otherwise the text
	// wholeAt and partAt are the next occurrences of each kind.
	wholeAt, partAt place
}

// place is an occurrence; if there is none, start is the length of the text.
type place struct{ start, end int }

// search starts a search in text. It uses buffer for the text in lower case and returns it.
func (s *idSet) search(text, buffer []byte) (idSearch, []byte) {
	lower := text
	if s.fold {
		buffer = appendLower(buffer[:0], text)
		lower = buffer
	}
	return idSearch{s, text, lower, place{start: -1}, place{start: -1}}, buffer
}

// next returns the first occurrence that starts at an offset or later. Offsets must not decrease.
func (s *idSearch) next(from int) (found place, ok bool) {
	if s.wholeAt.start < from {
		s.wholeAt = s.nextWhole(from)
	}
	if s.partAt.start < from {
		s.partAt = s.nextPart(from)
	}
	found = s.wholeAt
	if s.partAt.start < found.start {
		found = s.partAt
	}
	return found, found.start < len(s.text)
}

// nextWhole returns the first occurrence of a whole identifier at an offset or later.
func (s *idSearch) nextWhole(from int) place {
	none := place{start: len(s.text)}
	if s.whole.all == nil {
		return none
	}
	at := from
	for at > 0 && s.isRun[s.text[at-1]] { // an escape may end inside the run
		at--
	}
	for {
		for at < len(s.text) && !s.isRun[s.text[at]] {
			at++
		}
		if at == len(s.text) {
			return none
		}
		end := at + 1
		for end < len(s.text) && s.isRun[s.text[end]] {
			end++
		}
		if at >= from {
			if e := s.wholeFrom(at, end); e > 0 {
				return place{at, e}
			}
		}
		if at > 0 && s.text[at-1] == '\\' {
			for start := range token.EscapeEnds(s.text, at) {
				if e := s.wholeFrom(start, end); start >= from && e > 0 {
					return place{start, e}
				}
			}
		}
		if at > 0 && (s.text[at-1] == '[' || s.text[at-1] == ';') {
			if start := token.ColorEnd(s.text, at); start >= max(from, 1) && start < end {
				if e := s.wholeFrom(start, end); e > 0 {
					return place{start, e}
				}
			}
		}
		at = end
	}
}

// wholeFrom returns the end of the identifier that begins with the run from start to end, or 0.
func (s *idSearch) wholeFrom(start, end int) int {
	w := &s.whole
	if w.firstLengths>>min(end-start, 63)&1 == 0 || !w.first.has(uint32(filter.KeyOf(s.lower[start:end]))) {
		return 0
	}
	for end-start < len(w.lengths) {
		if w.lengths[end-start] {
			if _, ok := w.all[string(s.lower[start:end])]; ok {
				return end
			}
		}
		if end+1 >= len(s.text) || !joins(s.text[end]) || !s.isRun[s.text[end+1]] {
			break
		}
		for end++; end < len(s.text) && s.isRun[s.text[end]]; end++ {
		}
	}
	return 0
}

// joins reports whether a byte may join the runs of an identifier.
func joins(b byte) bool { return b == '.' || b == '-' || b == ':' }

// nextPart returns the first occurrence of a text that matches anywhere, at an offset or later.
func (s *idSearch) nextPart(from int) place {
	p := &s.parts
	if len(p.all) == 0 {
		return place{start: len(s.text)}
	}
	at := from
	for bits, shift, unused, text := p.starts.bits, p.starts.shift, 64-8*uint(p.window), s.lower; at+8 <= len(text); at++ {
		hash := startHash(binary.LittleEndian.Uint64(text[at:])<<unused) >> shift
		if bits[hash/64]>>(hash%64)&1 == 0 {
			continue
		}
		if n := p.prefix(text[at:]); n > 0 {
			return place{at, at + n}
		}
	}
	for ; at+p.window <= len(s.lower); at++ {
		if n := p.prefix(s.lower[at:]); n > 0 {
			return place{at, at + n}
		}
	}
	return place{start: len(s.text)}
}

// prefix returns the length of the text of the set that is a prefix of text, or 0. It can only be the greatest one that is
// not greater than text: any between the two would have it as a prefix, which fill excludes.
func (p *partIDs) prefix(text []byte) int {
	i, equal := slices.BinarySearchFunc(p.all, text, bytes.Compare)
	if equal {
		return len(text)
	}
	if i > 0 && bytes.HasPrefix(text, p.all[i-1]) {
		return len(p.all[i-1])
	}
	return 0
}
