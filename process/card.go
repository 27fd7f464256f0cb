package process

// Numbers of payment cards have 12 to 19 digits, in use 13 or more; the first ones identify the
// issuer and the last one is a check digit (ISO/IEC 7812).
const minCard, maxCard = 13, 19

// findCard finds the number of a payment card, its digits together or in the groups printed on
// cards, with single spaces or dashes between.
func findCard(m []byte, from int) (start, end int) {
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

// beginsNumber reports whether a number may begin at m[i]: not after a letter or digit, except
// those of an escape, and not after a decimal point.
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

// cardAt returns the end of the longest card number that begins at m[i], 0 if there is none.
func cardAt(m []byte, i int) (end int) {
	var digits [maxCard]byte
	n := 0
	var g groups
	for ; i < len(m); i++ {
		c := m[i]
		if isDigit(c) {
			if n == maxCard {
				break
			}
			digits[n] = c - '0'
			n, g.size = n+1, g.size+1
			if n >= minCard && (i+1 == len(m) || !isWord(m[i+1])) && g.complete() && isCard(digits[:n]) {
				end = i + 1
			}
			continue
		}
		if i+1 == len(m) || !isDigit(m[i+1]) || !g.next(c) {
			break
		}
	}
	return end
}

// groups tracks the digit groups of a number: one group, or 4-4-4-4 and a remainder, or 4-6-5, or 4-6-4.
// Other adjacent numbers are columns.
type groups struct {
	separator byte
	// count is the number of groups before the current one, size the number of digits of the current
	// one so far, second the size of the second one.
	count, size, second int
}

// next begins another group after a separator. It returns false if no group may begin.
func (g *groups) next(separator byte) bool {
	if separator != ' ' && separator != '-' || g.count > 0 && separator != g.separator || g.size != 4 && (g.count != 1 || g.size != 6) {
		return false
	}
	if g.separator, g.count = separator, g.count+1; g.count == 2 {
		g.second = g.size
	}
	g.size = 0
	return true
}

// complete reports whether the groups may end with the current one.
func (g *groups) complete() bool {
	return g.count == 0 || g.second == 6 && g.count == 2 || g.second != 6 && g.size <= 4
}

func isCard(digits []byte) bool { return isIssued(digits) && luhn(digits) }

// isIssued reports whether an issuer uses numbers of this prefix and length. The lengths are those in
// use, not all that are reserved: identifiers of 17 to 19 digits are common in logs, and one in ten has
// a valid check digit.
func isIssued(d []byte) bool {
	two := int(d[0])*10 + int(d[1])
	four := two*100 + int(d[2])*10 + int(d[3])
	switch n := len(d); {
	case d[0] == 4: // Visa
		return n == 13 || n == 16
	case two == 34 || two == 37: // American Express
		return n == 15
	case two == 36 || two == 38 || two == 39 || four >= 3000 && four <= 3059: // Diners Club
		return n == 14 || n == 16
	case two == 62 || two == 81: // UnionPay
		return n >= 16
	case n == 16: // Mastercard, JCB, Discover, Maestro
		return two == 35 || two >= 50 && two <= 69 || four >= 2221 && four <= 2720
	}
	switch four {
	case 5018, 5020, 5038, 5893, 6304, 6759, 6761, 6762, 6763: // Maestro
		return true
	}
	return false
}

// luhn is the Luhn check.
func luhn(d []byte) bool {
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
