package token

// compound is the length of the compound that text starts with, 0 for none. At
// most one shape fits, as the first run and the byte behind it tell them apart.
func compound(text []byte) int {
	n := runLength(text)
	if n == 0 || n >= len(text) {
		return 0
	}
	switch sep := text[n]; {
	case sep == '.' && n <= 3:
		return window(text, sep, isDigit, []group{{1, 3}, {1, 3}, {1, 3}, {1, 3}})
	case sep == ':' && n == 2:
		return window(text, sep, isHex, []group{{2, 2}, {2, 2}, {2, 2}, {2, 2}, {2, 2}, {2, 2}})
	case sep == '-' && n == 8:
		return window(text, sep, isHex, []group{{8, 8}, {4, 4}, {4, 4}, {4, 4}, {12, 12}})
	}
	return 0
}

// group is the least and the most bytes of one run in a compound.
type group struct{ least, most int }

// window is the length of the runs of one class, joined by sep, that text
// starts with; 0 where they are not the groups asked for.
func window(text []byte, sep byte, class func(byte) bool, groups []group) int {
	at := 0
	for i, g := range groups {
		if i > 0 {
			if at >= len(text) || text[at] != sep {
				return 0
			}
			at++
		}
		n := runLength(text[at:])
		if n < g.least || n > g.most {
			return 0
		}
		for _, b := range text[at : at+n] {
			if !class(b) {
				return 0
			}
		}
		at += n
	}
	return at
}

// runLength is the length of the run that text starts with, 0 for none.
func runLength(text []byte) int {
	n := 0
	for n < len(text) && IsByte(text[n]) {
		n++
	}
	return n
}
