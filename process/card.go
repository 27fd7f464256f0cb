package process

// Payment cards have 12 to 19 digits, of which the first ones name the issuer and
// the last one checks the others (ISO/IEC 7812).
const minCard, maxCard = 13, 19

// cards replaces numbers of payment cards, their digits together or in groups
// with single spaces or dashes between.
func cards(mark string) func([]byte) []byte {
	return func(message []byte) []byte {
		var out []byte
		kept := 0
		for i := 0; i < len(message); i++ {
			if !isDigit(message[i]) {
				continue
			}
			if i == 0 || !isWord(message[i-1]) && message[i-1] != '.' {
				if end := cardAt(message, i); end > 0 {
					out = append(append(out, message[kept:i]...), mark...)
					kept, i = end, end-1
					continue
				}
			}
			for i+1 < len(message) && isWord(message[i+1]) { // no number begins inside a word
				i++
			}
		}
		if out == nil {
			return message
		}
		return append(out, message[kept:]...)
	}
}

// cardAt is the end of the longest number of a card that begins at i, 0 where there is none.
func cardAt(message []byte, i int) (end int) {
	var digits [maxCard]byte
	for n := 0; i < len(message); i++ {
		c := message[i]
		if isDigit(c) {
			if n == maxCard {
				break
			}
			digits[n] = c - '0'
			if n++; (i+1 == len(message) || !isWord(message[i+1])) && isCard(digits[:n]) {
				end = i + 1
			}
			continue
		}
		if c != ' ' && c != '-' || i+1 == len(message) || !isDigit(message[i+1]) {
			break
		}
	}
	return end
}

func isCard(digits []byte) bool {
	return len(digits) >= minCard && issued(digits) && checks(digits)
}

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

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isWord(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
}
