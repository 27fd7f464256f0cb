package pipeline

import (
	"fmt"
	"net/netip"
	"strings"
)

// ipMatch is a range of addresses.
type ipMatch struct{ from, to netip.Addr }

// parseIPMatch parses an address, a range a-b, or a CIDR.
func parseIPMatch(text string) (ipMatch, error) {
	mistake := fmt.Errorf("cannot use ip(%q): expected an address, a range such as 10.0.0.1-10.0.0.9, or a CIDR such as 10.0.0.0/8", text)
	if prefix, err := netip.ParsePrefix(text); err == nil {
		return ipMatch{prefix.Masked().Addr(), lastOf(prefix)}, nil
	}
	first, last, ranged := strings.Cut(text, "-")
	from, err := netip.ParseAddr(first)
	if err != nil {
		return ipMatch{}, mistake
	}
	if !ranged {
		return ipMatch{from.Unmap(), from.Unmap()}, nil
	}
	to, err := netip.ParseAddr(last)
	if err != nil || from.Is4() != to.Is4() || to.Less(from) {
		return ipMatch{}, mistake
	}
	return ipMatch{from, to}, nil
}

// lastOf is the last address of a prefix.
func lastOf(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for i := p.Bits(); i < 8*len(b); i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	addr, _ := netip.AddrFromSlice(b)
	return addr
}

func (m ipMatch) contains(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	return a.Is4() == m.from.Is4() && !a.Less(m.from) && !m.to.Less(a)
}

// maxAddress is the length of the longest address.
const maxAddress = len("ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255")

// find reports whether a text has an address in the range: a word of hexadecimal digits, colons and dots, also with a port.
func (m ipMatch) find(text []byte) bool {
	for i := 0; i < len(text); {
		if !isAddressByte(text[i]) {
			i++
			continue
		}
		start, dots, colons := i, 0, 0
		for ; i < len(text) && isAddressByte(text[i]); i++ {
			switch text[i] {
			case '.':
				dots++
			case ':':
				colons++
			}
		}
		if (dots >= 3 || colons >= 2) && m.word(text[start:i]) {
			return true
		}
	}
	return false
}

// word reports whether a word is an address in the range, perhaps with a port, or dots or colons around it.
func (m ipMatch) word(word []byte) bool {
	if len(word) > maxAddress+len(":65535.") {
		return false
	}
	s := string(word)
	for _, candidate := range [...]string{s, strings.TrimRight(s, ".:"), strings.Trim(s, ".:")} {
		if a, err := netip.ParseAddr(candidate); err == nil {
			return m.contains(a)
		}
		if host, _, found := strings.Cut(candidate, ":"); found {
			if a, err := netip.ParseAddr(host); err == nil {
				return m.contains(a)
			}
		}
	}
	return false
}

func isAddressByte(c byte) bool {
	return c-'0' < 10 || c|0x20-'a' < 6 || c == '.' || c == ':'
}
