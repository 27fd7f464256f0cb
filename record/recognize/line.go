package recognize

import "logstow/record"

// Bounds of the search in text, so that a line without a time costs little.
const (
	// maxColumns is how many columns are looked at before a time, and as many after it.
	maxColumns = 6
	// maxColumn is the length of a column in bytes.
	maxColumn = 128
)

// finding is what a line says.
type finding struct {
	moment
	found bool
	level record.Level
	// impliedLevel is what a format says that an absent level means.
	impliedLevel record.Level
	// mongo is set once the time was found in the form that MongoDB writes.
	mongo bool
}

// take keeps a time.
func (f *finding) take(m moment) {
	f.moment, f.found = m, true
	if f.level == record.None {
		f.level = m.level
	}
}

// line reads a whole line.
func (f *finding) line(b []byte) {
	if len(b) > 0 && b[0] == '{' {
		f.object(b)
		return
	}
	i := 0
	if len(b) > 2 && b[0] == '\xef' && b[1] == '\xbb' && b[2] == '\xbf' {
		i = 3 // a byte order mark
	}
	if i < len(b) && b[i] == '<' {
		i = f.priority(b, i)
	}
	f.columns(b, i)
}

// priority reads a syslog priority and RFC 5424's version at b[i] and returns the
// end, i where there is none.
func (f *finding) priority(b []byte, i int) int {
	n, k := 0, i+1
	for ; k < len(b) && k < i+4 && b[k]-'0' <= 9; k++ {
		n = n*10 + int(b[k]-'0')
	}
	const most = 191
	if k == i+1 || k >= len(b) || b[k] != '>' || n > most {
		return i
	}
	f.level = record.LevelFromSyslog(n & 7)
	k++
	if len(b) > k+1 && b[k] == '1' && b[k+1] == ' ' {
		k += 2
	}
	return k
}

// columns reads a line column by column from b[i] on: to the time, and from there
// to the level or to the first word that is no column.
func (f *finding) columns(b []byte, i int) {
	bare := true // only brackets and level words so far
	fence := byte(0)
	for n := 0; n < maxColumns; n++ {
		i, fence = skipSeparators(b, i)
		if i >= len(b) {
			return
		}
		if !f.found {
			if end := f.timeAt(b, i, bare); end > 0 {
				if f.level != record.None {
					return
				}
				i, n = end, -1
				continue
			}
		}
		c := b[i]
		switch {
		case c == '{':
			f.object(b[i:])
			return
		case c == '[' || c == '(' || c == '<':
			end := groupEnd(b, i)
			if end < 0 {
				return
			}
			if f.level == record.None {
				f.level = levelInGroup(b[i+1 : end-1])
			}
			i = end
		default:
			if c|0x20-'a' < 26 {
				if level, end := levelWord(b, i, fence); level != record.None {
					if f.level == record.None {
						f.level = level
					}
					i = end
					break
				}
				if level := f.levelLetter(b, i, n); level != record.None {
					if f.level == record.None {
						f.level = level
					}
					i++
					break
				}
			}
			if isPair(b, i) {
				f.pairs(b[i:])
				return
			}
			end := f.column(b, i, n, fence)
			if end < 0 {
				return
			}
			i, bare = end, false
		}
		if f.found && f.level != record.None {
			return
		}
	}
}

// timeAt reads a time at b[i], or behind one opening byte there, and returns where
// it ends, or 0.
func (f *finding) timeAt(b []byte, i int, bare bool) int {
	switch b[i] {
	case '[', '(', '"', '*':
		if i++; i < len(b) && b[i] == ' ' {
			i++
		}
		// Tornado writes [I 201120 15:04:05 web:2063].
		if len(b) > i+2 && b[i+1] == ' ' {
			if level := letterLevel(b[i]); level != record.None {
				if m, n := parseMoment(b[i+2:], bare); n > 0 {
					m.level = level
					f.take(m)
					return i + 2 + n
				}
			}
		}
	}
	m, n := parseMoment(b[i:], bare)
	if n == 0 {
		return 0
	}
	f.take(m)
	return i + n
}

// column is the end of the column at b[i], the n-th of its side of the time, or -1
// where the message begins.
func (f *finding) column(b []byte, i, n int, fence byte) int {
	end, mixed := tokenEnd(b, i)
	if end < 0 {
		return -1
	}
	if mixed {
		// Name: is a label; app[12]: and 12: are columns.
		if !f.found && b[end-1] == ':' && !hasDigit(b[i:end]) {
			return -1
		}
		return end
	}
	// A plain word is a column only where the layout says so.
	_, next := skipSeparators(b, end)
	switch {
	case next == '|' && (fence == '|' || !f.found && n == 0):
		return end // docker compose: web | …
	case next != 0 && next == fence && next != ',':
		return end // … - name - INFO - …
	}
	if f.found {
		switch {
		case string(b[i:end]) == "main":
			return end // the usual thread
		case n == 0 && f.layout == layoutSyslog, n == 0 && f.layout == layoutISO && tagFollows(b, end):
			return end // the host
		}
		return -1
	}
	switch string(b[i:end]) {
	case "localhost", "http", "https", "ws", "wss": // the last four begin load balancers' lines
		return end
	}
	if n > 0 && len(b) > end+1 && b[end] == ' ' && b[end+1] == '[' {
		// The user's name in an access log.
		if m, k := parseMoment(b[end+2:], false); k > 0 && m.layout == layoutAccess {
			return end
		}
	}
	return -1
}

// tagFollows says whether the word after b[i] is a syslog tag, app[12]: .
func tagFollows(b []byte, i int) bool {
	end, _ := tokenEnd(b, i+1)
	return end > i+3 && b[end-1] == ':' && b[end-2] == ']'
}

// skipSeparators skips spaces, colours and what stands between columns. It returns the
// fence met last: TAB, '|', ',' or a '-' by itself; 0 for none of them.
func skipSeparators(b []byte, i int) (next int, fence byte) {
	for i < len(b) {
		switch c := b[i]; c {
		case ' ', ';', ':', ']', ')', '\r':
		case '\t', '|', ',':
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

// groupEnd is the offset after the bracket that closes the one at b[i], or -1.
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

// tokenEnd is the end of the run of bytes at b[i] that names, numbers, addresses and
// paths are made of, and whether it is more than a plain word; -1 where a byte of
// another kind ends the run.
func tokenEnd(b []byte, i int) (end int, mixed bool) {
	depth := 0
	k := i
	for ; k < len(b); k++ {
		if k-i > maxColumn {
			return -1, false
		}
		c := b[k]
		if c|0x20-'a' < 26 {
			continue
		}
		switch c {
		case ' ', '\t', '|':
			return tokenDone(i, k, mixed)
		case '[', '(':
			depth++
		case ']', ')':
			if depth == 0 {
				return tokenDone(i, k, mixed)
			}
			depth--
		case '.', '-', '_', '/', '@', '#', '$', '*', '~', '+', '%', ':', '<', '>':
		case ',', ';':
			// 10.0.0.1, 10.0.0.2: a list of addresses.
			if k == i || b[k-1]-'0' > 9 {
				return -1, false
			}
		default:
			if c-'0' > 9 {
				return -1, false
			}
		}
		mixed = true
	}
	return tokenDone(i, k, mixed)
}

func tokenDone(start, end int, mixed bool) (int, bool) {
	if start == end {
		return -1, false
	}
	return end, mixed
}

func hasDigit(b []byte) bool {
	for _, c := range b {
		if c-'0' <= 9 {
			return true
		}
	}
	return false
}
