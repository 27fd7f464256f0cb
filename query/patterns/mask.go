package patterns

import (
	"bytes"
	"unicode/utf8"
)

// shape is the shape of a text, valid until the next call, and its number of words.
func (m *masker) shape(text []byte) (shape []byte, words int) {
	cut := len(text) > maxText
	if cut {
		text = text[:maxText]
		for n := 0; n < utf8.UTFMax-1 && !utf8.RuneStart(text[len(text)-1]); n++ {
			text = text[:len(text)-1]
		}
		text = text[:len(text)-1]
	}
	high := letter
	if !utf8.Valid(text) || hasControlRune(text) {
		high = control
	}
	if m.classes[utf8.RuneSelf] != high {
		for c := utf8.RuneSelf; c < len(m.classes); c++ {
			m.classes[c] = high
		}
	}
	clear(m.unclosed[:])
	m.text, m.out, m.word, m.prev, m.words = text, m.out[:0], 0, -1, 0
	m.scan()
	m.endWord()
	if cut {
		m.dropCutWord()
	}
	if n := len(m.out); n > 0 && m.out[n-1] == ' ' {
		m.out = m.out[:n-1]
	} else if n > 0 {
		m.words++
	}
	return m.out, m.words
}

// hasControlRune reports whether a text in UTF-8 has a C1 control, or a character that turns the direction
// of text, which are not printed as they are.
func hasControlRune(text []byte) bool {
	for _, first := range []byte{0xc2, 0xe2} { // the bytes that they start with
		for rest := text; ; rest = rest[1:] {
			i := bytes.IndexByte(rest, first)
			if i < 0 {
				break
			}
			rest = rest[i:]
			switch r, _ := utf8.DecodeRune(rest); {
			case 0x80 <= r && r <= 0x9f, 0x202a <= r && r <= 0x202e, 0x2066 <= r && r <= 0x2069:
				return true
			}
		}
	}
	return false
}

// scan writes the shape of the text, word by word.
func (m *masker) scan() {
	for i := 0; i < len(m.text); {
		c := m.text[i]
		switch m.classes[c] {
		case blank:
			for i++; i < len(m.text) && m.classes[m.text[i]] == blank; i++ {
			}
			if len(m.out) == 0 {
				continue
			}
			if m.words == maxWords-1 {
				if i < len(m.text) {
					m.wild()
				}
				return
			}
			m.endWord()
			if n := len(m.out); m.out[n-1] != ' ' {
				m.out = append(m.out, ' ')
				m.prev, m.word = m.word, n+1
				m.words++
			}
		case letter, digit:
			i = m.run(i)
		case control:
			i = m.control(i)
		default:
			i = m.mark(i, c)
		}
	}
}

// endWord drops the word that just ended if it repeats the one before and contains a wildcard.
func (m *masker) endWord() {
	if m.prev < 0 || m.word >= len(m.out) {
		return
	}
	last := m.out[m.word:]
	if bytes.Equal(m.out[m.prev:m.word-1], last) && bytes.Contains(last, []byte(Wildcard)) {
		m.out = m.out[:m.word] // after a space
	}
}

// dropCutWord replaces a last word that may be incomplete by a wildcard.
func (m *masker) dropCutWord() {
	end := m.word
	if end == 0 { // a single word, such as an object: all up to its last variable part
		end = max(0, bytes.LastIndex(m.out, []byte(Wildcard)))
	}
	m.out = m.out[:end]
	if !bytes.HasSuffix(m.out, []byte(Wildcard+" ")) { // which matches the rest, too
		m.out = append(m.out, Wildcard...)
	}
}

// control writes a wildcard for the control bytes, or the invalid UTF-8, at i. It includes the escape sequence of a colour.
func (m *masker) control(i int) int {
	for i < len(m.text) && m.classes[m.text[i]] == control {
		escape := m.text[i] == 0x1b
		if i++; escape && i < len(m.text) && m.text[i] == '[' {
			for i++; i < len(m.text) && (isDigit(m.text[i]) || m.text[i] == ';'); i++ {
			}
			if i < len(m.text) && isLetter(m.text[i]) {
				i++
			}
		}
	}
	m.wild()
	return i
}

