package patterns

import (
	"bytes"

	"logstow/message"
)

// run writes the letters and digits at i.
func (m *masker) run(i int) int {
	if m.afterUser() {
		return m.userName(i)
	}
	end := i
	digits, groups, hex := 0, 0, true
	inDigits := false
	for ; end < len(m.text); end++ {
		c := m.text[end]
		isDigit := false
		switch m.classes[c] {
		case digit:
			isDigit = true
			digits++
			if !inDigits {
				groups++
			}
		case letter:
			hex = hex && isHexLetter(c)
		default:
			goto done
		}
		inDigits = isDigit
	}
done:
	word := m.text[i:end]
	switch {
	case hex && len(word) == 8 && isUUID(m.text[i:]):
		end = i + uuidLen
		m.wild()
	case digits == 0:
		return m.letters(i, end, hex)
	case hex && len(word) <= 4 && (m.continuesAddress() || startsAddress(m.text[end:])):
		m.wild()
	case isDigit(word[0]) || groups > 1 || len(word) > maxWord || hex && len(word) >= 6 || 2*digits > len(word) && digits > 3:
		m.wild()
	default: // letters around one number
		for k := 0; k < len(word); k++ {
			if !isDigit(word[k]) {
				m.out = append(m.out, word[k])
			} else {
				m.wild()
			}
		}
	}
	return end
}

// letters writes the word without digits in text[i:end].
func (m *masker) letters(i, end int, hex bool) int {
	word := m.text[i:end]
	rest := m.text[end:]
	switch {
	case len(word) > maxWord,
		hex && len(word) >= 8,
		hex && len(word) <= 4 && m.continuesAddress(),
		len(word) == 3 && m.isDate(word, rest),
		len(word) <= 3 && m.isUnit(word):
		m.wild()
	case len(rest) > 3 && rest[0] == ':' && rest[1] == '/' && rest[2] == '/':
		m.out = append(m.out, m.text[i:end+3]...)
		return m.skipURL(end + 3)
	case len(word) == 1 && len(rest) > 2 && rest[0] == ':' && rest[1] == '\\' && isAlnum(rest[2]): // a drive
		for end++; end < len(m.text) && (m.path[m.text[end]] || m.text[end] == '\\'); end++ {
		}
		m.wild()
	default:
		m.out = append(m.out, word...)
	}
	return end
}

// skipURL writes a wildcard for the part of a URL after its scheme.
func (m *masker) skipURL(i int) int {
	for ; i < len(m.text); i++ {
		c := m.text[i]
		if k := m.classes[c]; k == blank || k == control || bytes.IndexByte([]byte("\"'<>)]},;"), c) >= 0 {
			break
		}
	}
	m.wild()
	return i
}

// startsAddress reports whether rest may continue an address after its first digits.
func startsAddress(rest []byte) bool {
	return len(rest) > 1 && rest[0] == ':' && (rest[1] == ':' || isDigit(rest[1]) || isHexLetter(rest[1]))
}

// continuesAddress reports whether the shape ends with part of an IPv6 or MAC address.
func (m *masker) continuesAddress() bool {
	n := len(m.out)
	return n > 0 && m.out[n-1] == ':' && (m.endsWild(n-1) || m.out[max(0, n-2)] == ':' && m.endsWild(max(0, n-2)))
}

// afterUser reports whether the word that starts here follows the word "user".
func (m *masker) afterUser() bool {
	if m.word != len(m.out) || m.prev < 0 {
		return false
	}
	before := m.out[m.prev : m.word-1]
	return string(before) == "user" || string(before) == "User"
}

// userName writes a wildcard for the name at i.
func (m *masker) userName(i int) int {
	for i < len(m.text) && m.value[m.text[i]] {
		i++
	}
	for m.classes[m.text[i-1]] == connector { // of the sentence; a letter or digit comes before
		i--
	}
	m.wild()
	return i
}

// isUnit reports whether a word is a unit of size or time after a number. Units are masked because they depend on the
// number.
func (m *masker) isUnit(word []byte) bool {
	if m.word != len(m.out) || m.prev < 0 || !bytes.HasSuffix(m.out[:m.word-1], []byte(Wildcard)) {
		return false
	}
	_, d := message.UnitOf(string(word))
	return d != message.NoDimension || string(word) == "sec" || string(word) == "min"
}

// isDate reports whether a word is the name of a day or month in a date, which rest follows.
func (m *masker) isDate(word, rest []byte) bool {
	day := false
	switch string(word) {
	case "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec":
		if m.endsWild(len(m.out) - 1) { // 20/Nov/2026
			return true
		}
	case "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun":
		day = true
	default:
		return false
	}
	rest = bytes.TrimLeft(rest, " ,")
	return len(rest) > 0 && isDigit(rest[0]) || day && len(rest) > 3 && m.isDate(rest[:3], rest[3:])
}

const uuidLen = 36

// isUUID reports whether b starts with a UUID.
func isUUID(b []byte) bool {
	if len(b) < uuidLen || len(b) > uuidLen && isAlnum(b[uuidLen]) {
		return false
	}
	for i, c := range b[:uuidLen] {
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if !isDigit(c) && !isHexLetter(c) {
				return false
			}
		}
	}
	return true
}
