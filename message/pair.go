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
	if i == start || i < len(b) && b[i] == '"' {
		return Pair{Name: name, End: wordEnd(b, i)}
	}
	if i == len(b) || b[i] != '=' {
		return Pair{Name: name, Strict: true, End: i}
	}
	i++
	if i < len(b) && b[i] == '"' {
		if end := StringEnd(b, i+1) + 1; end > 0 {
			strict := end == len(b) || b[end] <= ' '
			return Pair{Name: name, Value: b[i:end], Quoted: true, Strict: strict, End: wordEnd(b, end)}
		}
	}
	end := wordEnd(b, i)
	strict := bytes.IndexByte(b[i:end], '=') < 0 && bytes.IndexByte(b[i:end], '"') < 0
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
	text := p.Value
	if bytes.IndexByte(text, '"') < 0 {
		text = text[:enclosedEnd(text)]
	}
	for n := len(text); n > 0 && (text[n-1] == ',' || text[n-1] == ';'); n-- {
		text = text[:n-1]
	}
	return text
}

// enclosedEnd returns the offset of the first closing bracket of b without an opening one in it, or the length of b.
func enclosedEnd(b []byte) int {
	depth := 0
	for i, c := range b {
		switch c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth < 0 {
				return i
			}
		}
	}
	return len(b)
}

// openingBrackets may precede the name of a pair.
const openingBrackets = "([{"

// Pairs iterates over the pairs in a text, which may have other words between them, as prose has.
type Pairs struct {
	b []byte
	i int
}

// PairsIn returns the pairs in b.
func PairsIn(b []byte) Pairs { return Pairs{b: b} }

// Next returns the next pair with a value. An opening bracket before a name is not part of it: the name is id in request{id=5 and in
// (id=5. The name may still be none by [IsPairName].
func (p *Pairs) Next() (pair Pair, ok bool) {
	for {
		n := bytes.IndexByte(p.b[p.i:], '=')
		if n < 0 {
			return Pair{}, false
		}
		start := p.i + n
		for start > p.i && p.b[start-1] > ' ' {
			start--
		}
		inWord := start > 0 && p.b[start-1] > ' '
		pair = PairAt(p.b, start)
		p.i = pair.End
		bracket := bytes.LastIndexAny(pair.Name, openingBrackets)
		if pair.Value == nil || inWord && bracket < 0 {
			continue
		}
		pair.Name = pair.Name[bracket+1:]
		if !pair.Quoted {
			p.i = pair.End - len(pair.Value) + len(pair.Text())
		}
		return pair, true
	}
}

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
