package limited

import (
	"bytes"
	"fmt"
)

// MaxNesting is the maximum nesting of [YAML].
const MaxNesting = 1000

// YAML reports the first line of a text of YAML with more than about [MaxNesting] open collections, 0 and nil if there is none. Parsers
// take memory in proportion to the square of the nesting: 15 GiB for 100,000 brackets.
func YAML(text []byte) (line int, err error) {
	open := 0
	for ; len(text) > 0; line++ {
		one := text
		if end := bytes.IndexByte(text, '\n'); end >= 0 {
			one = text[:end+1]
		}
		text = text[len(one):]
		content := bytes.TrimLeft(one, " \t-?")
		block := (len(one) - len(content)) / len("- ") // indented lists and keys take at least two bytes each
		before := byte(' ')
		for _, c := range content {
			switch {
			case c == ']' || c == '}':
				open = max(0, open-1)
			case (c == '[' || c == '{') && bytes.IndexByte([]byte(" \t[{,:-?"), before) >= 0: // not within a word
				open++
			}
			before = c
			if open+block > MaxNesting {
				return line + 1, fmt.Errorf("nested more than %d deep", MaxNesting)
			}
		}
	}
	return 0, nil
}
