package parse

import (
	"bytes"
	"time"

	"logstow/message"
)

// client adds the fields before the time of an access log, which starts at text[end]: ip, ident and user, optionally preceded by a
// virtual host and its port. The header of syslog or of a container's log may precede the address.
func (l *line) client(end int) {
	if end > 0 {
		end-- // the space
	}
	w, n := l.words(0, end)
	address, before := l.firstAddress(end)
	switch {
	case before == 1 && l.text[w[0].end-1] != ':',
		before == 0 && n == 4 && isAddress(l.text[w[1].start:w[1].end]),
		before < 0 && n == 4 && string(l.text[w[2].start:w[2].end]) == "-": // a host name instead of an address, without ident
		l.address([]id{idVhost, idPort}, w[0].start, w[0].end, true)
		w, n = l.words(w[1].start, end)
	case before > 0:
		w, n = l.words(address, end)
	}
	names := [...]id{idIP, idIdent, idUser}
	if n == 2 {
		names[1] = idUser
	}
	if n == 4 {
		w[2].end = w[3].end // a name with spaces
		n = 3
	}
	for i := range n {
		l.add(names[i], w[i].start, w[i].end, false)
	}
}

// firstAddress returns the start of the first word of text[:end] that is an IP address, and the number of words before it, -1 if there
// is none.
func (l *line) firstAddress(end int) (start, before int) {
	for start < end {
		stop := wordEnd(l.text[:end], start)
		if isAddress(l.text[start:stop]) {
			return start, before
		}
		if stop > start {
			before++
		}
		start = stop + 1
	}
	return 0, -1
}

// words returns the first three words of text[start:end], and the rest as a fourth.
func (l *line) words(start, end int) (w [4]span, n int) {
	for start < end && n < len(w) {
		stop := end
		if n < len(w)-1 {
			stop = wordEnd(l.text[:end], start)
		}
		if stop > start {
			w[n] = span{start: start, end: stop}
			n++
		}
		start = stop + 1
	}
	return w, n
}

// isAddress reports whether b looks like an IP address.
func isAddress(b []byte) bool {
	dots, colons, gap := 0, 0, false
	for i, c := range b {
		switch {
		case c == '.':
			dots++
		case c == ':':
			colons++
			gap = gap || i > 0 && b[i-1] == ':'
		case !isDigit(c) && (c|0x20)-'a' >= 6:
			return false
		}
	}
	return dots == 3 || colons == 7 || gap
}

// extras adds columns at text[i] after those of the combined log format. A column name=value is a field with that name. nginx's
// packages write the addresses for which the request was forwarded after the user agent. A number with a fraction or a unit, or the
// only number, is the duration. Two integers and nothing else are Apache's combinedio.
func (l *line) extras(i int) {
	b := l.text
	var whole [2]span
	wholes, others := 0, 0
	first := i
	for i < len(b) {
		if b[i] == '"' {
			end := closingQuote(b, i+1, l.escape)
			if end < 0 {
				others++
				break
			}
			if i == first && isForwarded(b[i+1:end]) {
				l.add(idForwarded, i+1, end, true)
			} else {
				others++
			}
			i = end + 2
			continue
		}
		end := wordEnd(b, i)
		word := b[i:end]
		if bytes.IndexByte(word, '=') > 0 {
			l.rest = b[i:]
			if l.cut {
				l.rest = b[i : i+lastWord(b[i:])]
			}
			others++
			break
		}
		kind := durationKind(word)
		switch {
		case end == len(b) && l.cut || kind == noDuration:
			others++
		case kind == certainDuration:
			l.add(idDuration, i, end, false)
		case wholes < len(whole):
			whole[wholes] = span{start: i, end: end}
			wholes++
		default:
			others++
		}
		i = end + 1
	}
	switch {
	case l.at[idDuration] > 0 || l.cut:
	case wholes == 1:
		l.add(idDuration, whole[0].start, whole[0].end, false)
	case wholes == 2 && others == 0:
		l.add(idReceived, whole[0].start, whole[0].end, false)
		l.add(idSent, whole[1].start, whole[1].end, false)
	}
}

// lastWord returns the start of the last word of b. A string in quotes is a word or a part of one.
func lastWord(b []byte) int {
	last, quoted := 0, false
	for i, c := range b {
		switch {
		case c == '"' && (i == 0 || b[i-1] != '\\'):
			quoted = !quoted
		case c == ' ' && !quoted:
			last = i + 1
		}
	}
	return last
}

// isForwarded reports whether b is a list of addresses.
func isForwarded(b []byte) bool {
	for len(b) > 0 {
		element, rest, _ := bytes.Cut(b, []byte(", "))
		if !isAddress(element) && string(element) != "unknown" {
			return false
		}
		b = rest
	}
	return true
}

const (
	noDuration = iota
	possibleDuration
	certainDuration
)

// durationKind reports whether a word is a duration: 0.005 and 12ms are certain, an integer is possible.
func durationKind(b []byte) int {
	i, kind := 0, possibleDuration
	for i < len(b) && isDigit(b[i]) {
		i++
	}
	if i == 0 {
		return noDuration
	}
	if i < len(b) && b[i] == '.' {
		kind = certainDuration
		for i++; i < len(b) && isDigit(b[i]); i++ {
		}
	}
	if i == len(b) {
		return kind
	}
	if size, d := message.UnitOf(string(b[i:])); d == message.Duration && size <= uint64(time.Second) {
		return certainDuration
	}
	return noDuration
}

// klog adds the fields of the header and the message, which may contain further fields.
func (l *line) klog() {
	b, _ := withoutMark(l.text)
	l.rest = nil
	l.add(idSeverity, 0, 1, false)
	l.add(idTime, 1, klogTime, false)
	i := klogTime
	for i < len(b) && b[i] == ' ' {
		i++
	}
	thread := i
	for i < len(b) && isDigit(b[i]) {
		i++
	}
	if i == len(b) || b[i] != ' ' {
		return
	}
	l.add(idThread, thread, i, false)
	file := i + 1
	colon := bytes.IndexByte(b[file:], ':')
	if colon < 0 {
		return
	}
	colon += file
	for i = colon + 1; i < len(b) && isDigit(b[i]); {
		i++
	}
	if bytes.IndexByte(b[file:colon], ' ') >= 0 {
		return
	}
	l.add(idFile, file, colon, true)
	if i == len(b) || b[i] != ']' {
		return
	}
	l.add(idLine, colon+1, i, false)
	if i += len("] "); i < len(b) {
		l.rest = l.text[i:]
		l.set(idMessage, i, len(l.text), true)
	}
}
