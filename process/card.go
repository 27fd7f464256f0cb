package process

// Numbers of payment cards have 12 to 19 digits, in use 13 or more, of which the
// first ones name the issuer and the last one checks the others (ISO/IEC 7812).
const minCard, maxCard = 13, 19

// card finds the number of a payment card, its digits together or in groups with
// single spaces or dashes between.
func card(m []byte, from int) (start, end int) {
	for i := from; i < len(m); i++ {
		if c := m[i]; c-'2' > '8'-'2' || c == '7' || !beginsNumber(m, i) {
			continue
		}
		if end := cardAt(m, i); end > 0 {
			return i, end
		}
	}
	return 0, 0
}

// beginsNumber reports whether a number may begin at m[i]: behind no letter or digit but
// those of an escape, and behind no decimal point.
func beginsNumber(m []byte, i int) bool {
	switch {
	case i == 0:
		return true
	case m[i-1] == '.':
		return i < 2 || !isDigit(m[i-2])
	case !isWord(m[i-1]):
		return true
	case i >= 2 && m[i-2] == '\\': // \n
		return isLetter(m[i-1])
	case i >= 3 && m[i-3] == '%': // %20
		return isHex(m[i-2]) && isHex(m[i-1])
	}
	return i >= 6 && m[i-6] == '\\' && m[i-5] == 'u' // \u00a0
}

// cardAt is the end of the longest number of a card that begins at m[i], 0 where there is none.
func cardAt(m []byte, i int) (end int) {
	var digits [maxCard]byte
	for n := 0; i < len(m); i++ {
		c := m[i]
		if isDigit(c) {
			if n == maxCard {
				break
			}
			digits[n] = c - '0'
			if n++; n >= minCard && (i+1 == len(m) || !isWord(m[i+1])) && isCard(digits[:n]) {
				end = i + 1
			}
			continue
		}
		if c != ' ' && c != '-' || i+1 == len(m) || !isDigit(m[i+1]) {
			break
		}
	}
	return end
}

func isCard(digits []byte) bool { return issued(digits) && checks(digits) }

// issued reports whether an issuer's cards begin so and are so long.
func issued(d []byte) bool {
	two := int(d[0])*10 + int(d[1])
	four := two*100 + int(d[2])*10 + int(d[3])
	switch n := len(d); {
	case d[0] == 4:
		return n == 13 || n == 16 || n == 19
	case two >= 51 && two <= 55, four >= 2221 && four <= 2720:
		return n == 16
	case two == 34 || two == 37:
		return n == 15
	case two == 36 || two == 38 || two == 39 || four >= 3000 && four <= 3059:
		return n >= 14
	case two == 35 || two == 60 || two == 62 || two == 64 || two == 65 || two == 81:
		return n >= 16
	case two == 50 || two >= 56 && two <= 69:
		return true
	}
	return false
}

// checks is the check of Luhn.
func checks(d []byte) bool {
	sum := 0
	for i := range d {
		v := int(d[len(d)-1-i])
		if i%2 == 1 {
			if v *= 2; v > 9 {
				v -= 9
			}
		}
		sum += v
	}
	return sum%10 == 0
}
