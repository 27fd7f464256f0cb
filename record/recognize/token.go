package recognize

// token is a run of bytes without a blank.
type token struct {
	start, end int
	// word is the end of the letters at its beginning; upper is set if all of them are
	// capitals.
	word  int
	upper bool
	kind  tokenKind
}

type tokenKind uint8

const (
	tokenNone  tokenKind = iota // not a column: punctuation of prose, a quote, too long
	tokenWord                   // letters alone
	tokenMixed                  // characters of names, numbers, addresses and paths
	tokenPair                   // begins a logfmt pair, name=…
)

// Sets of bytes, with one bit for each byte: …Low has the bytes below 64, …High those from 64 to 127.
const (
	digitsLow   = 0x3ff << '0'
	lettersHigh = 0x3ffffff<<('A'-64) | 0x3ffffff<<('a'-64)
	// nameLow and nameHigh are the bytes of logfmt names.
	nameLow  = digitsLow | 1<<'.' | 1<<'-'
	nameHigh = lettersHigh | 1<<('_'-64) | 1<<('@'-64)
	// mixedLow and mixedHigh are the bytes of columns that need no further checks.
	mixedLow  = nameLow | 1<<'/' | 1<<'#' | 1<<'$' | 1<<'*' | 1<<'+' | 1<<'%' | 1<<':' | 1<<'<' | 1<<'>'
	mixedHigh = nameHigh | 1<<('~'-64)
)

func inSet(c byte, low, high uint64) bool {
	if c < 64 {
		return low>>c&1 != 0
	}
	return c < 128 && high>>(c-64)&1 != 0
}

// scanToken reads the token at b[i].
func scanToken(b []byte, i int) token {
	t := token{start: i}
	k := i
	var cases byte
	for k < len(b) && b[k]|0x20-'a' < 26 {
		cases |= b[k]
		k++
	}
	t.word, t.upper, t.end = k, cases&0x20 == 0, k
	if k >= len(b) || b[k] == ' ' || b[k] == '\t' || b[k] == '|' || b[k] == ';' || b[k] == ',' && k+1 < len(b) && b[k+1] != ' ' {
		if k > i && k-i <= maxColumn {
			t.kind = tokenWord
		}
		return t
	}
	// A logfmt name does not begin with a digit or a dot.
	name := k > i || b[k] == '_' || b[k] == '@'
	depth := 0
	for ; k < len(b); k++ {
		c := b[k]
		if inSet(c, mixedLow, mixedHigh) {
			name = name && inSet(c, nameLow, nameHigh)
			continue
		}
		switch c {
		case '[', '(':
			depth++
			name = false
			continue
		case ']', ')':
			name = false
			if depth--; depth >= 0 {
				continue
			}
		case '=':
			if name {
				t.kind = tokenPair
			}
			return t
		case ',', ';':
			// 10.0.0.1, 10.0.0.2: a list of addresses.
			name = false
			if k > i && b[k-1]-'0' <= 9 {
				continue
			}
			return t
		case ' ', '\t', '|':
		default:
			return t
		}
		break
	}
	switch {
	case k == i || k-i > maxColumn:
	case k == t.word:
		t.end, t.kind = k, tokenWord
	default:
		t.end, t.kind = k, tokenMixed
	}
	return t
}

// skipSeparators skips spaces, colours and separators of columns. It returns the last fence
// among them: TAB, '|', ',', ';' or a single '-'; 0 if there is none.
func skipSeparators(b []byte, i int) (next int, fence byte) {
	for i < len(b) {
		switch c := b[i]; c {
		case ' ', ':', ']', ')', '}', '\r':
		case '\t', '|', ',', ';':
			fence = c
		case '-':
			if i+1 < len(b) && b[i+1] != ' ' {
				return i, fence
			}
			fence = c
		case '\x1b':
			k := i + 1
			for k < len(b) && (b[k] == '[' || b[k] == ';' || b[k]-'0' <= 9) {
				k++
			}
			if k == len(b) || b[k] != 'm' {
				return i, fence
			}
			i = k
		default:
			return i, fence
		}
		i++
	}
	return i, fence
}

// groupEnd returns the offset behind the bracket that closes the one at b[i], or -1.
func groupEnd(b []byte, i int) int {
	opening := b[i]
	closing := opening + 2
	if opening == '(' {
		closing = ')'
	}
	depth := 0
	for k := i; k < min(len(b), i+maxColumn); k++ {
		switch b[k] {
		case opening:
			depth++
		case closing:
			if depth--; depth == 0 {
				return k + 1
			}
		}
	}
	return -1
}

// tagFollows reports whether the word after b[i] is a syslog tag, app[12]: .
func tagFollows(b []byte, i int) bool {
	t := scanToken(b, i+1)
	return t.kind == tokenMixed && t.end > i+3 && b[t.end-1] == ':' && b[t.end-2] == ']'
}

func hasDigit(b []byte) bool {
	for _, c := range b {
		if c-'0' <= 9 {
			return true
		}
	}
	return false
}
