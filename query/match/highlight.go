package match

import (
	"cmp"
	"slices"

	"logstow/filter/token"
)

// maxHighlights is the maximum number of places in one message for each literal or regular expression.
const maxHighlights = 1000

// Highlight appends start and end of the places in a message, as logged, that the selection's patterns, identifiers and
// regular expressions match: in order, disjoint, not empty.
func (m *Matcher) Highlight(dst [][2]int, message []byte) [][2]int {
	at := len(dst)
	for i := range m.Required {
		dst = m.Required[i].places(dst, message)
	}
	if m.ids != nil {
		dst = m.ids.places(dst, message)
	}
	for _, re := range m.regexps {
		for _, place := range re.FindAllIndex(message, maxHighlights) {
			if place[0] < place[1] {
				dst = append(dst, [2]int{place[0], place[1]})
			}
		}
	}
	places := dst[at:]
	slices.SortFunc(places, func(a, b [2]int) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	n := 0
	for _, place := range places {
		if n > 0 && place[0] <= places[n-1][1] {
			places[n-1][1] = max(places[n-1][1], place[1])
			continue
		}
		places[n] = place
		n++
	}
	return dst[:at+n]
}

// places appends the places of the texts of the set in a message.
func (s *idSet) places(dst [][2]int, message []byte) [][2]int {
	search, _ := s.search(message, nil)
	for from, found := 0, 0; found < maxHighlights; found++ {
		p, ok := search.next(from)
		if !ok {
			break
		}
		dst = append(dst, [2]int{p.start, p.end})
		from = p.end
	}
	return dst
}

// places appends the places of a literal in a message.
func (l *Literal) places(dst [][2]int, message []byte) [][2]int {
	if len(l.text) == 0 {
		return dst
	}
	for from, found := 0, 0; found < maxHighlights; {
		i := l.Index(message[from:])
		if i < 0 {
			break
		}
		start, end := from+i, from+i+len(l.text)
		from = start + 1
		if !l.whole || token.Bounded(message, start, end) {
			dst = append(dst, [2]int{start, end})
			from, found = end, found+1
		}
	}
	return dst
}
