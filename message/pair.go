package message

import "bytes"

// Pair is a logfmt pair as written: name=value. The texts refer to the message.
type Pair struct {
	// Name is the word before the equals sign.
	Name []byte
	// Value is the text after it, including its quotes if Quoted is set. It is nil if there is no equals sign, or no name before it.
	Value []byte
	// Quoted is set if the value is a string in quotes that ends.
	Quoted bool
	// Strict is set for what all parsers of logfmt accept: the value is in quotes and followed by a blank, or has neither quotes nor
	// an equals sign. A word without quotes and equals sign is strict, too.
	Strict bool
	// End is the offset in the text after the pair: that of a blank, or the end of the text.
	End int
}

// PairAt reads the word at b[i], which is not a blank, as a pair. Blanks are control characters and spaces; one in quotes after
// the equals sign is part of the pair.
func PairAt(b []byte, i int) Pair {
	start := i
	for i < len(b) && b[i] > ' ' && b[i] != '=' && b[i] != '"' {
		i++
	}
	name := b[start:i]
	switch {
	case i == start || i < len(b) && b[i] == '"':
		return Pair{Name: name, End: wordEnd(b, i)}
	case i == len(b) || b[i] != '=':
		return Pair{Name: name, Strict: true, End: i}
	}
	i++
	if i < len(b) && b[i] == '"' {
		if end := StringEnd(b, i+1) + 1; end > 0 {
			strict := end == len(b) || b[end] <= ' '
			return Pair{Name: name, Value: b[i:end], Quoted: true, Strict: strict, End: wordEnd(b, end)}
		}
	}
	end := i
	for end < len(b) && b[end] > ' ' && b[end] != '=' && b[end] != '"' {
		end++
	}
	strict := end == len(b) || b[end] <= ' '
	end = wordEnd(b, end)
	return Pair{Name: name, Value: b[i:end], Strict: strict, End: end}
}

// wordEnd returns the offset of the first blank of b from i on.
func wordEnd(b []byte, i int) int {
	for i < len(b) && b[i] > ' ' {
		i++
	}
	return i
}

// Text returns the value without quotes, but with its escapes. Brackets and punctuation around an unquoted value are not part of it: it
// is 3 in (cpu=3), 20 in mem=20, and 5 in request{id=5}:user{name=ann}.
func (p *Pair) Text() []byte {
	if p.Quoted {
		return p.Value[1 : len(p.Value)-1]
	}
	return bareText(p.Value)
}

// bareText returns the value that b starts with, up to a blank or a closing bracket without an opening one, and without punctuation at
// its end. Brackets in JSON, which has quotes, do not count.
func bareText(b []byte) []byte {
	depth, close, end := 0, -1, 0
	quotes := false
	for ; end < len(b) && b[end] > ' '; end++ {
		switch b[end] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth < 0 && close < 0 {
				close = end
			}
		case '"':
			quotes = true
		}
	}
	if close >= 0 && !quotes {
		end = close
	}
	for end > 0 && (b[end-1] == ',' || b[end-1] == ';') {
		end--
	}
	return b[:end]
}

// Pairs iterates over the pairs in a text, which may have other words between them, as prose has. Values are only read if they are
// requested.
type Pairs struct {
	b    []byte
	name int // start of the name of the current pair
	at   int // after its equals sign
	i    int // where to look for the next equals sign
}

// PairsIn returns the pairs in b.
func PairsIn(b []byte) Pairs { return Pairs{b: b} }

// Next advances to the next pair, if there is one.
func (p *Pairs) Next() bool {
	for {
		n := bytes.IndexByte(p.b[p.i:], '=')
		if n < 0 {
			return false
		}
		equals := p.i + n
		start := equals
		for start > p.at && p.b[start-1] > ' ' && !isOpening(p.b[start-1]) {
			start--
		}
		begins := start == 0 || p.b[start-1] <= ' ' || start > p.at && p.opens(start-1)
		p.at, p.i = equals+1, equals+1
		if p.i < len(p.b) && p.b[p.i] == '"' {
			if end := StringEnd(p.b, p.i+1); end > 0 {
				p.i = end + 1
			}
		}
		if begins {
			p.name = start
			return true
		}
	}
}

// opens reports whether the opening bracket at an offset is not part of the value before it.
func (p *Pairs) opens(bracket int) bool {
	between := p.b[p.at:bracket]
	return p.at == 0 || len(bareText(between)) < len(between)
}

// Name returns the name of the current pair. An opening bracket before it is not part of it: the name is id in request{id=5 and in
// (id=5. It may still be none by [IsPairName].
func (p *Pairs) Name() []byte { return p.b[p.name : p.at-1] }

// Value returns the value of the current pair as [Pair.Text] does, and whether it was in quotes.
func (p *Pairs) Value() (text []byte, quoted bool) {
	if p.i > p.at { // behind the quotes
		return p.b[p.at+1 : p.i-1], true
	}
	return bareText(p.b[p.at:]), false
}

func isOpening(c byte) bool { return c == '(' || c == '[' || c == '{' }

// IsPairName reports whether a text before an equals sign is the name of a pair: letters, digits and _ - . / : @ $ #, not starting with
// one of - . / : #. Prose has other texts there: /a?b=1, x<=2.
func IsPairName[T string | []byte](name T) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case c|0x20-'a' < 26 || c-'0' < 10 || c >= 0x80 || c == '_' || c == '@' || c == '$':
		case i > 0 && (c == '-' || c == '.' || c == '/' || c == ':' || c == '#'):
		default:
			return false
		}
	}
	return len(name) > 0
}