// mark writes the punctuation at i and the path, value or quoted string that it introduces.
func (m *masker) mark(i int, c byte) int {
	next := byte(' ')
	if i+1 < len(m.text) {
		next = m.text[i+1]
	}
	afterWord := i > 0 && (m.classes[m.text[i-1]] == letter || m.classes[m.text[i-1]] == digit)
	switch c {
	case '"', '\'':
		if end := m.quoted(i, c); end > 0 {
			return end
		}
	case '/':
		if !afterWord && (next == '.' || next == '_' || next == '~' || next == '%' || isAlnum(next)) && !m.endsWild(len(m.out)) {
			return m.skipPath(i)
		}
	case '-', '+':
		if !afterWord && isDigit(next) && !m.endsWild(len(m.out)) {
			return i + 1 // the sign of the number
		}
	case '=':
		m.out = append(m.out, c)
		if (afterWord || m.endsWild(len(m.out)-1)) && m.classes[next] == letter {
			return m.pairValue(i + 1)
		}
		return i + 1
	}
	m.out = append(m.out, c)
	return i + 1
}

// skipPath writes a wildcard for the path at i.
func (m *masker) skipPath(i int) int {
	for i < len(m.text) && m.path[m.text[i]] {
		i++
	}
	if m.text[i-1] == '.' { // of the sentence
		i--
	}
	m.wild()
	return i
}

// pairValue writes the value at i of a pair.
func (m *masker) pairValue(i int) int {
	end := i
	for end < len(m.text) && m.value[m.text[end]] {
		end++
	}
	if value := m.text[i:end]; isState(value) {
		m.out = append(m.out, value...)
		return end
	}
	m.wild()
	if end < len(m.text) && m.text[end] == '{' { // an object in the syntax of many programs
		for k := end + 1; k < len(m.text) && (m.value[m.text[k]] || m.text[k] == '}'); k++ {
			if m.text[k] == '}' {
				return k + 1
			}
		}
	}
	return end
}

// isState reports whether a value is a state, such as true or none, rather than a name.
func isState(value []byte) bool {
	if len(value) > len("false") {
		return false
	}
	var lower [len("false")]byte
	for i, c := range value {
		if lower[i] = c; 'A' <= c && c <= 'Z' {
			lower[i] = c | 0x20
		}
	}
	switch string(lower[:len(value)]) {
	case "true", "false", "null", "nil", "none", "yes", "no", "on", "off":
		return true
	}
	return false
}

// quoted writes the quoted string at i with its quotes. It returns 0 if there is none.
func (m *masker) quoted(i int, quote byte) int {
	if m.unclosed[quote] || i > 0 && m.classes[m.text[i-1]] != blank && bytes.IndexByte([]byte("=:([{,<\\"), m.text[i-1]) < 0 {
		return 0
	}
	end := i + 1
	for end < len(m.text) && m.text[end] != quote {
		if m.text[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(m.text) {
		m.unclosed[quote] = true
		return 0
	}
	if end+1 < len(m.text) && isAlnum(m.text[end+1]) {
		return 0
	}
	inside := m.text[i+1 : end]
	switch {
	case m.isRequest(inside):
		return 0
	case len(inside) == 0 || m.isKey(i, end):
		m.out = append(m.out, m.text[i:end+1]...)
	case bytes.HasSuffix(m.out[m.word:], []byte{quote, '<', '_', '>', quote, ','}): // strings of an array
		m.out = m.out[:len(m.out)-1]
	default:
		m.out = append(m.out, quote)
		m.out = append(m.out, Wildcard...)
		m.out = append(m.out, quote)
	}
	return end + 1
}

// isKey reports whether the string in quotes at i, which ends at end, is the name of a JSON member.
func (m *masker) isKey(i, end int) bool {
	if end+1 >= len(m.text) || m.text[end+1] != ':' || end-i > maxWord {
		return false
	}
	for _, c := range m.text[i+1 : end] {
		if k := m.classes[c]; k == blank || k == control {
			return false
		}
	}
	for i--; i >= 0 && m.classes[m.text[i]] == blank; i-- {
	}
	return i >= 0 && (m.text[i] == '{' || m.text[i] == ',')
}

// isRequest reports whether a string in quotes starts like a request in an access log, which is read word by word.
func (m *masker) isRequest(inside []byte) bool {
	method, _, found := bytes.Cut(inside, []byte(" "))
	if !found {
		return false
	}
	switch string(method) {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE":
		return true
	}
	return false
}
