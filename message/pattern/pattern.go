// Package pattern matches texts with patterns of literals and captures, such as <ip> - <user> [<_>].
package pattern

import "bytes"

// Unnamed is the name of captures whose text is not needed.
const Unnamed = "_"

// Part is a literal, or a capture if Capture is set.
type Part struct{ Literal, Capture string }

// Find returns where the first capture is in a text, and its length; at is -1 if there is none. A name consists of letters, digits,
// underscores and, if dots is set, dots. It does not start with a digit or dot.
func Find(text []byte, dots bool) (at, size int) {
	for at = 0; ; at++ {
		next := bytes.IndexByte(text[at:], '<')
		if next < 0 {
			return -1, 0
		}
		at += next
		for i, c := range text[at+1:] {
			if i > 0 && c == '>' {
				return at, i + len("<>")
			}
			if c|0x20-'a' >= 26 && c != '_' && (i == 0 || c-'0' >= 10 && (c != '.' || !dots)) {
				break
			}
		}
	}
}

// Split splits a pattern into its parts. Adjacent literals are one. For dots see [Find].
func Split(text string, dots bool) (parts []Part) {
	for rest := []byte(text); len(rest) > 0; {
		at, size := Find(rest, dots)
		if at < 0 {
			at = len(rest)
		}
		if at > 0 {
			parts = append(parts, Part{Literal: string(rest[:at])})
		}
		if size > 0 {
			parts = append(parts, Part{Capture: string(rest[at+1 : at+size-1])})
		}
		rest = rest[at+size:]
	}
	return parts
}

// Pattern is a compiled pattern. It is immutable.
//
// A text must start with the literal before the first capture. A capture ends at the next occurrence of the literal after it. If that does
// not occur, or there is none, the capture ends at the end of the text, and later captures are missing.
type Pattern struct {
	// Names are the names of the captures, without [Unnamed].
	Names  []string
	prefix []byte
	steps  []step
}

// step is a capture and the literal after it. Only a capture in Names is named.
type step struct {
	named   bool
	literal []byte
}

// New makes a pattern of parts. Adjacent literals must be one.
func New(parts []Part) *Pattern {
	p := &Pattern{}
	literal := &p.prefix
	for _, part := range parts {
		if part.Capture == "" {
			*literal = []byte(part.Literal)
			continue
		}
		named := part.Capture != Unnamed
		if named {
			p.Names = append(p.Names, part.Capture)
		}
		p.steps = append(p.steps, step{named: named})
		literal = &p.steps[len(p.steps)-1].literal
	}
	return p
}

// Append appends the start and the end of the text of each name, in their order. If one is missing, so are those after it.
func (p *Pattern) Append(dst []int, text []byte) []int {
	if !bytes.HasPrefix(text, p.prefix) {
		return dst
	}
	i := len(p.prefix)
	for _, s := range p.steps {
		end, ends := len(text), false
		if len(s.literal) > 0 {
			if n := bytes.Index(text[i:], s.literal); n >= 0 {
				end, ends = i+n, true
			}
		}
		if s.named {
			dst = append(dst, i, end)
		}
		if !ends {
			break
		}
		i = end + len(s.literal)
	}
	return dst
}
