package token

// compound returns the length of the compound that text starts with, 0 for none. At most one shape fits: the first run
// and the byte after it determine the shape.
func compound(text []byte) int {
	if n := uuid(text); n > 0 {
		return n
	}
	return Address(text)
}

// Address returns the length of the IPv4 or hardware address that text starts with, 0 for none.
func Address(text []byte) int {
	const least = len("0.0.0.0")
	if len(text) < least || text[2] != ':' && text[1] != '.' && text[2] != '.' && text[3] != '.' {
		return 0 // the common case
	}
	return address(text)
}

func address(text []byte) int {
	const hardware = len("00:00:00:00:00:00")
	switch {
	case text[2] != ':':
		return ipv4(text)
	case len(text) >= hardware && text[8] == ':': // excludes times, which have two colons
		return groups(text, ':', isHex, 2, 2, 2, 2, 2, 2)
	}
	return 0
}

// ipv4 returns the length of the four runs of one to three digits, joined by '.', that text starts with, 0 for none.
func ipv4(text []byte) int {
	at := 0
	for i := range 4 {
		if i > 0 {
			if at >= len(text) || text[at] != '.' {
				return 0
			}
			at++
		}
		from := at
		for at < len(text) && isDigit(text[at]) {
			at++
		}
		if at == from || at > from+3 {
			return 0
		}
	}
	if at < len(text) && IsByte(text[at]) {
		return 0
	}
	return at
}

func uuid(text []byte) int { return groups(text, '-', isHex, 8, 4, 4, 4, 12) }

// groups returns the length of the runs that text starts with, of one class and these lengths, joined by sep; 0 for none.
func groups(text []byte, sep byte, class func(byte) bool, lengths ...int) int {
	at := 0
	for i, n := range lengths {
		if i > 0 {
			if at >= len(text) || text[at] != sep {
				return 0
			}
			at++
		}
		if len(text) < at+n {
			return 0
		}
		for _, b := range text[at : at+n] {
			if !class(b) {
				return 0
			}
		}
		at += n
	}
	if at < len(text) && IsByte(text[at]) {
		return 0
	}
	return at
}

// runLength returns the length of the run that text starts with, 0 for none.
func runLength(text []byte) int {
	n := 0
	for n < len(text) && IsByte(text[n]) {
		n++
	}
	return n
}
