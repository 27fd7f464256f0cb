package recognize

import "math"

// The size of an epoch number determines its unit. Smaller numbers are not times, but durations,
// counts and process numbers.
const (
	minSeconds = 100_000_000 // 1973
	minMillis  = 1e11
	minMicros  = 1e14
	minNanos   = 1e17
)

// epochText reads an epoch number that stands by itself in a line: of exactly 10
// (seconds), 13, 16 or 19 digits, with a fraction or not.
func epochText(b []byte) (moment, int) {
	n := 0
	for n < len(b) && n < 20 && b[n]-'0' <= 9 {
		n++
	}
	if n != 10 && n != 13 && n != 16 && n != 19 || b[0] == '0' {
		return moment{}, 0
	}
	if n+1 < len(b) && b[n] == '.' && b[n+1]-'0' <= 9 {
		for n++; n < len(b) && b[n]-'0' <= 9; n++ {
		}
	}
	if !ends(b, n) {
		return moment{}, 0
	}
	m, ok := epochNumber(b[:n])
	if !ok {
		return moment{}, 0
	}
	return m, n
}

// epochExponent reads seconds since 1970 as Zap writes them: 1.795187045123e+09.
func epochExponent(b []byte) (moment, int) {
	const exponent = "e+09"
	n := digitsEnd(b, 2)
	if n == 2 || len(b) < n+len(exponent) || string(b[n:n+len(exponent)]) != exponent {
		return moment{}, 0
	}
	n += len(exponent)
	m, ok := epochNumber(b[:n])
	if !ok || !ends(b, n) {
		return moment{}, 0
	}
	return m, n
}

// epochNumber reads the whole of b as an epoch number in the form of a JSON number.
func epochNumber(b []byte) (moment, bool) {
	// The number is digits x 10^(whole-count).
	var digits uint64
	count, whole, point := 0, 0, false
	i := 0
scan:
	for ; i < len(b); i++ {
		switch c := b[i]; {
		case c-'0' <= 9:
			if count == 0 && c == '0' {
				return moment{}, false // 0.… or 0123
			}
			if count < 19 {
				digits = digits*10 + uint64(c-'0')
				count++
			} else if !point {
				return moment{}, false
			}
			if !point {
				whole++
			}
		case c == '.' && !point && i > 0:
			point = true
		default:
			break scan
		}
	}
	if i < len(b) {
		shift, ok := exponent(b[i:])
		if !ok {
			return moment{}, false
		}
		whole += shift
	}
	if whole < 9 || whole > 19 {
		return moment{}, false
	}
	// Nine digits after the point count.
	for ; count > whole+9; count-- {
		digits /= 10
	}
	for ; count < whole; count++ {
		digits *= 10
	}
	if count == whole {
		return epochMoment(digits, 0)
	}
	unit := uint64(1)
	for k := whole; k < count; k++ {
		unit *= 10
	}
	return epochMoment(digits/unit, digits%unit*(nanosPerSecond/unit))
}

// epochMoment returns the moment of an epoch number with the whole part v and a fraction in billionths of the
// unit; the size of v determines the unit.
func epochMoment(v, billionths uint64) (moment, bool) {
	m := moment{utc: true}
	switch {
	case v < minSeconds || v > math.MaxInt64:
		return moment{}, false
	case v < minMillis:
		m.second, m.nano = int64(v), int32(billionths)
	case v < minMicros:
		m.second, m.nano = int64(v/1e3), int32(v%1e3*1e6+billionths/1e3)
	case v < minNanos:
		m.second, m.nano = int64(v/1e6), int32(v%1e6*1e3+billionths/1e6)
	default:
		m.second, m.nano = int64(v/1e9), int32(v%1e9)
	}
	return m, true
}

// exponent reads the whole of b as e9, e+09 or E9.
func exponent(b []byte) (int, bool) {
	if len(b) < 2 || b[0]|0x20 != 'e' {
		return 0, false
	}
	if b = b[1:]; b[0] == '+' {
		b = b[1:]
	}
	if len(b) == 0 || len(b) > 2 {
		return 0, false
	}
	n := number(b)
	return int(n), n < invalidNumber
}
